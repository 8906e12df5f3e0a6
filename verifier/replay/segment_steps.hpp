// SPDX-License-Identifier: MIT
// The positions of a member's segment, and the step that makes a member's state 0, as a replay runs them. The states of
// a segment have the numbers 0 to the number of positions.
#pragma once

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

/// The messages that a segment takes in: the public tensors, by record from the segment's first on, then by entry.
using SegmentMessages = std::vector<std::vector<std::vector<kernels::Tensor>>>;

/// `positions` are those of `segment`, and `messages` those that its records name, checked against their roots.
std::unique_ptr<ReplaySteps> steps_of(MemberSetup setup, const solver::SegmentView& segment,
                                      kernels::SegmentPositions positions, SegmentMessages messages);
/// The step that makes state 0 of a member: `init`, or `enter` from the shared tensors `anchor` at the start of round
/// `base`. The plan has the phase.
std::unique_ptr<ReplaySteps> init_steps_of(MemberSetup setup);
std::unique_ptr<ReplaySteps> enter_steps_of(MemberSetup setup, std::uint32_t base, std::vector<kernels::Tensor> anchor);

}  // namespace retrace::verifier
