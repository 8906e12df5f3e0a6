// SPDX-License-Identifier: MIT
// Groups of 4 to 12 members: absence, late joins, outages, crashes, and up to a quarter of members and of auditors that
// collude.
#pragma once

#include "tests/simulation/scenario.hpp"

namespace retrace::sim {

/// An honest group without outages, which tests modify: four members, four verifiers, three rounds.
Scenario calm_group();
/// Draws everything from the seed.
Scenario group_scenario(std::uint64_t seed);
/// The same under masks: members also drop at any step of them, deal garbage, or mask their messages wrongly.
Scenario masked_scenario(std::uint64_t seed);
/// Has the group go back when messages of a lost run are not final, and train the fewest rounds for that.
void roll_back(PlannedGroup& group, std::uint8_t rollbacks, std::uint32_t ahead);
/// Has the members of the scenario's group, whom its requester admits, train on data of their own.
void make_private(Scenario& scenario);
/// Member `solver` gives its data to a verifier and consents to it as its auditor.
void give_data(Scenario& scenario, std::size_t solver, std::size_t verifier);
/// Adversaries among the members, by the names of solver_named and `group_member_named`.
const std::vector<std::string>& group_member_names();
/// Returns an adversary by its name; nullopt: unknown name.
std::optional<SolverRole> group_member_named(std::string_view name);

}  // namespace retrace::sim
