// SPDX-License-Identifier: MIT
// Composed adversaries: several frauds, roles and decoy tasks of one owner in one run, within a budget that the seed
// draws, and the question whether it paid. SPEC 6.4.
#pragma once

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {

/// Everything drawn from the seed. At least two solvers, a requester and three verifiers are honest.
Scenario composed_scenario(std::uint64_t seed);

/// What a run came to for the honest and for the owner.
struct Judgement {
    std::uint64_t honest_losses = 0;
    std::uint64_t owners_ahead = 0;      ///< 1 if the owner gained more than its honest work is worth.
    std::vector<std::string> sentences;  ///< One for each of both.

    bool good() const { return honest_losses == 0 && owners_ahead == 0; }
};
/// Coins and stake at the end against those of the beginning; fees for gas are left out, which favours the owner.
Judgement judge(const Scenario& scenario, const Outcome& outcome);

}  // namespace retrace::sim
