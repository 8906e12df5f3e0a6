// SPDX-License-Identifier: MIT
// A simulated economy of agents that play tasks by the market's own rules (auction, reputation, stake floor, beacon
// draws, splits) and leave out everything else: a replay shows at once whether a segment is right. SPEC 8.5.
#pragma once

#include <string>
#include <vector>

#include "market/econ.hpp"

namespace retrace::market {

struct EconomyOptions {
    std::uint64_t tasks = 1'000;
    std::uint64_t seed = 1;
};

/// Totals of all agents with one strategy. Profit is their earnings less payments, losses and computing costs.
struct StrategyResult {
    std::string role, strategy;
    std::uint64_t agents = 0;
    std::uint64_t jobs = 0;         ///< Runs of a solver, seats of a verifier.
    std::uint64_t convictions = 0;  ///< Disputes lost.
    U256 earned, spent;             ///< Sums over all agents.
    bool lost() const noexcept { return spent > earned; }
    /// Whether an agent of this strategy earned more on average than one of the other.
    bool better_than(const StrategyResult& other) const;
};
struct Economy {
    std::vector<StrategyResult> solvers, verifiers;  ///< The honest strategy first.
    std::vector<StrategyResult> rings;               ///< Solvers with a verifier: honest ones, then colluding ones.
    std::uint64_t bad_segments = 0, caught = 0;
    U256 burned;
    bool conserved = false;  ///< Payments of all sides and burned coins add up.
    /// Whether the honest strategy of each role did better than every other one.
    bool honest_best() const;
};

/// `setting` gives the parameters, the shape of a task, its highest price and the stake at that price; the price and
/// stake of each task are between half of these and the whole. The same options give the same result on every machine.
Economy simulate_economy(const Setting& setting, const EconomyOptions& options);

}  // namespace retrace::market
