// SPDX-License-Identifier: MIT
// The agents of solver and verifier against each other on a chain of one task.
#include <gtest/gtest.h>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;
using solver::ComputeAttack;

constexpr std::size_t kBlocks = 120;

struct Scene {
    TinyTask task;
    SolverParty solver;
    StoreSource source;
    std::vector<std::unique_ptr<VerifierParty>> parties;
    std::unique_ptr<MiniChain> chain;

    explicit Scene(solver::RunnerFactory runners, std::vector<std::optional<VerifierAttack>> verifiers)
        : solver(task, std::move(runners)), source(task.source, *solver.store, task.pool) {
        std::vector<VerifierParty*> seats;
        for (const auto& fraud : verifiers) {
            const auto number = static_cast<std::uint8_t>(parties.size() + 1);
            parties.push_back(std::make_unique<VerifierParty>(task, source, number, fraud));
            seats.push_back(parties.back().get());
        }
        chain = std::make_unique<MiniChain>(task, solver, seats);
    }
};

TEST(Agents, AnHonestTaskIsAcceptedTrainedAuditedAndKept) {
    Scene scene(solver::honest_runners(), {std::nullopt, std::nullopt});
    scene.chain->run(kBlocks);
    EXPECT_TRUE(scene.chain->accepted);
    EXPECT_EQ(scene.chain->commitments.size(), 4u);
    ASSERT_EQ(scene.chain->audits.size(), 3u);
    for (const auto& audit : scene.chain->audits) {
        for (const auto& [verifier, seat] : audit.seats) EXPECT_EQ(seat.revealed, audit.end);
    }
    EXPECT_TRUE(scene.chain->disputes.empty());
    EXPECT_TRUE(scene.chain->reports.empty());
    EXPECT_GE(scene.chain->attested.size(), 6u);
    EXPECT_TRUE(scene.solver.agent->take_problems().empty());
}

class EveryFraud : public ::testing::TestWithParam<ComputeAttack> {};

TEST_P(EveryFraud, IsConvictedByAnHonestVerifier) {
    Scene scene(solver::attacking_runners(GetParam()), {std::nullopt});
    scene.chain->run(kBlocks);
    ASSERT_EQ(scene.chain->disputes.size(), 1u);
    const Game& game = scene.chain->disputes[0].game;
    EXPECT_EQ(scene.chain->disputes[0].segment, 2u);
    EXPECT_EQ(game.phase, Phase::decided) << slug(game.phase);
    EXPECT_EQ(game.loser, Side::solver);
    EXPECT_EQ(game.ending, Ending::referee_solver_wrong) << slug(game.ending);
    const auto steps = solver::attack_steps(GetParam(), scene.task.terms.schedule);
    EXPECT_EQ(game.found.step, steps.first);
}

INSTANTIATE_TEST_SUITE_P(Solver, EveryFraud,
                         ::testing::Values(ComputeAttack::ulp, ComputeAttack::skip_steps, ComputeAttack::wrong_data,
                                           ComputeAttack::stale_checkpoint),
                         [](const auto& info) { return std::string(solver::slug(info.param)); });

TEST(Agents, AFalseAccuserLosesEveryDisputeAndOthersAreUntouched) {
    Scene scene(solver::honest_runners(), {VerifierAttack::false_accuser, std::nullopt});
    scene.chain->run(3 * kBlocks);
    ASSERT_EQ(scene.chain->disputes.size(), 3u);
    for (const auto& dispute : scene.chain->disputes) {
        EXPECT_EQ(dispute.verifier, 0u);
        EXPECT_EQ(dispute.game.loser, Side::challenger);
    }
}

TEST(Agents, AForgedInitialStateIsChallengedAndCannotBeDefended) {
    Scene scene(solver::honest_runners(), {std::nullopt});
    // The cheater puts a forged state 0 into its store before it starts, and trains from it.
    kernels::State forged = scene.task.initial();
    forged.tensors[0].data[0] ^= 1;
    const auto commitment = kernels::commit_state(scene.task.train.root(), forged, scene.task.pool);
    ASSERT_TRUE(scene.solver.store->save({5, 0, 0}, commitment, forged).has_value());
    ASSERT_TRUE(scene.solver.store->retain({5, 0, 0}, true).has_value());
    scene.chain->run(kBlocks);
    ASSERT_EQ(scene.chain->initial_challenges.size(), 1u);
    ASSERT_EQ(scene.chain->disputes.size(), 1u);
    Game game = scene.chain->disputes[0].game;
    EXPECT_EQ(game.phase, Phase::open_state);  // No output of its initialiser opens the forged root.
    expire(game);
    EXPECT_EQ(game.loser, Side::solver);
}

TEST(Agents, ACopierCommitsWhatItCannotOpen) {
    Scene scene(solver::honest_runners(), {std::nullopt, VerifierAttack::copier});
    scene.chain->run(kBlocks);
    ASSERT_FALSE(scene.chain->audits.empty());
    const auto& seats = scene.chain->audits[0].seats;
    EXPECT_EQ(seats.at(0).commitment, seats.at(1).commitment);
    EXPECT_TRUE(seats.at(0).revealed.has_value());
    EXPECT_FALSE(seats.at(1).revealed.has_value());
}

TEST(Agents, AVerifierThatNeverRevealsStallsOnlyItself) {
    Scene scene(solver::honest_runners(), {VerifierAttack::never_reveals, std::nullopt});
    scene.chain->run(kBlocks);
    ASSERT_FALSE(scene.chain->audits.empty());
    EXPECT_FALSE(scene.chain->audits[0].seats.at(0).revealed.has_value());
    EXPECT_TRUE(scene.chain->audits[0].seats.at(1).revealed.has_value());
}

TEST(Agents, ASilentSolverStopsHalfWay) {
    Scene scene(solver::honest_runners(), {std::nullopt});
    solver::Unresponsive silence;
    scene.chain->solver_filter = [&](auto& moves, const auto& view) { silence.filter(view, moves); };
    scene.chain->run(kBlocks);
    EXPECT_EQ(scene.chain->commitments.size(), 2u);
}

TEST(Agents, ARestartedSolverGoesOnWithTheSameCommitments) {
    Scene plain(solver::honest_runners(), {std::nullopt});
    plain.chain->run(kBlocks);
    Scene scene(solver::honest_runners(), {std::nullopt});
    for (int i = 0; i < 40; ++i) {
        scene.chain->run(1 + static_cast<std::size_t>(i) % 5);
        // The source refers to the old store's address, so the store is replaced in place.
        scene.solver.agent.reset();
        scene.solver.disputes.reset();
        scene.solver.dispute_replays.reset();
        solver::SolverConfig config;
        config.secret.bytes[0] = 100;
        scene.solver.agent =
            std::make_unique<solver::SolverAgent>(config, *scene.solver.task_cache, *scene.solver.store);
        const auto none = [](const DisputeView&) { return Result<kernels::State>(error("no dispute is expected")); };
        scene.solver.dispute_replays = std::make_unique<DisputeReplays>(*scene.solver.task_cache, none);
        scene.solver.disputes =
            std::make_unique<DisputeAgent>(10, *scene.solver.dispute_replays, &scene.solver.agent->slot());
    }
    EXPECT_EQ(scene.chain->commitments, plain.chain->commitments);
    ASSERT_EQ(scene.chain->audits.size(), 3u);
    EXPECT_EQ(scene.chain->audits[2].end, plain.chain->audits[2].end);
}

TEST(Agents, ASolverThatLostItsCheckpointsComputesThemAgain) {
    Scene scene(solver::honest_runners(), {});
    scene.chain->run(30);
    ASSERT_EQ(scene.chain->commitments.size(), 4u);
    const Hash32 root = scene.solver.store->commitment({5, 0, 2})->root;
    ASSERT_TRUE(scene.solver.store->forget(5, 0).has_value());
    const auto state = scene.solver.agent->state_of(scene.task.terms, 0, 0, {}, 2);
    ASSERT_TRUE(state.has_value()) << state.error().message;
    EXPECT_EQ(kernels::commit_state(scene.task.train.root(), *state, scene.task.pool).root, root);
}

TEST(Agents, ATaskWhoseDataAreNotToBeHadIsDeclined) {
    Scene scene(solver::honest_runners(), {});
    scene.task.source.tensors.erase(scene.task.terms.data_roots[0]);
    scene.chain->run(10);
    EXPECT_TRUE(scene.chain->declined);
    EXPECT_FALSE(scene.chain->accepted);
    EXPECT_FALSE(scene.solver.agent->take_problems().empty());
}

TEST(Agents, WithheldTilesAreReportedAndTheAnswerProvesThem) {
    Scene scene(solver::honest_runners(), {std::nullopt});
    scene.source.withhold = true;
    scene.chain->run(60);
    ASSERT_FALSE(scene.chain->reports.empty());
    EXPECT_EQ(scene.chain->reports[0].kind, solver::ReportKind::state);
    EXPECT_EQ(scene.chain->reports[0].index, 0u);
    ASSERT_EQ(scene.chain->answers.count(0), 1u);
    const auto answer = solver::decode_tile_answer(scene.chain->answers[0]);
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(solver::verify_state_tile(*answer, scene.task.train.root(), *scene.chain->audits[0].start,
                                          scene.chain->reports[0].tensor, 0)
                    .has_value());
}

TEST(Beacon, LinksAreFoundFromAnyHeadOfTheChain) {
    TinyTask task;
    VerifierParty party(task, task.source, 9, std::nullopt);
    auto& agent = dynamic_cast<VerifierAgent&>(*party.agent);
    for (const std::uint64_t chain : {0u, 2u}) {
        VerifierParty fresh(task, task.source, 9, std::nullopt);
        auto& other = dynamic_cast<VerifierAgent&>(*fresh.agent);
        Hash32 head = other.beacon().beacon_head(chain);
        for (int i = 0; i < 100; ++i) {
            const auto before = other.beacon().before(head);
            ASSERT_TRUE(before.has_value()) << i;
            EXPECT_EQ(solver::beacon_link(*before), head);
            head = *before;
        }
        EXPECT_FALSE(other.beacon().before(head).has_value());
    }
    EXPECT_FALSE(agent.beacon().before({}).has_value());
    VerifierView view;
    view.height = 1;
    view.beacon = {true, agent.beacon().beacon_head(0)};
    const auto out = agent.on_view(view);
    ASSERT_EQ(out.moves.size(), 1u);
    EXPECT_EQ(solver::beacon_link(std::get<RevealBeacon>(out.moves[0]).preimage), view.beacon.head);
}

}  // namespace
}  // namespace retrace::test
