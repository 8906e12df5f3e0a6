// SPDX-License-Identifier: MIT
// Computing a phase of a group's plan wrongly, for demo, simulation and tests.
#pragma once

#include "solver/attacks/compute_attacks.hpp"

namespace retrace::solver {

/// Makes a runner of one of the plan's phases that carries out `attack` in one round, the last if none is named, and is
/// honest in every other phase than that of the attack: the inner steps, or `press`.
std::unique_ptr<StepRunner> make_member_attacker(ComputeAttack attack, const TaskTerms& terms,
                                                 const kernels::Program& program, kernels::Inputs inputs,
                                                 kernels::ThreadPool& pool,
                                                 std::optional<std::uint64_t> round = std::nullopt,
                                                 MessageStore* messages = nullptr);

}  // namespace retrace::solver
