// SPDX-License-Identifier: MIT
// Voluntary work of a verifier: watching, checking initial states, keeping states for pay, and answering reports about
// them.
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// A solver that has trained a whole task, and a verifier that checks it.
struct Bench {
    TinyTask task;
    SolverParty solver;
    StoreSource source;
    VerifierParty party;
    VerifierConfig config;
    std::unique_ptr<VerifierAgent> agent;
    VerifierView view;

    explicit Bench(solver::RunnerFactory runners, std::uint64_t watch_bp = 10'000)
        : solver(task, std::move(runners)),
          source(task.source, *solver.store, task.pool),
          party(task, source, 1, std::nullopt) {
        MiniChain(task, solver, {}).run(30);
        config.secret = party.secret;
        config.address = party.address;
        config.beacon_length = 4;
        config.watch_bp = watch_bp;
        restart();
    }
    void restart() { agent = std::make_unique<VerifierAgent>(config, *party.task_cache, *party.store); }
    Hash32 root(std::uint64_t index) const { return solver.store->commitment({5, 0, index})->root; }
    void watch(std::uint64_t segment) {
        view.watch.push_back({task.terms, 0, segment, root(segment), root(segment + 1)});
    }
    /// Adds a dispute about segment 2 with this verifier as the challenger.
    void dispute(const Game& game) {
        DisputeView& play = view.disputes.emplace_back();
        play.id = 1;
        play.terms = task.terms;
        play.segment = 2;
        play.side = Side::challenger;
        play.game = game;
    }
    /// Passes some blocks, runs every work order at once, and returns all moves of one kind.
    template <class Move>
    std::vector<Move> run(int blocks = 8) {
        std::vector<Move> moves;
        for (int i = 0; i < blocks; ++i) {
            ++view.height;
            auto out = agent->on_view(view);
            for (const VerifierMove& move : out.moves)
                if (const auto* wanted = std::get_if<Move>(&move)) moves.push_back(*wanted);
            if (out.work) agent->on_done(out.work->run());
        }
        return moves;
    }
};

TEST(SideWork, AWatchedSegmentThatIsWrongIsChallengedOnce) {
    Bench bench(solver::attacking_runners(solver::ComputeAttack::ulp));
    for (const std::uint64_t segment : {0, 1, 2}) bench.watch(segment);
    const auto challenges = bench.run<ChallengeSegment>();
    ASSERT_EQ(challenges.size(), 1u);
    EXPECT_EQ(challenges[0].segment, 2u);
    EXPECT_NE(challenges[0].root, bench.root(3));
    EXPECT_TRUE(bench.agent->take_problems().empty());
}

TEST(SideWork, AnHonestRunIsWatchedInSilence) {
    Bench bench(solver::honest_runners());
    for (const std::uint64_t segment : {0, 1, 2}) bench.watch(segment);
    EXPECT_TRUE(bench.run<ChallengeSegment>().empty());
}

TEST(SideWork, NothingIsWatchedUnlessAskedFor) {
    Bench bench(solver::attacking_runners(solver::ComputeAttack::ulp), 0);
    for (const std::uint64_t segment : {0, 1, 2}) bench.watch(segment);
    EXPECT_TRUE(bench.run<ChallengeSegment>().empty());
}

TEST(SideWork, AStartThatWasWatchedServesTheDisputeWithoutTheSolver) {
    Bench bench(solver::attacking_runners(solver::ComputeAttack::ulp));
    bench.watch(2);
    ASSERT_EQ(bench.run<ChallengeSegment>().size(), 1u);
    bench.source.withhold = true;
    const Facts facts{bench.task.terms.contract, bench.task.terms.program_root, bench.task.terms.program_root,
                      bench.task.terms.seed, bench.task.terms.data_roots};
    Game game = start(facts, Claim{false, 8, 10, bench.root(2), bench.root(3)});
    PostHashes hashes;
    hashes.hashes.resize(search_positions(game.search).size());
    ASSERT_TRUE(apply(game, Side::solver, Move{hashes}).has_value());
    bench.view.watch.clear();
    bench.dispute(game);
    EXPECT_FALSE(bench.run<PlayMove>(2).empty());
}

TEST(SideWork, AChallengerReportsAStartThatIsNotServedAndTriesAgain) {
    Bench bench(solver::honest_runners());
    bench.source.withhold = true;
    const Facts facts{bench.task.terms.contract, bench.task.terms.program_root, bench.task.terms.program_root,
                      bench.task.terms.seed, bench.task.terms.data_roots};
    Game game = start(facts, Claim{false, 8, 10, bench.root(2), Hash32{{3}}});
    PostHashes hashes;
    hashes.hashes.resize(search_positions(game.search).size());
    ASSERT_TRUE(apply(game, Side::solver, Move{hashes}).has_value());
    bench.dispute(game);
    bench.view.disputes[0].may_report = true;
    const auto reports = bench.run<ReportUnavailable>(3);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, solver::ReportKind::state);
    EXPECT_EQ(reports[0].index, 2u);
    bench.source.withhold = false;  // the answer on the ledger made the solver serve
    EXPECT_FALSE(bench.run<PlayMove>(15).empty());
}

TEST(SideWork, ARestartBetweenReplayAndChallengeForgetsNoForgedInitialState) {
    Bench bench(solver::honest_runners());
    Hash32 forged = bench.root(0);
    forged.bytes[0] ^= 1;
    bench.view.initials.push_back({bench.task.terms, 0, forged});
    ++bench.view.height;
    auto out = bench.agent->on_view(bench.view);
    ASSERT_TRUE(out.work.has_value());
    bench.agent->on_done(out.work->run());
    bench.restart();
    const auto challenges = bench.run<ChallengeInitial>();
    ASSERT_EQ(challenges.size(), 1u);
    EXPECT_EQ(challenges[0].root, bench.root(0));
    bench.view.initials[0].root = bench.root(0);
    bench.restart();
    EXPECT_TRUE(bench.run<ChallengeInitial>().empty());
}

TEST(SideWork, AnOfferedStateIsKeptAttestedAndAnsweredFor) {
    Bench bench(solver::honest_runners());
    bench.view.offers.push_back({bench.task.terms, 0, 2, bench.root(2)});
    const auto attested = bench.run<AttestRetention>();
    ASSERT_EQ(attested.size(), 1u);
    EXPECT_EQ(attested[0].index, 2u);
    // The ledger says that the state is kept; then a successor cannot get it, and the solver is gone.
    bench.view.offers.clear();
    bench.view.keep.push_back({5, 0, 2, false});
    EXPECT_TRUE(bench.run<AttestRetention>().empty());
    bench.source.withhold = true;
    bench.restart();
    bench.view.reports.push_back({7, bench.task.terms, 0, 2, 1, 0});
    const auto answers = bench.run<AnswerReport>();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].report, 7u);
    const auto answer = solver::decode_tile_answer(answers[0].answer);
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(solver::verify_state_tile(*answer, bench.task.train.root(), bench.root(2), 1, 0).has_value());
}

TEST(SideWork, WhatIsNeededNoMoreLeavesTheDisk) {
    Bench bench(solver::honest_runners());
    bench.view.offers.push_back({bench.task.terms, 0, 2, bench.root(2)});
    ASSERT_EQ(bench.run<AttestRetention>().size(), 1u);
    EXPECT_FALSE(bench.party.store->runs().empty());
    bench.view.offers.clear();
    bench.view.keep.push_back({5, 0, 2, false});
    (void)bench.run<AttestRetention>(2);
    EXPECT_FALSE(bench.party.store->runs().empty());
    bench.view.keep.clear();  // the task is over
    (void)bench.run<AttestRetention>(2);
    EXPECT_TRUE(bench.party.store->runs().empty());
}

TEST(SideWork, ASolverDeletesItsRunsWhenNobodyAsksForThemAnyMore) {
    TinyTask task;
    SolverParty party(task, solver::honest_runners());
    MiniChain(task, party, {}).run(30);
    ASSERT_TRUE(party.store->newest(5, 0, 3).has_value());
    solver::SolverConfig config;
    config.retention_blocks = 10;
    solver::SolverAgent agent(config, *party.task_cache, *party.store);
    solver::SolverView view;
    view.height = 100;
    (void)agent.on_view(view);
    EXPECT_EQ(party.store->newest(5, 0, 3), (solver::CheckpointKey{5, 0, 3})) << "the model is still served";
    EXPECT_EQ(party.store->newest(5, 0, 2), std::nullopt);
    view.height = 110;
    (void)agent.on_view(view);
    EXPECT_TRUE(party.store->runs().empty());
}

/// Attests to keep state 2 and drops the task, as the service does with tasks that are only kept.
void keep_a_state(Bench& bench) {
    bench.view.offers.push_back({bench.task.terms, 0, 2, bench.root(2)});
    ASSERT_EQ(bench.run<AttestRetention>().size(), 1u);
    bench.view.offers.clear();
    bench.view.keep.push_back({5, 0, 2, false});
    bench.party.task_cache->keep_only({});
    bench.restart();
    bench.view.reports.push_back({7, bench.task.terms, 0, 2, 1, 0});
}

TEST(SideWork, AKeeperAnswersWithoutTheDataSets) {
    Bench bench(solver::honest_runners());
    keep_a_state(bench);
    bench.task.source.tensors.clear();
    EXPECT_FALSE(bench.run<AnswerReport>().empty());
}

TEST(SideWork, AKeeperThatCannotAnswerTriesAgain) {
    Bench bench(solver::honest_runners());
    keep_a_state(bench);
    const auto programs = std::exchange(bench.task.source.programs, {});
    EXPECT_TRUE(bench.run<AnswerReport>(2).empty());
    EXPECT_FALSE(bench.agent->take_problems().empty());
    bench.task.source.programs = programs;
    EXPECT_FALSE(bench.run<AnswerReport>(60).empty());
}

/// Otherwise requests for a missing state would delay every replay, step by step.
TEST(SideWork, AnAnswerThatCannotBeMadeYetPutsNoReplayOff) {
    Bench bench(solver::attacking_runners(solver::ComputeAttack::ulp));
    bench.view.reports.push_back({7, bench.task.terms, 0, 1, 1, 0});  // it keeps no such state
    EXPECT_TRUE(bench.run<AnswerReport>(1).empty());
    EXPECT_FALSE(bench.agent->take_problems().empty());
    bench.watch(2);
    ++bench.view.height;
    auto out = bench.agent->on_view(bench.view);
    ASSERT_TRUE(out.work.has_value());
    ++bench.view.height;
    bench.agent->on_view(bench.view);  // while the replay is running
    const VerifierResult result = out.work->run();
    ASSERT_TRUE(std::holds_alternative<Watched>(result));
    EXPECT_FALSE(std::get<Watched>(result).preempted);
}

}  // namespace
}  // namespace retrace::test
