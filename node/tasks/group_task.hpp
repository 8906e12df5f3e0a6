// SPDX-License-Identifier: MIT
// A training in rounds as the market has it: its plan, the terms of the group, and the cost of a member's segment.
#pragma once

#include "kernels/exec/executor.hpp"
#include "kernels/plan/group_plan.hpp"
#include "market/rollbacks.hpp"
#include "node/tasks/task_file.hpp"

namespace retrace::node {

/// Reads and checks the plan's file. Errors name the file: it cannot be read, is no plan, has no initialiser, or allows
/// fewer inner steps than the task names.
Result<kernels::GroupPlan> read_plan(const GroupTerms& terms);

/// What the plan's root commits to, as the records have it.
std::vector<market::PhaseRoot> phase_roots(const kernels::PlanHeader& header);

/// The group's terms beside its TaskSpec. Errors: numbers that the market does not take, with the key in task.toml.
Result<market::GroupSpec> group_spec_of(const GroupTerms& terms, const kernels::GroupPlan& plan);

/// What a member locks beside the usual floor, to repay the requester what its lie would undo; zero if records stand.
ledger::U256 rollback_stake_of(const TaskFile& task);

/// Multiply-adds of a segment that takes in one record with a message of each of `members` and has all inner steps;
/// 2^64 - 1 if they are more.
std::uint64_t segment_cost(const kernels::GroupPlan& plan, std::uint32_t members);

/// What task.toml states of a program, and of a plan.
CompiledFacts facts_of(const kernels::Program& program);
CompiledFacts facts_of(const kernels::GroupPlan& plan);

/// The state of the plain training program `wanted`, from the tensors of the same names in a member's state. `of_plan`:
/// any program of the plan. Moments that the plan does not keep for each parameter (updates of gradients) are 0. Fails if
/// another tensor is missing.
Result<kernels::State> model_state(const kernels::Program& of_plan, const kernels::State& state,
                                   const kernels::Program& wanted, std::uint64_t step);

}  // namespace retrace::node
