// SPDX-License-Identifier: MIT
// What a party and its worker process say to each other, in the canonical codec (merkle SPEC 2). Tensors travel beside
// the messages, in the order and with the sizes that the program says (tensors.hpp), so no length of them is believed.
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

/// Longest message: the metrics of a program with as many ops as a program may have.
inline constexpr std::uint32_t kMessageMax = 256u << 20;
/// Most steps of one request.
inline constexpr std::uint32_t kStepsMax = 1024;
/// With so many metrics an answer has no further step.
inline constexpr std::uint32_t kMetricsAtOnce = 4096;
/// No plan takes more: of all tensors that a program may have, four at once. Two of them and what a party holds beside
/// them are no overflow.
inline constexpr std::uint64_t kPlannedMax = std::uint64_t{1} << 62;

// --- To the worker.

/// First: the program that is run from now on. Its file follows, then its data sets.
struct SetProgram {
    std::uint64_t seed = 0, program_bytes = 0;
    DeviceChoice device = DeviceChoice::cpu;
};
/// The state that everything else is about; its tensors follow.
struct Load {
    std::uint64_t step = 0;
};
/// At least one step of it, and no more than `most`, as long as they take little time. The number names them, should
/// they have to be left.
struct Advance {
    std::uint64_t number = 0;
    std::uint32_t most = 1;
};
/// The steps with this number are left between two ops; of some that are over, nothing.
struct Leave {
    std::uint64_t number = 0;
};
struct Store {};           ///< Its tensors are wanted.
struct Commit {};          ///< Its roots are,
struct BeginCommitment {};  ///< or are to be computed beside the next steps,
struct FinishCommitment {};  ///< and wanted then;
struct StoreCommitted {};  ///< and so are the tensors of the state that they are of.
struct Trace {};           ///< Of the next step.
/// Of the next step, of these ops (ascending).
struct Outputs {
    std::vector<std::uint32_t> ops;
};
/// A tile part of the way (kernels/exec/partial_tile.hpp): what is carried follows, then the op's inputs.
struct Partial {
    std::uint32_t op = 0;
    std::uint64_t step = 0, tile = 0, first = 0, end = 0;
};
using WorkerRequest = std::variant<SetProgram, Load, Advance, Leave, Store, Commit, BeginCommitment, FinishCommitment,
                                   StoreCommitted, Trace, Outputs, Partial>;

// --- From the worker.

struct Ready {
    std::uint64_t planned_bytes = 0;
    bool on_device = false;
};
struct Done {};
struct Stepped {
    std::vector<std::vector<kernels::Metric>> steps;  ///< The metrics of each.
};
struct Left {};  ///< There is no state any more.
/// Its tensors follow.
struct Stored {
    std::uint64_t step = 0;
};
/// Tensor roots of a state, or output roots of a step.
struct Roots {
    std::uint64_t step = 0;
    std::vector<Hash32> roots;
};
struct Computed {};  ///< The outputs, or what is carried on, follow.
/// What was asked for could not be done, and the worker is of no further use.
struct Failed {
    bool memory = false;  ///< There was not enough of it.
    std::string why;
};
using WorkerReply = std::variant<Ready, Done, Stepped, Left, Stored, Roots, Computed, Failed>;

/// What the answers of a program's worker may hold. The party knows them from the program, not from the worker.
struct ReplyLimits {
    std::uint32_t metrics = kernels::Limits().ops;  ///< Of a step: named fp32 outputs of rank 0 (kernels 5.5).
    std::uint32_t roots = kernels::Limits().tensors;
};
ReplyLimits limits_of(const kernels::Program& program);
/// Bytes of the longest answer within them.
std::size_t longest_reply(const ReplyLimits& limits);

Bytes encode(const WorkerRequest& request);
Bytes encode(const WorkerReply& reply);
Result<WorkerRequest, CodecError> decode_worker_request(View bytes);
/// `too_long`: more metrics, roots or planned bytes than there can be.
Result<WorkerReply, CodecError> decode_worker_reply(View bytes, const ReplyLimits& limits = {});

}  // namespace retrace::solver
