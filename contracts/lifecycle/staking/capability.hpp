// SPDX-License-Identifier: MIT
// Challenges of solvers to show what their machines can do, from their opening to their outcome. SPEC 17.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Puts a solver on the list of those who are challenged at random, and challenges it now unless it was not
/// long ago.
void enlist_solver(Effects& fx, const Address& solver);
/// Who has less than the least stake is a solver no more: off the list, without a score.
void delist_solver(Effects& fx, const Address& solver);
/// After a beacon was mixed: challenges those that it draws.
void draw_challenges(Effects& fx, const Hash32& beacon);
/// The scheduler: a beacon that a challenge waited for is known, or a deadline is over.
void challenge_due(Effects& fx, std::uint64_t challenge);

}  // namespace retrace::contracts
