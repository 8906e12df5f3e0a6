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

/// An outage of one party: its machine is off, or its line is cut.
struct Outage {
    std::size_t party = 0;  ///< Requester, then solvers, then verifiers.
    bool crash = false;
    Millis from = 0, until = 0;
};

struct Scenario {
    std::vector<SolverRole> solvers;
    std::vector<VerifierRole> verifiers;
    std::vector<Order> orders;
    std::vector<Outage> outages;
    NetworkLimits network;
    ProposerFraud proposer = ProposerFraud::none;
    unsigned node_crash_permille = 0;
    std::uint64_t blocks_max = 8000;  ///< All tasks end before.

    std::size_t parties() const { return 1 + solvers.size() + verifiers.size(); }
    std::string describe() const;
};

/// The durations and amounts of a simulated chain: short, and longer than the longest outage (SPEC 2).
market::Params simulated_params();

/// An honest scenario without outages, to be changed by a test: two solvers, three verifiers, one task.
Scenario calm_scenario();
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
