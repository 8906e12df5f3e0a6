// SPDX-License-Identifier: MIT
// Sources of programs, data sets and states: a node's artifact store, a solver, a verifier that keeps a state
// (implemented in node/artifacts). Sources are not trusted: the fetch_* functions check everything that they return.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "solver/artifacts/report_kind.hpp"

namespace retrace::solver {

/// The content of a state root without the tiles.
struct StateRoots {
    kernels::StateHeader header;
    std::vector<Hash32> tensor_roots;
};

/// The message that run `run` of a group task sent, whose tensors have these roots.
struct MessageRequest {
    std::vector<Hash32> roots;
    std::uint64_t task = 0;
    std::uint32_t run = 0;
};
using MessageRecords = std::vector<const kernels::TensorRecord*>;  ///< Of the tensors of a message, in their order.
using MessageArrived = std::function<void(std::size_t place, std::vector<std::optional<kernels::Tensor>> tensors)>;

/// Its calls block and are made on a worker thread. An error names the peers that were asked and their faults.
class ArtifactSource {
public:
    virtual ~ArtifactSource() = default;
    /// An encoded program (program.rtp) of at most `limit` bytes.
    virtual Result<Bytes> program(const Hash32& root, std::uint64_t limit) = 0;
    virtual Result<StateRoots> state(const Hash32& root) = 0;
    /// A whole tensor. An implementation checks each tile on arrival and may resume. Memory was reserved for a tensor
    /// of `record`, so it refuses a root whose header says a larger one before it transfers any tile.
    virtual Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) = 0;
    /// A tensor of the message that run `run` of a group task sent. The run is asked first, then the task's other members,
    /// which list it. An implementation may transfer it packed (packed_tensor.hpp).
    virtual Result<kernels::Tensor> message_tensor(const Hash32& root, const kernels::TensorRecord& record,
                                                   std::uint64_t task, std::uint32_t run) {
        (void)task, (void)run;
        return tensor(root, record);
    }
    /// Fetches such messages of one plan, each in one transfer, and calls `arrived`, on this thread, with the place of each
    /// that came and its tensors, in the order of its roots, as soon as it is there. Tensors that are wrong are empty; a
    /// caller asks for these, and for messages that did not come, by `message_tensor`, so that a report can name what is
    /// missing. An implementation without such transfers fetches nothing.
    virtual void messages(const std::vector<MessageRequest>& requests, const MessageRecords& records,
                          const MessageArrived& arrived) {
        (void)requests, (void)records, (void)arrived;
    }
    /// The tile that a report has to name after `tensor` failed for this root.
    virtual std::uint64_t first_missing_tile(const Hash32&) { return 0; }
};

/// A failed fetch, in the terms of a report (contracts: reportUnavailable).
struct Unavailable {
    std::string message;
    std::optional<ReportKind> kind;  ///< None: no other party is at fault, so there is nothing to report.
    std::uint64_t index = 0;         ///< Index of the data set.
    std::uint32_t tensor = 0;        ///< Number of the tensor in the state.
    std::uint64_t tile = 0;          ///< First missing tile of that tensor or of the data set.
};

/// Fetches and decodes a program; checks it against the limits and against `root`.
Result<std::unique_ptr<kernels::CommittedProgram>> fetch_program(ArtifactSource& source, const Hash32& root,
                                                                 std::uint64_t limit);
/// Fetches the data sets of `program`; checks each against its recorded dtype and dims and its entry in `roots`.
Result<std::vector<kernels::Tensor>, Unavailable> fetch_data(ArtifactSource& source, const kernels::Program& program,
                                                             const std::vector<Hash32>& roots,
                                                             kernels::ThreadPool& pool);
/// Fetches a state of `program` at `step`; every tile is checked against `root`.
Result<kernels::State, Unavailable> fetch_state(ArtifactSource& source, const kernels::CommittedProgram& program,
                                                const Hash32& root, std::uint64_t step, kernels::ThreadPool& pool);
/// The same where states name another root than that of a program: in a group the plan's.
Result<kernels::State, Unavailable> fetch_state(ArtifactSource& source, const Hash32& program_root,
                                                const kernels::Program& program, const Hash32& root, std::uint64_t step,
                                                kernels::ThreadPool& pool);
/// Fetches a tensor and checks its dtype, dims and root.
Result<kernels::Tensor> fetch_tensor(ArtifactSource& source, const kernels::TensorRecord& record, const Hash32& root,
                                     kernels::ThreadPool& pool);
/// Checks a tensor that was fetched for `record` and `root`.
Status<> check_fetched(const kernels::Tensor& tensor, const kernels::TensorRecord& record, const Hash32& root,
                       kernels::ThreadPool& pool);

}  // namespace retrace::solver
