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

/// No rule is broken, and all members but solver 0 are paid.
inline void expect_good(const Outcome& outcome) {
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(outcome.tasks.at(0).state, market::TaskState::settled);
    for (const std::string name : {"solver1", "solver2", "solver3"}) {
        EXPECT_EQ(run_of(outcome, name).state, market::RunState::settled) << name;
        EXPECT_FALSE(run_of(outcome, name).earned.is_zero()) << name;
    }
}

}  // namespace retrace::sim
