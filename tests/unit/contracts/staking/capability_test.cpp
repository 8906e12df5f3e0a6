// SPDX-License-Identifier: MIT
// Capability challenges on the ledger: from the registration to a score, or to a failure.
#include "market/capability.hpp"

#include "contracts/records/explain_bids.hpp"
#include "contracts/records/store.hpp"
#include "solver/capability/bench.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::ChallengeState;

class CapabilityTest : public MarketTest {
protected:
    static market::Params quick_params() {
        market::Params p = small_params();
        p.capability_blocks = 6;
        p.capability_rest_blocks = 40;
        p.capability_bp = 0;
        p.capability_draws = 3;
        return p;
    }
    CapabilityTest() { begin(quick_params()); }

    market::SolverInfo info(std::string_view name = "alice") const { return views::solver(state, party(name)).value(); }
    market::Challenge challenge(std::string_view name = "alice") const {
        return views::challenge(state, info(name).challenge).value();
    }
    bool waits_for(ChallengeState wanted, std::string_view name = "alice") {
        return static_cast<bool>(advance_until([&] { return challenge(name).state == wanted; }, 40));
    }
    CallStatus answer(std::string_view name, std::uint64_t rounds = 5) {
        const auto now = challenge(name);
        const auto claim = bench.run(now.id, now.seed, rounds, never);
        return send(name, AnswerCapability{now.id, claim.rounds, claim.root});
    }
    Bytes proof(std::string_view name = "alice") {
        const auto now = challenge(name);
        return bench.prove(now.id, now.seed, now.rounds,
                           solver::capability_draws(now.draw_beacon, now.id, now.rounds,
                                                    static_cast<std::uint32_t>(params.capability_draws)));
    }
    CallStatus prove(std::string_view name = "alice") {
        return send(name, ProveCapability{challenge(name).id, proof(name)});
    }
    void measure(std::string_view name, std::uint64_t rounds = 5) {
        ASSERT_TRUE(waits_for(ChallengeState::running, name));
        ASSERT_EQ(answer(name, rounds), CallStatus::ok);
        ASSERT_TRUE(waits_for(ChallengeState::proving, name));
        ASSERT_EQ(prove(name), CallStatus::ok) << last.revert_reason;
    }

    /// Fills the list of solvers with parties that have `coins` bonded each.
    void fill_solvers(std::uint64_t coins) {
        auto listed = views::solvers(state);
        for (std::size_t i = 0; listed.size() < market::kSolversMax; ++i) {
            listed.push_back(party("solver " + std::to_string(i)));
            store(state, keys::solver(listed.back()), market::SolverInfo{});
            store(state, keys::stake(listed.back()), market::Stake{U256(coins) * kCoin, 0, 0, 0});
        }
        std::sort(listed.begin(), listed.end());
        store_list(state, keys::solvers(), listed);
    }
    bool is_listed(std::string_view name) const {
        const auto listed = views::solvers(state);
        return std::binary_search(listed.begin(), listed.end(), party(name));
    }

    kernels::ThreadPool pool{1};
    solver::HonestBench bench{pool};
    std::atomic<bool> never = false;
};

TEST_F(CapabilityTest, ARegistrationIsMeasured) {
    add_solver("alice");
    EXPECT_EQ(challenge().state, ChallengeState::waiting);
    const std::uint64_t opened = height;
    ASSERT_TRUE(waits_for(ChallengeState::running));
    EXPECT_EQ(challenge().seed_height, (views::epoch_of(params, opened) + 2) * params.epoch_blocks);
    EXPECT_EQ(challenge().seed, solver::capability_seed(views::beacon(state)->value, challenge().id));
    advance(4);
    ASSERT_EQ(answer("alice"), CallStatus::ok);
    const std::uint64_t answered = height;
    ASSERT_TRUE(waits_for(ChallengeState::proving));
    EXPECT_EQ(height, (views::epoch_of(params, answered) + 2) * params.epoch_blocks);
    ASSERT_EQ(prove(), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(info().capability, 5 * solver::kCapabilityRoundCost / 4);
    EXPECT_EQ(info().capability_height, height);
    EXPECT_EQ(challenge().state, ChallengeState::proved);
    ASSERT_EQ(all<CapabilityMeasured>().size(), 1u);
    EXPECT_EQ(all<CapabilityMeasured>()[0].score, info().capability);
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin);
    advance(params.answer_blocks + params.capability_blocks + 10);
    EXPECT_EQ(info().capability, 5 * solver::kCapabilityRoundCost / 4) << "nothing is left scheduled";
}

TEST_F(CapabilityTest, WhoIsDownLosesTheScoreAndNoStake) {
    add_solver("alice");
    measure("alice");
    advance(params.capability_rest_blocks);
    ASSERT_EQ(send("alice", RegisterSolver{"http://elsewhere", 1}), CallStatus::ok);
    ASSERT_TRUE(waits_for(ChallengeState::running));
    EXPECT_NE(info().capability, 0u) << "the old score counts until the new one is there";
    ASSERT_TRUE(waits_for(ChallengeState::unanswered));
    EXPECT_EQ(info().capability, 0u);
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin);
    EXPECT_TRUE(all<Slashed>().empty());
    EXPECT_EQ(answer("alice"), CallStatus::wrong_challenge_state) << "late";
}

TEST_F(CapabilityTest, AClaimThatIsNotProvedCostsThePenalty) {
    add_solver("alice");
    ASSERT_TRUE(waits_for(ChallengeState::running));
    const auto claim = bench.run(1, challenge().seed, 4, never);
    ASSERT_EQ(send("alice", AnswerCapability{1, 8 * claim.rounds, claim.root}), CallStatus::ok);
    ASSERT_TRUE(waits_for(ChallengeState::proving));
    EXPECT_EQ(prove(), CallStatus::wrong_capability_proof);
    ASSERT_TRUE(waits_for(ChallengeState::unproved));
    EXPECT_EQ(info().capability, 0u);
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin - params.capability_penalty);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].reason, "capability_unproved");
    EXPECT_EQ(prove(), CallStatus::wrong_challenge_state);
}

TEST_F(CapabilityTest, EachMoveHasItsTimeAndItsSender) {
    add_solver("alice");
    add_solver("bob");
    EXPECT_EQ(send("alice", AnswerCapability{1, 5, word("root")}), CallStatus::wrong_challenge_state) << "no seed yet";
    ASSERT_TRUE(waits_for(ChallengeState::running));
    EXPECT_EQ(send("bob", AnswerCapability{1, 5, word("root")}), CallStatus::not_challenged);
    EXPECT_EQ(send("alice", AnswerCapability{9, 5, word("root")}), CallStatus::unknown_challenge);
    EXPECT_EQ(send("alice", AnswerCapability{1, 0, word("root")}), CallStatus::rounds_out_of_range);
    EXPECT_EQ(send("alice", AnswerCapability{1, solver::kCapabilityRoundsMax + 1, word("root")}),
              CallStatus::rounds_out_of_range);
    EXPECT_EQ(send("alice", AnswerCapability{1, 5, {}}), CallStatus::commitment_zero);
    ASSERT_EQ(answer("alice"), CallStatus::ok);
    EXPECT_EQ(answer("alice"), CallStatus::wrong_challenge_state) << "answered already";
    EXPECT_EQ(send("alice", ProveCapability{1, {0}}), CallStatus::wrong_challenge_state) << "nothing is drawn yet";
    ASSERT_TRUE(waits_for(ChallengeState::proving));
    const Bytes right = proof();
    EXPECT_EQ(send("bob", ProveCapability{1, right}), CallStatus::not_challenged);
    EXPECT_EQ(send("alice", ProveCapability{2, right}), CallStatus::not_challenged) << "bob's";
    EXPECT_EQ(send("alice", ProveCapability{1, Bytes(3, 7)}), CallStatus::bad_capability_proof);
    EXPECT_EQ(send("alice", ProveCapability{1, {0}}), CallStatus::wrong_capability_proof);
    EXPECT_EQ(send("alice", ProveCapability{1, right}), CallStatus::ok);
    EXPECT_EQ(send("alice", ProveCapability{1, right}), CallStatus::wrong_challenge_state) << "proved already";
}

TEST_F(CapabilityTest, TheLastHeightOfAWindowCounts) {
    add_solver("alice");
    ASSERT_TRUE(waits_for(ChallengeState::running));
    while (height < challenge().deadline) next_block();
    ASSERT_EQ(answer("alice"), CallStatus::ok);
    ASSERT_TRUE(waits_for(ChallengeState::proving));
    while (height < challenge().deadline) next_block();
    EXPECT_EQ(prove(), CallStatus::ok);
}

TEST_F(CapabilityTest, RegisteringAgainIsNoSecondThrow) {
    add_solver("alice");
    const std::uint64_t first = info().challenge;
    ASSERT_EQ(send("alice", RegisterSolver{"http://two", 1}), CallStatus::ok);
    EXPECT_EQ(info().challenge, first) << "one is open";
    measure("alice", 2);
    const std::uint64_t score = info().capability;
    ASSERT_EQ(send("alice", RegisterSolver{"http://three", 1}), CallStatus::ok);
    EXPECT_EQ(info().challenge, first) << "the last was not long ago";
    EXPECT_EQ(info().capability, score);
    advance(params.capability_rest_blocks);
    ASSERT_EQ(send("alice", RegisterSolver{"http://four", 1}), CallStatus::ok);
    EXPECT_NE(info().challenge, first);
    EXPECT_FALSE(views::challenge(state, first).has_value()) << "one record for each solver";
}

TEST_F(CapabilityTest, BeaconsChallengeIdleSolversAtRandom) {
    market::Params often = quick_params();
    often.capability_bp = 9'999;
    begin(often);
    add_solver("alice");
    measure("alice");
    const std::uint64_t before = info().challenge;
    advance(params.capability_rest_blocks + params.epoch_blocks);
    EXPECT_NE(info().challenge, before);
}

TEST_F(CapabilityTest, WhoRunsATaskIsLeftInPeace) {
    market::Params often = quick_params();
    often.capability_bp = 9'999;
    often.checkpoint_blocks = 300;
    begin(often);
    start_run();
    const std::uint64_t alice = info("alice").challenge, bob = info("bob").challenge;
    advance(params.capability_rest_blocks + 2 * params.epoch_blocks);
    EXPECT_EQ(info("alice").challenge, alice);
    EXPECT_NE(info("bob").challenge, bob);
}

TEST_F(CapabilityTest, AFullListOfSolversStopsNoBid) {
    fill_solvers(100);
    add_solver("alice", 100);
    EXPECT_FALSE(is_listed("alice")) << "equal stake displaces nobody";
    EXPECT_EQ(views::solvers(state).size(), market::kSolversMax);
    EXPECT_EQ(info().challenge, 0u) << "who is not listed is not measured";
    post();
    EXPECT_EQ(commit_bid("alice", 400), CallStatus::ok);
    while (height < task().bid_end) next_block();
    EXPECT_EQ(reveal_bid("alice", 400), CallStatus::ok);
    while (height < task().reveal_end) next_block();
    EXPECT_EQ(run().solver, party("alice"));
    remove_from_list(state, keys::solvers(), party("solver 0"));
    ASSERT_EQ(send("alice", RegisterSolver{"http://s", 0}), CallStatus::ok);
    EXPECT_TRUE(is_listed("alice")) << "a later registration finds a place";
    EXPECT_NE(info().challenge, 0u);
}

TEST_F(CapabilityTest, WithMoreStakeASolverTakesAPlaceInTheFullList) {
    add_solver("bob", 50);
    measure("bob");
    ASSERT_NE(info("bob").capability, 0u);
    fill_solvers(100);
    add_solver("alice", 51);
    EXPECT_TRUE(is_listed("alice"));
    EXPECT_FALSE(is_listed("bob"));
    EXPECT_EQ(info("bob").capability, 0u) << "it can be challenged no more";
    EXPECT_EQ(views::solvers(state).size(), market::kSolversMax);
    ASSERT_EQ(send("alice", RegisterSolver{"http://again", 0}), CallStatus::ok);
    EXPECT_EQ(views::solvers(state).size(), market::kSolversMax) << "it displaces nobody again";
    measure("alice");
    EXPECT_NE(info().capability, 0u);
}

TEST_F(CapabilityTest, WhoIsDisplacedDuringAChallengeGetsNoScore) {
    add_solver("bob", 50);
    ASSERT_TRUE(waits_for(ChallengeState::running, "bob"));
    ASSERT_EQ(answer("bob"), CallStatus::ok);
    fill_solvers(100);
    add_solver("alice", 51);
    ASSERT_FALSE(is_listed("bob"));
    ASSERT_TRUE(waits_for(ChallengeState::proving, "bob"));
    ASSERT_EQ(prove("bob"), CallStatus::ok) << "its challenge goes on";
    EXPECT_EQ(info("bob").capability, 0u);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(CapabilityTest, WhoTakesItsStakeBackHasNoScore) {
    add_solver("alice");
    measure("alice");
    ASSERT_EQ(send("alice", BeginUnbond{U256(100) * kCoin}), CallStatus::ok);
    EXPECT_EQ(info().capability, 0u);
    EXPECT_TRUE(views::solvers(state).empty());
}

TEST_F(CapabilityTest, AScoreIsNotKeptByLeavingDuringAChallenge) {
    add_solver("alice");
    ASSERT_TRUE(waits_for(ChallengeState::running));
    ASSERT_EQ(answer("alice"), CallStatus::ok);
    ASSERT_EQ(send("alice", BeginUnbond{U256(100) * kCoin}), CallStatus::ok);
    ASSERT_TRUE(waits_for(ChallengeState::proving));
    ASSERT_EQ(prove(), CallStatus::ok);
    EXPECT_EQ(info().capability, 0u);
}

TEST_F(CapabilityTest, AMachineThatCannotKeepItsPromiseIsSetAsideByName) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) {
        add_solver(name);
        measure(name, 4);
        advance(2);
    }
    TaskSpec heavy = small_spec();
    // At the measured capability the task takes five times the 900 blocks that the bids promise; four times would not
    // be enough for this test.
    heavy.step_cost = info().capability * 900 / heavy.steps * 5;
    post(heavy);
    ASSERT_EQ(commit_bid("alice", 400), CallStatus::ok);
    while (height < task().bid_end) next_block();
    ASSERT_EQ(reveal_bid("alice", 400), CallStatus::ok);
    const auto told = views::explain_bids(state, 1, false).value();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].outcome, views::BidOutcome::unfit);
    EXPECT_EQ(told[0].measured, "proved");
    EXPECT_EQ(told[0].capability, info().capability);
    const U256 balance = state.account(party("alice")).balance;
    while (height < task().reveal_end) next_block();
    EXPECT_EQ(task().state, market::TaskState::expired) << "nobody who can";
    EXPECT_EQ(state.account(party("alice")).balance, balance + params.bid_deposit) << "the deposit returns";
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
}

TEST_F(CapabilityTest, ExplanationsNameAMissingMeasurement) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    measure("alice", 4);
    ASSERT_TRUE(waits_for(ChallengeState::unanswered, "bob"));
    post();
    for (const auto& [name, price] : {std::pair{"alice", 500}, {"bob", 400}})
        ASSERT_EQ(commit_bid(name, U256(static_cast<std::uint64_t>(price))), CallStatus::ok);
    while (height < task().bid_end) next_block();
    for (const auto& [name, price] : {std::pair{"alice", 500}, {"bob", 400}})
        ASSERT_EQ(reveal_bid(name, U256(static_cast<std::uint64_t>(price))), CallStatus::ok);
    const auto told = views::explain_bids(state, 1, false).value();
    EXPECT_EQ(told[0].bidder, party("alice")) << "400 counts as 600";
    EXPECT_EQ(told[1].measured, "unanswered");
    EXPECT_NE(told[1].why.find("not measured (unanswered)"), std::string::npos) << told[1].why;
}

/// Market 4.2: the cheapest of three loses to machines that are alike to it, or to machines that are not.
TEST_F(CapabilityTest, ExplanationsSayWhetherAnotherSpeedOrATieKeepsTheCheapestOut) {
    market::TaskSpec spec = small_spec();
    spec.replicas = 2;
    const auto why_not = [&](std::uint64_t speed) {
        begin(quick_params());
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        post(spec);
        const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> speeds_and_prices = {
            {"alice", {speed, 10}}, {"bob", {120, 100}}, {"carol", {150, 110}}};
        for (const auto& [name, terms] : speeds_and_prices) {
            add_solver(name);
            market::SolverInfo measured = info(name);
            measured.capability = terms.first;
            store(state, keys::solver(party(name)), measured);
            EXPECT_EQ(commit_bid(name, U256(terms.second)), CallStatus::ok) << last.revert_reason;
        }
        while (height < task().bid_end) next_block();
        for (const auto& [name, terms] : speeds_and_prices)
            EXPECT_EQ(reveal_bid(name, U256(terms.second)), CallStatus::ok) << last.revert_reason;
        const auto told = views::explain_bids(state, 1, false).value();
        EXPECT_EQ(told.size(), 3u);
        EXPECT_EQ(told[0].bidder, party("alice"));
        EXPECT_EQ(told[0].outcome, views::BidOutcome::apart);
        EXPECT_EQ(told[1].score, told[2].score) << "120 of 150 weighs 11,000";
        return told[0].why;
    };
    EXPECT_THAT(why_not(90), ::testing::HasSubstr("and a set of faster machines has the same highest score"));
    EXPECT_THAT(why_not(50), ::testing::HasSubstr("and this one is unlike the winners'"));
}

TEST_F(CapabilityTest, TheProofFitsATransactionAndItsGasFollowsFromItsBytes) {
    add_solver("alice");
    ASSERT_TRUE(waits_for(ChallengeState::running));
    ASSERT_EQ(answer("alice", 40), CallStatus::ok);
    ASSERT_TRUE(waits_for(ChallengeState::proving));
    const Bytes data = calldata(ProveCapability{1, proof()});
    EXPECT_LT(data.size(), 32u * 1024) << "three draws";
    EXPECT_EQ(send_raw(party("alice"), address_of(Contract::staking), data), CallStatus::ok);
    EXPECT_EQ(last.gas_used, 30'000u + 120'000u + 8 * data.size());
}

}  // namespace
}  // namespace retrace::contracts
