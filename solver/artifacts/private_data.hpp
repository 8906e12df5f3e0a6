// SPDX-License-Identifier: MIT
// Data sets of private groups (contracts 21.13) that this party has from its owner. They are kept here and in the worker
// that trains on them: never in a store that serves others, nor on this party's disk.
#pragma once

#include <map>

#include "solver/artifacts/artifact_source.hpp"

namespace retrace::solver {

class PrivateData {
public:
    /// `root` is the tensor's.
    void add(const Hash32& root, kernels::Tensor tensor) { tensors_.insert_or_assign(root, std::move(tensor)); }
    bool has(const std::vector<Hash32>& roots) const;
    /// Copies of the data sets of `program` with these roots. The error names one that is not here, or has another dtype or
    /// shape than the program says; no other party is at fault.
    Result<std::vector<kernels::Tensor>, Unavailable> take(const kernels::Program& program,
                                                           const std::vector<Hash32>& roots) const;

private:
    std::map<Hash32, kernels::Tensor> tensors_;
};

}  // namespace retrace::solver
