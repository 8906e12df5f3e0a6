// SPDX-License-Identifier: MIT
// Data sets of private groups (contracts 21.13) that this party has from their owner. They are kept here and in the worker
// that trains on them: never in a store that serves others, nor on this party's disk. A task gets only those that the
// party's operator lets it use, because whoever posts a task chooses the programs that read them.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "solver/artifacts/artifact_source.hpp"

namespace retrace::solver {

/// Calls may come from several threads.
class PrivateData {
public:
    /// `root` is the tensor's.
    void add(const Hash32& root, kernels::Tensor tensor);
    bool has(const std::vector<Hash32>& roots) const;
    /// Whether these roots are of data sets that are here, with the number, dtypes and shapes that `program` takes. The error
    /// says what differs.
    Status<> fits(const kernels::Program& program, const std::vector<Hash32>& roots) const;
    /// Lets the programs of a task read the data sets with these roots.
    void allow(std::uint64_t task, const std::vector<Hash32>& roots);
    /// Copies of the data sets of `program` with these roots. The error names one that the task may not use or that is not
    /// here, or one that has another dtype or shape than the program says; no other party is at fault.
    Result<std::vector<kernels::Tensor>, Unavailable> take(std::uint64_t task, const kernels::Program& program,
                                                           const std::vector<Hash32>& roots) const;

private:
    Status<> compare(const kernels::Program& program, const std::vector<Hash32>& roots) const;

    mutable std::mutex mutex_;
    std::map<Hash32, kernels::Tensor> tensors_;
    std::map<std::uint64_t, std::set<Hash32>> allowed_;  ///< By task.
};

}  // namespace retrace::solver
