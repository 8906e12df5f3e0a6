// SPDX-License-Identifier: MIT
// Who takes part in a run, what they are like, and what befalls them.
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

/// A party's line is cut for some blocks, `after` blocks after the trace says `words` for the first time.
struct Stall {
    std::size_t party = 0;  ///< As in an outage.
    std::string words;
    std::uint64_t after = 0, blocks = 0;
    std::optional<std::uint64_t> before;  ///< Instead: until so many blocks before the deadline that the line says.
};

/// An outage of one party: its machine is off, or its line is cut.
struct Outage {
    std::size_t party = 0;  ///< Requester, then solvers, then verifiers, then further requesters.
    bool crash = false;
    Millis from = 0, until = 0;
};

/// The durations and amounts of a simulated chain: short, and longer than the longest outage (SPEC 2).
market::Params simulated_params();

struct Scenario {
    std::vector<SolverRole> solvers;
    std::vector<VerifierRole> verifiers;
    std::vector<Order> orders;
    std::vector<Outage> outages;
    std::vector<Stall> stalls;
    NetworkLimits network;
    ProposerFraud proposer = ProposerFraud::none;
    unsigned node_crash_permille = 0;
    std::uint64_t blocks_max = 8000;  ///< All tasks end before.
    market::Params params = simulated_params();
    Costs costs;

    std::size_t requesters = 1;
    std::set<std::size_t> bad_requesters;  ///< Of which nothing is promised.
    std::set<std::string> owned;           ///< Parties of one owner, by name.
    std::size_t parties() const { return requesters + solvers.size() + verifiers.size(); }
    std::string describe() const;
};

/// An honest scenario without outages, to be changed by a test: two solvers, three verifiers, one task.
Scenario calm_scenario();
/// The same on a chain of default parameters, with machines that are just fast enough for the allowance of its task.
Scenario just_allowed_scenario();
/// Everything drawn from the seed. At least one solver and two verifiers are honest.
Scenario random_scenario(std::uint64_t seed);

/// Any adversary by its name, with a sane stake; nullopt: unknown.
std::optional<SolverRole> solver_named(std::string_view name);
std::optional<VerifierRole> verifier_named(std::string_view name);
std::optional<RequesterFraud> requester_named(std::string_view name);
std::optional<ProposerFraud> proposer_named(std::string_view name);
/// All that solver_named and verifier_named know, "honest" apart.
const std::vector<std::string>& solver_names();
const std::vector<std::string>& verifier_names();

}  // namespace retrace::sim
