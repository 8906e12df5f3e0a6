// SPDX-License-Identifier: MIT
// Capability challenges: measurements of solvers' machines, from opening to outcome. SPEC 17.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Adds a solver to the list for random challenges, and challenges it now unless its last challenge was too recent. When
/// the list is full, the solver takes the place of the one with the least bonded stake if it has more; otherwise it is
/// not measured. SPEC 10.4.3.
void enlist_solver(Effects& fx, const Address& solver);
/// Removes a solver from the list for random challenges and clears its score: its stake is below the minimum, or a
/// solver with more stake takes its place.
void delist_solver(Effects& fx, const Address& solver);
/// Called after a beacon was mixed: challenges the solvers that it draws.
void draw_capability_challenges(Effects& fx, const Hash32& beacon);
/// Called by the scheduler: the beacon that a challenge waited for is known, or its deadline has passed.
void handle_capability_challenge(Effects& fx, std::uint64_t challenge);

}  // namespace retrace::contracts
