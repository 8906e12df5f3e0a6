// SPDX-License-Identifier: MIT
// The positions of a member's segment, and the step that makes a member's state 0, as a replay runs them. The states of
// a segment have the numbers 0 to the number of positions.
#pragma once

#include <functional>

#include "solver/rounds/group_view.hpp"
#include "solver/rounds/plan_runner.hpp"
#include "verifier/replay/replay_steps.hpp"

namespace retrace::verifier {

/// What all segments of a member have in common; all of it outlives the replay.
struct MemberSetup {
    solver::PlanRunner* runner = nullptr;
    kernels::ThreadPool* pool = nullptr;
    std::vector<const kernels::Tensor*> data;  ///< Of the inner steps.
    std::uint32_t run = 0;
};

/// Returns the public tensors of a message that a segment takes in, checked against their roots: entry `entry` of record
/// `record` of the segment. Throws if they are lost.
using LoadMessage = std::function<std::vector<kernels::Tensor>(std::size_t record, std::size_t entry)>;

/// `positions` are those of `segment`. Two messages are in memory at once.
std::unique_ptr<ReplaySteps> steps_of(MemberSetup setup, const solver::SegmentView& segment,
                                      kernels::SegmentPositions positions, LoadMessage load);
/// The step that makes state 0 of a member: `init`, or `enter` from the shared tensors `anchor` at the start of round
/// `base`. The plan has the phase.
std::unique_ptr<ReplaySteps> init_steps_of(MemberSetup setup);
std::unique_ptr<ReplaySteps> enter_steps_of(MemberSetup setup, std::uint32_t base, std::vector<kernels::Tensor> anchor);

}  // namespace retrace::verifier
