// SPDX-License-Identifier: MIT
// Whole runs: a seed always gives the same run, and the checkers detect broken rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/simulation/batch.hpp"

namespace retrace::sim {
namespace {

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(first + i);
    return out;
}

TEST(Simulation, OneSeedIsOneRun) {
    for (const std::uint64_t seed : {1, 5, 9, 12}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::string first, second;
        RunOptions options;
        options.sink = [&](const std::string& line) { first += line; };
        const Outcome a = play(seed, random_scenario(seed), catalogue(), options);
        options.sink = [&](const std::string& line) { second += line; };
        const Outcome b = play(seed, random_scenario(seed), catalogue(), options);
        EXPECT_EQ(a.trace_hash, b.trace_hash);
        EXPECT_EQ(first, second);
        EXPECT_EQ(a.height, b.height);
        EXPECT_GT(a.trace_lines, 50u);
    }
}

TEST(Simulation, TheNumberOfThreadsChangesNothing) {
    std::vector<Hash32> one, three;
    const auto keep = [](std::vector<Hash32>& into) {
        return [&into](const Played& played) { into.push_back(played.outcome.trace_hash); };
    };
    const Summary a = run_seeds(numbers(1, 8), ScenarioKind::single, catalogue(), Sabotage::none, 1, keep(one));
    const Summary b = run_seeds(numbers(1, 8), ScenarioKind::single, catalogue(), Sabotage::none, 3, keep(three));
    EXPECT_EQ(one, three);
    EXPECT_EQ(to_json(a), to_json(b));
}

TEST(Simulation, AnUndisturbedTaskIsSettledWithTheTrueModel) {
    for (std::size_t kind = 0; kind < catalogue().size(); ++kind) {
        Scenario scenario = calm_scenario();
        scenario.planned_tasks[0].kind = kind;
        const Outcome outcome = play(1, scenario, catalogue(), {});
        EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
        ASSERT_EQ(outcome.tasks.size(), 1u);
        EXPECT_EQ(outcome.tasks[0].state, market::TaskState::settled);
        EXPECT_EQ(outcome.tasks[0].final_root, outcome.tasks[0].true_root);
        EXPECT_THAT(outcome.disputes, ::testing::IsEmpty());
    }
}

/// A broken rule and the words of the checkers that report it.
struct Broken {
    Sabotage sabotage;
    const char* words;
};
class Checker : public ::testing::TestWithParam<Broken> {};

TEST_P(Checker, SeesABrokenRule) {
    RunOptions options;
    options.sabotage = GetParam().sabotage;
    // The fraud is disputed, so that there is a dispute to break.
    Scenario scenario = calm_scenario();
    scenario.solvers.push_back(*solver_named("ulp"));
    scenario.blocks_max = 900;
    const Outcome broken = play(3, scenario, catalogue(), options);
    ASSERT_FALSE(broken.good());
    EXPECT_THAT(broken.findings.violations, ::testing::Contains(::testing::HasSubstr(GetParam().words)));
    const Outcome whole = play(3, scenario, catalogue(), {});
    EXPECT_THAT(whole.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(whole.findings.frauds_audited, 1u);
    EXPECT_EQ(whole.findings.frauds_convicted, 1u);
    Summary summary;
    summary.add(broken);
    EXPECT_EQ(summary.failed_seeds, std::vector<std::uint64_t>{3});
    EXPECT_FALSE(summary.good());
    EXPECT_EQ(summary.honest_slashed > 0, GetParam().sabotage == Sabotage::slash_honest);
}

INSTANTIATE_TEST_SUITE_P(Rules, Checker,
                         ::testing::Values(Broken{Sabotage::slash_honest, "honest verifier0 lost stake"},
                                           Broken{Sabotage::mint, "holds the sum of its records"},
                                           Broken{Sabotage::two_movers, "not exactly one mover"},
                                           Broken{Sabotage::stall, "have not ended"},
                                           Broken{Sabotage::acquit, "was audited and not convicted"}),
                         [](const auto& info) { return std::string(slug(info.param.sabotage)); });

TEST(Summary, IsOneJsonObject) {
    Summary summary;
    EXPECT_EQ(to_json(summary),
              "{\"runs\":0,\"violations\":0,\"honest_slashed\":0,\"frauds_audited\":0,"
              "\"frauds_convicted\":0,\"failed_seeds\":[]}");
    summary.failed_seeds = {3, 14};
    EXPECT_THAT(to_json(summary), ::testing::EndsWith("\"failed_seeds\":[3,14]}"));
}

/// Reads every seed that ever failed, one per line; '#' begins a comment.
std::vector<std::uint64_t> seeds_of(const char* file) {
    std::ifstream in(file);
    EXPECT_TRUE(in) << file;
    std::vector<std::uint64_t> seeds;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        seeds.push_back(std::stoull(line));
    }
    return seeds;
}

void expect_good(const std::vector<std::uint64_t>& seeds, ScenarioKind kind) {
    const Summary summary = run_seeds(seeds, kind, catalogue(), Sabotage::none, 0, [](const Played& played) {
        EXPECT_THAT(played.outcome.findings.violations, ::testing::IsEmpty()) << "seed " << played.outcome.seed;
        if (played.judgement) {
            EXPECT_THAT(played.judgement->sentences, ::testing::IsEmpty()) << "seed " << played.outcome.seed;
        }
    });
    EXPECT_EQ(summary.runs, seeds.size());
}

TEST(Simulation, SeedsThatFailedOnceFailNoMore) { expect_good(seeds_of(RETRACE_FAILED_SEEDS), ScenarioKind::single); }

TEST(Composed, SeedsThatFailedOnceFailNoMore) {
    expect_good(seeds_of(RETRACE_FAILED_COMPOSED_SEEDS), ScenarioKind::composed);
}

TEST(Composed, OneSeedIsOneRunAndOneJudgement) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const Played a = play_seed(seed, ScenarioKind::composed, catalogue(), {});
        const Played b = play_seed(seed, ScenarioKind::composed, catalogue(), {});
        EXPECT_EQ(a.outcome.trace_hash, b.outcome.trace_hash) << seed;
        EXPECT_EQ(a.judgement->sentences, b.judgement->sentences) << seed;
    }
}

/// A coin moved to the owner puts it ahead, and the honest party that paid it has a loss.
TEST(Composed, AGainAndALossAreSeen) {
    Scenario scenario = calm_scenario();
    scenario.owned = {"solver0"};
    Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_TRUE(judge(scenario, outcome).good()) << "its work is worth what it was paid";
    const ledger::U256 coin(1000 * market::kMilli);
    outcome.balances.at("solver0").coins += coin;
    outcome.balances.at("verifier1").coins -= coin;
    const Judgement judgement = judge(scenario, outcome);
    EXPECT_EQ(judgement.owners_ahead, 1u);
    EXPECT_EQ(judgement.honest_losses, 1u);
}

/// The owner has a cheater beside an honest solver, and verifiers that repeat the root it tells them.
Scenario colluding_scenario() {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].audit_bp = market::kBasisPoints;
    scenario.solvers[0] = *solver_named("ulp");
    scenario.solvers[0].segment = 1;
    scenario.solvers[0].price_bp = 5'000;
    scenario.verifiers.assign(3, *verifier_named("colluder"));
    scenario.owned = {"solver0"};
    return scenario;
}

/// The judge treats these verifiers as honest, so it detects segments that no honest party checked.
TEST(Composed, TheJudgeSeesThatHonestAuditorsAreSwitchedOff) {
    Scenario scenario = colluding_scenario();
    Outcome outcome = play(1, scenario, catalogue(), {});
    ASSERT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    const Judgement judgement = judge(scenario, outcome);
    EXPECT_THAT(judgement.sentences, ::testing::UnorderedElementsAre("a requester paid solver0 for what is wrong",
                                                                     ::testing::StartsWith("the owner gained ")));
    EXPECT_EQ(judgement.honest_losses, 1u);
    EXPECT_EQ(judgement.owners_ahead, 1u);
    // One honest auditor among those drawn is enough.
    scenario.owned.insert({"verifier0", "verifier1"});
    EXPECT_FALSE(judge(scenario, outcome).good());
}

/// The odds cover audits in which all drawn auditors belong to the owner, and segments that were not drawn. A promised
/// audit that did not happen, or had fewer seats than asked for, is a broken rule.
TEST(Composed, TheOddsExcuseWhatNobodyElseWasDrawnFor) {
    Scenario scenario = colluding_scenario();
    Outcome outcome = play(1, scenario, catalogue(), {});
    scenario.owned.insert({"verifier0", "verifier1", "verifier2"});
    EXPECT_THAT(judge(scenario, outcome).sentences, ::testing::IsEmpty());
    Outcome alone = outcome;
    for (market::Audit& audit : alone.audits) audit.seats.resize(1);
    EXPECT_FALSE(judge(scenario, alone).good()) << "two auditors were asked for";
    scenario.owned = {"solver0"};  // Auditors earn no fees, as there are no audits.
    Outcome unaudited = outcome;
    unaudited.audits.clear();
    EXPECT_FALSE(judge(scenario, unaudited).good()) << "all segments are audited";
    unaudited.tasks[0].spec.audit_bp = 2'500;
    EXPECT_THAT(judge(scenario, unaudited).sentences, ::testing::IsEmpty()) << "it was not drawn";
}

/// A disabled rule is also reported in composed scenarios.
TEST(Composed, ABrokenRuleIsReported) {
    RunOptions options;
    options.sabotage = Sabotage::acquit;
    const Played broken = play_seed(7, ScenarioKind::composed, catalogue(), options);
    EXPECT_THAT(broken.outcome.findings.violations,
                ::testing::Contains(::testing::HasSubstr("was audited and not convicted")));
    EXPECT_TRUE(play_seed(7, ScenarioKind::composed, catalogue(), {}).outcome.good());
    Summary summary;
    summary.add(broken);
    EXPECT_FALSE(summary.good());
}

TEST(Composed, TheSummarySaysWhatOwnersGained) {
    Summary summary;
    summary.judgement = Judgement{2, 1, {}};
    EXPECT_THAT(to_json(summary), ::testing::HasSubstr("\"honest_losses\":2,\"owners_ahead\":1,"));
}

}  // namespace
}  // namespace retrace::sim
