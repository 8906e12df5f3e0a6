// SPDX-License-Identifier: MIT
// The parties of a run, their behaviour, and the failures that they suffer.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/host.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/requester_party.hpp"
#include "tests/simulation/sabotage.hpp"
#include "tests/simulation/solver_party.hpp"
#include "tests/simulation/verifier_party.hpp"

namespace retrace::sim {

/// Whole coins in wei.
ledger::U256 coins(std::uint64_t count);

/// A cut of a party's connection for some blocks, `after` blocks after the trace contains `words` for the first time.
struct TriggeredCut {
    std::size_t party = 0;  ///< Numbered as in Outage.
    std::string words;
    std::uint64_t after = 0, blocks = 0;
    std::optional<std::uint64_t> before;  ///< If set, used instead of a duration: the cut ends so many blocks before
                                          ///< the deadline that the line contains.
};

/// An outage of one party: its machine is off, or its connection is cut.
struct Outage {
    std::size_t party = 0;  ///< Order of the numbers: requester, solvers, verifiers, further requesters.
    bool crash = false;
    Millis from = 0, until = 0;
};

/// Durations and amounts of a simulated chain: short, but longer than the longest outage (SPEC 2).
market::Params simulated_params();

struct Scenario {
    std::vector<SolverRole> solvers;
    std::vector<VerifierRole> verifiers;
    std::vector<PlannedTask> planned_tasks;
    std::vector<Outage> outages;
    std::vector<TriggeredCut> triggered_cuts;
    NetworkLimits network;
    std::vector<ValidatorRole> validators = std::vector<ValidatorRole>(3);
    bool shares = false;  ///< Votes carry shares of the beacon, which cost time to prove and to check.
    unsigned node_crash_permille = 0;
    std::uint64_t blocks_max = 8000;  ///< All tasks must end before this height.
    market::Params params = simulated_params();
    Costs costs;

    std::size_t requesters = 1;
    std::set<std::size_t> bad_requesters;  ///< Requesters without any guarantee.
    std::set<std::string> owned;           ///< Names of the parties that belong to one owner.
    /// Without validators.
    std::size_t parties() const { return requesters + solvers.size() + verifiers.size(); }
    std::string describe() const;
};

/// An honest scenario without outages, which tests modify: two solvers, three verifiers, one task.
Scenario calm_scenario();
/// The same on a chain of default parameters, with machines just fast enough for the allowance of the task.
Scenario just_allowed_scenario();
/// Draws everything from the seed. At least one solver and two verifiers are honest.
Scenario random_scenario(std::uint64_t seed);

/// Draws outages within the bounds of SPEC 2.1 for some of the parties.
std::vector<Outage> random_outages(Random& random, std::size_t parties);

/// Draws four to seven validators. The power of malicious and faulty ones together is below a third.
std::vector<ValidatorRole> random_validators(Random& random);

/// Returns an adversary by its name, with a sane stake; nullopt: unknown name.
std::optional<SolverRole> solver_named(std::string_view name);
std::optional<VerifierRole> verifier_named(std::string_view name);
std::optional<RequesterFraud> requester_named(std::string_view name);
/// All names that solver_named and verifier_named know, except "honest".
const std::vector<std::string>& solver_names();
const std::vector<std::string>& verifier_names();

}  // namespace retrace::sim
