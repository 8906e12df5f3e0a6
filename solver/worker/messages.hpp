// SPDX-License-Identifier: MIT
// Messages between a party and its worker process, in the canonical codec (merkle SPEC 2). Tensors are sent beside the
// messages, in the order and with the sizes that the program records (tensors.hpp), so the other side sends no lengths.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "merkle/base/codec.hpp"
#include "solver/run/device.hpp"

namespace retrace::solver {

/// Bytes of the longest message: the metrics of a program with the largest allowed number of ops.
inline constexpr std::uint32_t kMessageMax = 256u << 20;
/// Most steps of one request.
inline constexpr std::uint32_t kStepsMax = 1024;
/// A reply that has this many metrics gets no further step.
inline constexpr std::uint32_t kMetricsAtOnce = 4096;
/// Upper bound of a plan's bytes: four times all tensors that a program may have. The sum of two plans and the memory
/// that a party holds beside them does not overflow.
inline constexpr std::uint64_t kPlannedMax = std::uint64_t{1} << 62;

// --- To the worker.

/// The first request: sets the program. Its file follows, then its data sets.
struct SetProgram {
    std::uint64_t seed = 0, program_bytes = 0;
    DeviceChoice device = DeviceChoice::cpu;
};
/// Replaces seed and data sets, which follow in the shapes that the program records.
struct SetInputs {
    std::uint64_t seed = 0;
};
/// Loads the state that the following requests refer to; its tensors follow.
struct Load {
    std::uint64_t step = 0;
};
/// Makes at least one step and at most `most`; more than one only as long as they take little time. `number` identifies
/// the request for Leave.
struct Advance {
    std::uint64_t number = 0;
    std::uint32_t most = 1;
};
/// Aborts the Advance request with this number between two ops; ignored if that request is over.
struct Leave {
    std::uint64_t number = 0;
};
struct Store {};             ///< Asks for the tensors of the present state.
struct Commit {};            ///< Asks for the tensor roots of the present state.
struct BeginCommitment {};   ///< Starts computing the roots concurrently with the next steps.
struct FinishCommitment {};  ///< Asks for the roots of the commitment that was begun.
struct StoreCommitted {};    ///< Asks for the tensors of the state that was committed to.
struct Trace {};             ///< Asks for the output roots of the next step.
/// Asks for the outputs of these ops (ascending) in the next step.
struct Outputs {
    std::vector<std::uint32_t> ops;
};
/// Asks for a partial tile (kernels/exec/partial_tile.hpp). The carried values follow, then the op's inputs.
struct Partial {
    std::uint32_t op = 0;
    std::uint64_t step = 0, tile = 0, first = 0, end = 0;
};
using WorkerRequest = std::variant<SetProgram, Load, Advance, Leave, Store, Commit, BeginCommitment, FinishCommitment,
                                   StoreCommitted, Trace, Outputs, Partial, SetInputs>;

// --- From the worker.

struct Ready {
    std::uint64_t planned_bytes = 0;
    bool on_device = false;
    /// Bytes that a step moves from and to a disk, on which states lie; 0: they are in memory.
    std::uint64_t disk_bytes = 0;
};
struct Done {};
struct Stepped {
    std::vector<std::vector<kernels::Metric>> steps;  ///< Metrics of each step.
};
struct Left {};  ///< The step was aborted and the state is lost.
/// The state's tensors follow.
struct Stored {
    std::uint64_t step = 0;
};
/// Tensor roots of a state, or output roots of a step.
struct Roots {
    std::uint64_t step = 0;
    std::vector<Hash32> roots;
};
struct Computed {};  ///< The outputs or the carried values follow.
/// The request failed, and the worker cannot be used any more.
struct Failed {
    bool memory = false;  ///< It ran out of memory.
    std::string why;
};
using WorkerReply = std::variant<Ready, Done, Stepped, Left, Stored, Roots, Computed, Failed>;

/// Limits of the replies of a program's worker. The party derives them from the program, not from the worker.
struct ReplyLimits {
    std::uint32_t metrics = kernels::Limits().ops;  ///< Metrics of a step: named fp32 outputs of rank 0 (kernels 5.5).
    std::uint32_t roots = kernels::Limits().tensors;
};
ReplyLimits limits_of(const kernels::Program& program);
/// Bytes of the longest reply within the limits.
std::size_t longest_reply(const ReplyLimits& limits);

Bytes encode(const WorkerRequest& request);
Bytes encode(const WorkerReply& reply);
Result<WorkerRequest, CodecError> decode_worker_request(View bytes);
/// Fails with `too_long` for more metrics, roots or planned bytes than possible.
Result<WorkerReply, CodecError> decode_worker_reply(View bytes, const ReplyLimits& limits = {});

}  // namespace retrace::solver
