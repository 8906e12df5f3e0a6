// SPDX-License-Identifier: MIT
// Where programs, data and states come from: a node's artifact store, a solver, a verifier that keeps a state
// (implemented in node/artifacts). Nothing that a source says is believed: the fetch_* functions check it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "solver/artifacts/report_kind.hpp"

namespace retrace::solver {

/// What a state root opens to, tiles apart.
struct StateRoots {
    kernels::StateHeader header;
    std::vector<Hash32> tensor_roots;
};

/// Blocking calls, made on a worker thread. An error says who was asked and what went wrong.
class ArtifactSource {
public:
    virtual ~ArtifactSource() = default;
    /// An encoded program (program.rtp) of at most `limit` bytes.
    virtual Result<Bytes> program(const Hash32& root, std::uint64_t limit) = 0;
    virtual Result<StateRoots> state(const Hash32& root) = 0;
    /// A whole tensor; an implementation checks each tile on arrival, and may resume. What its root names may
    /// be larger than `record`, which memory was counted for: it refuses that by the header, before anything
    /// travels.
    virtual Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) = 0;
    /// Of a tensor that could not be had whole: which of its tiles a report is to name.
    virtual std::uint64_t first_missing_tile(const Hash32&) { return 0; }
};

/// What could not be had, in the terms of a report (contracts: reportUnavailable).
struct Unavailable {
    std::string message;
    std::optional<ReportKind> kind;  ///< None: nobody else's fault, there is nothing to report.
    std::uint64_t index = 0;         ///< Of the data set.
    std::uint32_t tensor = 0;        ///< Of the state.
    std::uint64_t tile = 0;          ///< Of that tensor, or of the data set: the first that did not come.
};

/// Decoded, checked against the limits and against `root`.
Result<std::unique_ptr<kernels::CommittedProgram>> fetch_program(ArtifactSource& source, const Hash32& root,
                                                                 std::uint64_t limit);
/// Every tensor of the data sets of `program`, with the recorded dtype and dims, against `roots`.
Result<std::vector<kernels::Tensor>, Unavailable> fetch_data(ArtifactSource& source,
                                                             const kernels::Program& program,
                                                             const std::vector<Hash32>& roots,
                                                             kernels::ThreadPool& pool);
/// A state of `program` at `step`, every tile checked against `root`.
Result<kernels::State, Unavailable> fetch_state(ArtifactSource& source,
                                                const kernels::CommittedProgram& program, const Hash32& root,
                                                std::uint64_t step, kernels::ThreadPool& pool);

}  // namespace retrace::solver
