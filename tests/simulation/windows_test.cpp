// SPDX-License-Identifier: MIT
// Every window of market/params.hpp that an honest agent's stake or work depends on, at its edge: an action in the last
// allowed block costs nothing, and an action one block later costs its sender.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Indices of parties: a requester, two solvers of which the first wins, three verifiers.
constexpr std::size_t kSolver = 1, kVerifier = 3;

struct Window {
    const char* name;  ///< Name of the parameter in market/params.hpp.
    std::size_t party;
    TriggeredCut cut;   ///< Cut of the party's connection up to the edge of the window.
    const char* loses;  ///< Violation reported one block later; null: its run goes to another solver, and it loses
                        ///< nothing.
    const char* verifier = "honest";  ///< Role of the third verifier.
    std::uint64_t speed_bp = kFast;   ///< Speed of the party.
};

TriggeredCut until(const char* words, std::uint64_t before) { return {0, words, 0, 0, before}; }
TriggeredCut lasting(const char* words, std::uint64_t after, std::uint64_t blocks) {
    return {0, words, after, blocks, std::nullopt};
}

/// The delay is at most a third of a second: news of a block, and the resulting transactions, arrive before the next
/// block.
Scenario scenario_of(const Window& window) {
    Scenario scenario = calm_scenario();
    scenario.network.delay_max = 300;
    scenario.planned_tasks[0].steps =
        scenario.planned_tasks[0].interval;  // One segment, so that nothing else is due meanwhile.
    scenario.planned_tasks[0].auditors = 3;
    scenario.planned_tasks[0].audit_bp = 10'000;
    scenario.solvers[0].price_bp = 5'000;
    scenario.verifiers[2] = *verifier_named(window.verifier);
    if (window.party == kSolver) scenario.solvers[0].speed_bp = window.speed_bp;
    if (window.party == kVerifier) scenario.verifiers[0].speed_bp = window.speed_bp;
    // The start of a seeded task is computed too, so the epoch is long enough that no reveal of the beacon falls due.
    if (window.name == std::string_view("verdict_blocks")) scenario.params.epoch_blocks = 48;
    // Answers get more time than the opening, which may fall due meanwhile.
    if (window.cut.words == "ReportOpened") scenario.params.open_blocks = scenario.params.reveal_segment_blocks = 200;
    scenario.triggered_cuts = {window.cut};
    scenario.triggered_cuts[0].party = window.party;
    return scenario;
}

class AtTheEdge : public ::testing::TestWithParam<Window> {};

TEST_P(AtTheEdge, TheLastBlockIsInTimeAndTheNextIsNot) {
    const Window& window = GetParam();
    Scenario scenario = scenario_of(window);
    const Outcome in_time = play(1, scenario, catalogue(), {});
    EXPECT_THAT(in_time.findings.violations, IsEmpty());
    ASSERT_EQ(in_time.tasks.size(), 1u);
    EXPECT_EQ(in_time.tasks[0].state, market::TaskState::settled);
    EXPECT_EQ(in_time.tasks[0].runs.size(), 1u);

    TriggeredCut& cut = scenario.triggered_cuts[0];
    if (cut.before)
        cut.before = *cut.before - 1;
    else
        ++cut.blocks;
    const Outcome late = play(1, scenario, catalogue(), {});
    if (window.loses == nullptr) {
        EXPECT_THAT(late.findings.violations, IsEmpty());
        EXPECT_EQ(late.tasks.at(0).runs.size(), 2u) << "another solver does the task";
        return;
    }
    const std::string who = window.party == kSolver ? "honest solver0 " : "honest verifier0 ";
    EXPECT_THAT(late.findings.violations, Contains(HasSubstr(who + window.loses)));
    for (const char* other : {"solver1", "verifier1", "verifier2"})
        EXPECT_THAT(late.findings.violations, ::testing::Each(::testing::Not(HasSubstr(other))));
}

const market::Params kChain = simulated_params();

// Besides the delivery of a move, 11 blocks hold the replay of a just allowed auditor, and 33 hold all moves of a
// dispute and the replays of its segment.
INSTANTIATE_TEST_SUITE_P(
    Table, AtTheEdge,
    ::testing::Values(
        Window{"reveal_blocks", kSolver, lasting("TaskPosted", 3, kChain.bid_blocks + kChain.reveal_blocks - 5),
               "lost the deposit of a bid"},
        Window{"accept_blocks", kSolver, lasting("TaskAssigned", 0, kChain.accept_blocks - 2), nullptr},
        Window{"open_blocks", kSolver, until("AuditPhaseChanged audit=1 task=1 phase=2", 1), "lost its run"},
        Window{"verdict_blocks", kVerifier, until("AuditPhaseChanged audit=1 task=1 phase=3", 11),
               "lost stake: verdict_missed", "honest", kJustAllowed},
        Window{"reveal_segment_blocks", kSolver, until("AuditPhaseChanged audit=1 task=1 phase=5", 1), "lost its run"},
        Window{"reveal_verdict_blocks", kVerifier, until("AuditPhaseChanged audit=1 task=1 phase=6", 1),
               "lost stake: verdict_hidden"},
        Window{"answer_blocks", kSolver, until("ReportOpened", 2), "lost its run", "false_reporter", kJustAllowed},
        Window{"moves", kSolver, until("DisputeMoved", 33), "lost its run", "false_accuser", kJustAllowed},
        Window{"epoch_blocks", kVerifier, lasting("BeaconMixed epoch=3", 12, kChain.epoch_blocks + 2),
               "was dropped from the beacon"}),
    [](const auto& info) { return std::string(info.param.name); });

/// The window of a checkpoint holds only the training of a segment on a machine that is just allowed.
TEST(Windows, ASolverThatTrainsASegmentInTheTimeBetweenCheckpointsLosesNothing) {
    Scenario scenario = calm_scenario();
    scenario.solvers.resize(1);
    scenario.solvers[0].bids_always = true;
    // Four blocks cover the delivery of the commitment, the hashing and the news of the previous one.
    const Millis time = kChain.checkpoint_blocks * kBlockMillis;
    for (const bool in_time : {true, false}) {
        const Millis segment = time - (in_time ? 4 : 3) * kBlockMillis;
        scenario.solvers[0].speed_bp = scenario.costs.segment * kJustAllowed / segment;
        const Outcome outcome = play(1, scenario, catalogue(), {});
        if (in_time)
            EXPECT_THAT(outcome.findings.violations, IsEmpty());
        else
            EXPECT_THAT(outcome.findings.violations, Contains(HasSubstr("honest solver0 lost its run")));
    }
}

}  // namespace
}  // namespace retrace::sim
