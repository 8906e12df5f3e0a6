// SPDX-License-Identifier: MIT
// Composed adversaries: several frauds, roles and decoy tasks of one owner in one run, within a budget drawn from the
// seed, and the check whether they paid off. SPEC 6.4.
#pragma once

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {

/// Draws everything from the seed. At least two solvers, a requester and three verifiers are honest.
Scenario composed_scenario(std::uint64_t seed);

/// What the honest parties lost and the owner gained in a run.
struct Judgement {
    std::uint64_t honest_losses = 0;
    std::uint64_t owners_ahead = 0;      ///< 1 if the owner gained more than its honest work is worth.
    std::vector<std::string> sentences;  ///< One sentence for each loss or gain that was found.

    bool good() const { return honest_losses == 0 && owners_ahead == 0; }
};
/// Compares coins and stake at the end with those at the beginning. Gas fees are left out, which favours the owner.
Judgement judge(const Scenario& scenario, const Outcome& outcome);

}  // namespace retrace::sim
