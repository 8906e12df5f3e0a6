// SPDX-License-Identifier: MIT
// An economy of agents that play tasks by the market's own rules (auction, reputation, stake floor, beacon
// draws, splits), with everything else left out: a replay shows at once whether a segment is right. SPEC 8.5.
#pragma once

#include <string>
#include <vector>

#include "market/econ.hpp"

namespace retrace::market {

struct EconomyOptions {
    std::uint64_t tasks = 1'000;
    std::uint64_t seed = 1;
};

/// Of all agents with one strategy. Profit is what they earned less what they paid, lost and computed for.
struct StrategyResult {
    std::string role, strategy;
    std::uint64_t agents = 0;
    std::uint64_t jobs = 0;         ///< Runs of a solver, seats of a verifier.
    std::uint64_t convictions = 0;  ///< Disputes lost.
    U256 earned, spent;             ///< Of all of them together.
    bool lost() const noexcept { return spent > earned; }
    /// Whether an agent of this strategy did better than one of the other.
    bool better_than(const StrategyResult& other) const;
};
struct Economy {
    std::vector<StrategyResult> solvers, verifiers;  ///< The honest strategy first.
    std::vector<StrategyResult> rings;  ///< Solvers with a verifier: honest ones, and those who collude.
    std::uint64_t bad_segments = 0, caught = 0;
    U256 burned;
    bool conserved = false;  ///< Payments of all sides and what was burned sum up.
    /// The honest strategy of each role did better than every other one.
    bool honest_best() const;
};

/// `setting` gives the parameters, the shape of a task, its highest price and the stake at that price; tasks
/// ask for half of both and more. The same options give the same result on every machine.
Economy simulate_economy(const Setting& setting, const EconomyOptions& options);

}  // namespace retrace::market
