// SPDX-License-Identifier: MIT
#include "solver/agent/deadline_check.hpp"

#include <algorithm>
#include <span>

#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::solver {
namespace {

/// Cost of hashing a tile, in multiply-adds of a product: about 3 us on a thread that makes one in 0.01 ns.
constexpr std::uint64_t kTileCost = 1 << 18;
/// Cost of creating, reading or renaming a file: about 25 us. Each state tensor is one file.
constexpr std::uint64_t kFileCost = 1 << 21;
/// Most tensors of a state. An auditor fetches each on its own, in about two round trips and a write that is synced: at
/// 100 ms for a round trip, these take as long as it has before it has used up its reports, and then the lock is lost.
constexpr std::uint32_t kStateTensorsMax = 2048;
constexpr std::uint64_t kRootsOfAMove = 15;  ///< States that a search commits to (verifier 8.7).

using kernels::saturating_add;
using kernels::saturating_mul;

std::uint64_t tiles_of(std::span<const kernels::TensorRecord> tensors) {
    std::uint64_t tiles = 0;
    for (const kernels::TensorRecord& tensor : tensors)
        tiles = saturating_add(tiles, kernels::geometry(tensor.dims).tiles());
    return tiles;
}

/// Most tiles that are hashed to prove an element of one op: those of its output and inputs, including data sets.
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

/// Cost of all moves of one side in a dispute about a segment (verifier 8.7), in multiply-adds.
struct DisputeCost {
    std::uint64_t steps = 0;    ///< One and a half executions of the segment.
    std::uint64_t last = 0;     ///< The disputed step: its result, trace and outputs, and the chain of one tile.
    std::uint64_t hashing = 0;  ///< Hashing states for the searches, the trace and the last op; the start's files.
    std::uint64_t whole() const { return saturating_add(saturating_add(steps, last), hashing); }
};

DisputeCost dispute_cost(const kernels::Program& program, std::uint64_t steps, std::uint64_t disk_cost) {
    constexpr std::uint64_t kRunsOfTheStep = 5, kPartialTiles = 90;
    std::uint64_t roots = 2;  // The states before and after the step.
    for (std::uint64_t left = steps; left > 1; left = (left + kRootsOfAMove) / (kRootsOfAMove + 1))
        roots += std::min(kRootsOfAMove, left - 1);
    const std::span<const kernels::TensorRecord> tensors(program.tensors);
    std::uint64_t tiles = saturating_mul(tiles_of(tensors.first(program.states)), roots);
    tiles = saturating_add(tiles, tiles_of(tensors.subspan(program.tensors_static())));
    tiles = saturating_add(tiles, tiles_of_evidence(program));
    const std::uint64_t step = saturating_add(kernels::step_cost(program), disk_cost);
    return {
        saturating_mul(step, saturating_add(steps, (steps + 1) / 2)), saturating_mul(step, kRunsOfTheStep),
        saturating_add(saturating_mul(saturating_add(tiles, kPartialTiles), kTileCost), kFileCost * program.states)};
}

Status<> check_fetchable(const kernels::Program& program) {
    if (program.states <= kStateTensorsMax) return Unit{};
    return error("a state of " + std::to_string(program.states) +
                 " tensors could not be fetched by auditors in the time that they have: each tensor is fetched on its "
                 "own, and " +
                 std::to_string(kStateTensorsMax) + " are the most (join small tensors in the program)");
}

/// A run that nobody can replay in time is never verified and so never paid, and one whose segments outlast the time to
/// a checkpoint loses stake; it is declined while that is free. Not called for steps on a device, whose speed is not
/// measured: such a task needs auditors with a device too.
Status<> check_replayable(const RunView& run, const kernels::Program& program, std::uint64_t steps,
                          std::uint64_t disk_cost) {
    const std::uint64_t cost = saturating_mul(saturating_add(kernels::step_cost(program), disk_cost), steps);
    // Both the first and the last state are hashed and stored.
    const std::uint64_t tiles = tiles_of(std::span(program.tensors).first(program.states));
    const std::uint64_t hashing =
        saturating_mul(2, saturating_add(saturating_mul(tiles, kTileCost), kFileCost * program.states));
    if (run.replay_cost_max == 0 || saturating_add(cost, hashing) <= run.replay_cost_max) return Unit{};
    return error(
        "a segment could not be computed by its deadline, or not replayed by auditors in the time that they "
        "have: it costs " +
        std::to_string(cost) + " multiply-adds and hashing and files worth " + std::to_string(hashing) +
        ", and a machine with this one's measured speed does at most " + std::to_string(run.replay_cost_max) +
        " meanwhile; raise checkpoint_blocks and replay_blocks, shorten the checkpoint "
        "interval or join small tensors");
}

/// The bid was made, and the machine's time divided among its runs, by the cost that the terms state. The ledger does not
/// know the program, so whoever posts the task may have stated less.
Status<> check_stated(const RunView& run, const kernels::Program& program) {
    const std::uint64_t cost = kernels::step_cost(program);
    if (run.stated_cost == 0 || cost <= run.stated_cost) return Unit{};
    return error("a step of its program costs " + std::to_string(cost) + " multiply-adds and its terms state " +
                 std::to_string(run.stated_cost) + ", by which the bid was made; state the cost that the program has");
}

/// A party whose clock runs out loses the dispute and its stake, even if it is right. A device makes only the steps of
/// the searches; the processors compute traces, outputs and tiles.
Status<> check_clock(const RunView& run, const kernels::Program& program, std::uint64_t steps, bool on_device,
                     std::uint64_t disk_cost) {
    DisputeCost cost = dispute_cost(program, steps, disk_cost);
    if (on_device) cost.steps = 0;
    if (run.dispute_cost_max == 0 || cost.whole() <= run.dispute_cost_max) return Unit{};
    return error("the moves of a dispute could outlast its clock: they cost " +
                 std::to_string(saturating_add(cost.steps, cost.last)) + " multiply-adds and hashing and files worth " +
                 std::to_string(cost.hashing) + ", and this machine at its measured speed does " +
                 std::to_string(run.dispute_cost_max) +
                 " in that time; raise replay_blocks, shorten the checkpoint interval or join small tensors");
}

}  // namespace

Status<> check_pace(const RunView& run, const kernels::Program& program, const kernels::Program* init, bool on_device,
                    std::uint64_t disk_cost) {
    RETRACE_CHECK(check_fetchable(program));
    RETRACE_CHECK(check_stated(run, program));
    const std::uint64_t steps = std::min(run.terms.schedule.interval, run.terms.schedule.steps);
    if (!on_device) RETRACE_CHECK(check_replayable(run, program, steps, disk_cost));
    if (init != nullptr) RETRACE_CHECK(check_clock(run, *init, 1, false, 0));
    return check_clock(run, program, steps, on_device, disk_cost);
}

}  // namespace retrace::solver
