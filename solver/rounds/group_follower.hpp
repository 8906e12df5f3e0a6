// SPDX-License-Identifier: MIT
// The shared model of a group after each record, from recorded messages alone: what a member's catch-up computes, for
// one that is no member and trains nothing.
#pragma once

#include "solver/rounds/group_view.hpp"
#include "solver/rounds/plan_runner.hpp"

namespace retrace::solver {

class GroupFollower {
public:
    /// Plan and pool outlive the follower. `make` makes the runners of phases; what these throw goes to the caller, and the
    /// state is then lost.
    GroupFollower(const CommittedPlan& plan, std::uint64_t task_seed, PlanRunner::MakeRunner make,
                  kernels::ThreadPool& pool);

    /// Begins with the state before the first round. Error: the plan has no phase `init`.
    Status<> begin();
    /// Begins at round `base` from the shared tensors of a member's state there, in the order of the plan.
    Status<> begin_at(std::uint32_t base, const std::vector<kernels::Tensor>& shared);
    /// Takes in the record of round base(); `messages` are its entries' public tensors in the same order. Errors: it has
    /// not begun, another round, other numbers of messages or of tensors.
    Status<> take_in(const RecordView& record, const std::vector<std::vector<kernels::Tensor>>& messages);

    bool has_begun() const noexcept { return state_.has_value(); }
    /// The number of rounds whose records are in the state.
    std::uint32_t base() const noexcept { return base_; }
    /// It has begun. The shared tensors are those of every member with this base; a member's own tensors are not
    /// anybody's.
    const kernels::State& state() const { return *state_; }
    /// Roots of the shared tensors, which members show when they open a state with this base.
    std::vector<Hash32> shared_roots() const;

private:
    const CommittedPlan& plan_;
    kernels::ThreadPool& pool_;
    PlanRunner runner_;
    std::optional<kernels::State> state_;
    std::uint32_t base_ = 0;
};

}  // namespace retrace::solver
