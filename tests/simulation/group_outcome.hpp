// SPDX-License-Identifier: MIT
// What tests ask of the run of one group.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/batch.hpp"

namespace retrace::sim {

inline const market::Run& run_of(const Outcome& outcome, const std::string& name) {
    for (const market::Run& run : outcome.tasks.at(0).runs)
        if (outcome.names.at(run.solver) == name) return run;
    throw std::runtime_error(name + " has no run");
}

/// The parties whose messages the record of a round has: "solver0 solver1 ".
inline std::string recorded_in(const Outcome& outcome, std::uint32_t round) {
    std::string out;
    for (const market::RoundEntry& entry : outcome.tasks.at(0).rounds.at(round).entries)
        out += outcome.names.at(outcome.tasks[0].runs.at(entry.run).solver) + " ";
    return out;
}
/// The number of rounds that have recorded a message of this party.
inline std::uint64_t recorded_of(const Outcome& outcome, const std::string& name) {
    std::uint64_t out = 0;
    for (std::uint32_t round = 0; round < outcome.tasks.at(0).rounds.size(); ++round)
        out += recorded_in(outcome, round).find(name + " ") != std::string::npos ? 1 : 0;
    return out;
}

/// No rule is broken, and all members but solver 0 are paid.
inline void expect_good(const Outcome& outcome) {
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(outcome.tasks.at(0).state, market::TaskState::settled);
    for (const std::string name : {"solver1", "solver2", "solver3"}) {
        EXPECT_EQ(run_of(outcome, name).state, market::RunState::settled) << name;
        EXPECT_FALSE(run_of(outcome, name).earned.is_zero()) << name;
        EXPECT_TRUE(run_of(outcome, name).locked.is_zero()) << name;
    }
}

/// The others are recorded in each round, and are paid for each.
inline void expect_all_recorded(const Outcome& outcome) {
    for (const std::string name : {"solver1", "solver2", "solver3"}) {
        EXPECT_EQ(recorded_of(outcome, name), outcome.tasks.at(0).rounds.size()) << name;
        EXPECT_EQ(run_of(outcome, name).earned,
                  run_of(outcome, name).price * ledger::U256(outcome.tasks[0].rounds.size()))
            << name;
    }
}

}  // namespace retrace::sim
