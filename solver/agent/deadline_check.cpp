// SPDX-License-Identifier: MIT
#include "solver/agent/deadline_check.hpp"

#include <algorithm>
#include <span>

#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::solver {
namespace {

/// Hashing a tile in multiply-adds of a product: about 3 us on a thread that makes one in 0.01 ns.
constexpr std::uint64_t kTileCost = 1 << 18;
/// A file made, read or renamed: some 25 us, and each state tensor is one.
constexpr std::uint64_t kFileCost = 1 << 21;
constexpr std::uint64_t kRootsOfAMove = 15;  ///< States that a search commits to (verifier 8.7).

using kernels::saturating_add;
using kernels::saturating_mul;

std::uint64_t tiles_of(std::span<const kernels::TensorRecord> tensors) {
    std::uint64_t tiles = 0;
    for (const kernels::TensorRecord& tensor : tensors)
        tiles = saturating_add(tiles, kernels::geometry(tensor.dims).tiles());
    return tiles;
}

/// What one op's output and inputs are hashed for when its element is proved, data sets among them.
std::uint64_t tiles_of_evidence(const kernels::Program& program) {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        std::uint64_t tiles = tiles_of({&program.tensors[program.output_of(i)], 1});
        for (const std::uint32_t input : program.ops[i].inputs)
            tiles = saturating_add(tiles, tiles_of({&program.tensors[input], 1}));
        most = std::max(most, tiles);
    }
    return most;
}

/// All moves of one side in a dispute about a segment of so many steps (verifier 8.7), worth in multiply-adds.
struct DisputeCost {
    std::uint64_t steps = 0;    ///< One and a half executions of the segment.
    std::uint64_t last = 0;     ///< The disputed step: its result, trace and outputs, and the chain of one tile.
    std::uint64_t hashing = 0;  ///< Of states for the searches, of the trace, of the last op; the start's files.
    std::uint64_t whole() const { return saturating_add(saturating_add(steps, last), hashing); }
};

DisputeCost dispute_cost(const kernels::Program& program, std::uint64_t steps) {
    constexpr std::uint64_t kRunsOfTheStep = 5, kPartialTiles = 90;
    std::uint64_t roots = 2;  // Before and after the step.
    for (std::uint64_t left = steps; left > 1; left = (left + kRootsOfAMove) / (kRootsOfAMove + 1))
        roots += std::min(kRootsOfAMove, left - 1);
    const std::span<const kernels::TensorRecord> tensors(program.tensors);
    std::uint64_t tiles = saturating_mul(tiles_of(tensors.first(program.states)), roots);
    tiles = saturating_add(tiles, tiles_of(tensors.subspan(program.tensors_static())));
    tiles = saturating_add(tiles, tiles_of_evidence(program));
    const std::uint64_t step = kernels::step_cost(program);
    return {saturating_mul(step, saturating_add(steps, (steps + 1) / 2)), saturating_mul(step, kRunsOfTheStep),
            saturating_add(saturating_mul(saturating_add(tiles, kPartialTiles), kTileCost),
                           kFileCost * program.states)};
}

/// A run that nobody can replay in time is never verified, and so never paid: it is left while that is free. Whoever
/// computes on a device is not measured on it, and bids for work whose auditors have one too.
Status<> check_replayable(const RunView& run, const kernels::Program& program, std::uint64_t steps) {
    const std::uint64_t cost = saturating_mul(kernels::step_cost(program), steps);
    // The start is checked against its root, the end committed to, and both are kept.
    const std::uint64_t tiles = tiles_of(std::span(program.tensors).first(program.states));
    const std::uint64_t hashing =
        saturating_mul(2, saturating_add(saturating_mul(tiles, kTileCost), kFileCost * program.states));
    if (run.replay_cost_max == 0 || saturating_add(cost, hashing) <= run.replay_cost_max) return Unit{};
    return error("auditors could not replay a segment in the time that they have: it costs " + std::to_string(cost) +
                 " multiply-adds and hashing and files worth " + std::to_string(hashing) +
                 ", and a machine with this one's measured speed does at most " +
                 std::to_string(run.replay_cost_max) +
                 " meanwhile (replay_blocks of the task, a shorter checkpoint interval, fewer state tensors)");
}

/// Whose clock runs out in a dispute loses it, and the stake, whoever is right. A device makes the steps of the
/// searches; traces, outputs and tiles are the processors'.
Status<> check_clock(const RunView& run, const kernels::Program& program, std::uint64_t steps, bool on_device) {
    DisputeCost cost = dispute_cost(program, steps);
    if (on_device) cost.steps = 0;
    if (run.dispute_cost_max == 0 || cost.whole() <= run.dispute_cost_max) return Unit{};
    return error("the moves of a dispute could outlast its clock: they cost " +
                 std::to_string(saturating_add(cost.steps, cost.last)) + " multiply-adds and hashing and files worth " +
                 std::to_string(cost.hashing) + ", and this machine at its measured speed does " +
                 std::to_string(run.dispute_cost_max) +
                 " in that time (replay_blocks of the task, a shorter checkpoint interval, tensors that fill their "
                 "tiles)");
}

}  // namespace

Status<> check_pace(const RunView& run, const kernels::Program& program, const kernels::Program* init,
                    bool on_device) {
    const std::uint64_t steps = std::min(run.terms.schedule.interval, run.terms.schedule.steps);
    if (!on_device) RETRACE_CHECK(check_replayable(run, program, steps));
    if (init != nullptr) RETRACE_CHECK(check_clock(run, *init, 1, false));
    return check_clock(run, program, steps, on_device);
}

}  // namespace retrace::solver
