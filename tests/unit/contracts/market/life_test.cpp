// SPDX-License-Identifier: MIT
// Complete lives of tasks.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class Life : public MarketTest {};

TEST_F(Life, AnHonestRunIsAuditedPaidAndSettled) {
    start_run();
    const U256 before = ledger::balance_of(state, party("alice"));
    play("alice");
    ASSERT_EQ(run().state, RunState::delivering);
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(run().earned, U256(4 * 700)) << "the second price for each of four segments";
    EXPECT_EQ(ledger::balance_of(state, party("alice")), before + U256(4 * 700));
    const U256 requester = ledger::balance_of(state, party("requester"));
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::settled);
    EXPECT_EQ(run().state, RunState::settled);
    EXPECT_GT(ledger::balance_of(state, party("requester")), requester) << "unused escrow returns";
    EXPECT_EQ(views::stake(state, party("alice")).locked, U256(0));
    EXPECT_EQ(views::solver(state, party("alice"))->reputation.settled, 1u);
    EXPECT_TRUE(views::active_tasks(state).empty());
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(Life, DeliveryEndsByItself) {
    start_run();
    play("alice");
    advance(params.deliver_blocks + 1);
    EXPECT_EQ(task().state, TaskState::settled);
}

TEST_F(Life, ASolverThatLosesItsClockIsConvictedAndReplacedFromTheLastPaidSegment) {
    start_run();
    wrong_from = 4;  // the last segment, which is always audited
    play("alice");
    // The auditors' reveals differ: disputes are open, alice does not move, and her clock runs out.
    ASSERT_EQ(run().state, RunState::forfeited);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].party, party("alice"));
    const market::Conviction parts =
        market::conviction(slashed[0].amount, market::audit_fee(params, small_spec()), params);
    EXPECT_EQ(slashed[0].to_others, parts.share + parts.costs);
    EXPECT_EQ(parts.share, slashed[0].amount / U256(5));
    EXPECT_EQ(task().state, TaskState::bidding);
    EXPECT_EQ(task().first_state, run().paid);
    EXPECT_GE(task().first_state, 1u) << "the first segment was verified and its end is kept";
    EXPECT_EQ(task().resume_root, root(task().first_state));
    EXPECT_EQ(commit_bid("alice", 100), CallStatus::excluded);
    const std::uint64_t paid = run().paid;

    wrong_from = ~std::uint64_t{0};
    auction({{"bob", 500}});
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    play("bob", 1);
    EXPECT_EQ(run(1).state, RunState::delivering);
    EXPECT_EQ(run(1).first_state, paid);
    EXPECT_EQ(run(1).paid, 4u);
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(all<Slashed>().size(), 1u) << "nobody else lost anything";
}

TEST_F(Life, ASilentSolverIsReplaced) {
    start_run();
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    advance(params.checkpoint_blocks + 1);
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(task().state, TaskState::bidding);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].reason, "not_checkpointed");
    EXPECT_EQ(slashed[0].amount, market::split(*market::stake_floor(params, small_spec()), 1'000).share);
    auction({{"bob", 500}});
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    play("bob", 1);
    EXPECT_EQ(run(1).state, RunState::delivering);
}

TEST_F(Life, AFalseAccuserLosesItsBondAndTheSolverNothing) {
    start_run();
    // The auditors of one segment are drawn; one of them lies.
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice");
    const std::string liar = name_of(views::audit(state, 1)->seats[0].auditor);
    liars.insert(liar);
    for (int i = 0; i < 6 && all<DisputeOpened>().empty(); ++i) {
        serve("alice");
        check_audits();
        next_block();
    }
    ASSERT_EQ(all<DisputeOpened>().size(), 1u);
    // alice posts roots; the liar never answers.
    auto game = views::game(state, 1).value();
    const auto positions = verifier::search_positions(game.search);
    verifier::PostHashes post;
    for (const std::uint64_t at : positions) post.hashes.push_back(word("step " + std::to_string(at)));
    ASSERT_EQ(send("alice", PlayMove{1, verifier::encode(verifier::Move{post})}), CallStatus::ok) << last.revert_reason;
    liars.erase(liar);
    play("alice");
    EXPECT_EQ(run().state, RunState::delivering);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].party, party(liar));
    EXPECT_EQ(slashed[0].amount, params.audit_bond);
    EXPECT_EQ(slashed[0].to_others, params.audit_bond / U256(2));
    EXPECT_EQ(slashed[0].reason, "false_accusation");
}

TEST_F(Life, AuditorsThatAreSilentAreReplacedBeforeAnythingIsRevealed) {
    start_run();
    lazy = {"v1"};
    play("alice");
    EXPECT_EQ(run().state, RunState::delivering);
    for (const Slashed& event : all<Slashed>()) {
        EXPECT_EQ(event.party, party("v1"));
        EXPECT_EQ(event.reason, "verdict_missed");
    }
}

TEST_F(Life, HiddenVerdictsCostTheWholeBond) {
    start_run();
    hiding = {"v1", "v2"};
    play("alice");
    const auto slashed = all<Slashed>();
    ASSERT_FALSE(slashed.empty());
    for (const Slashed& event : slashed) EXPECT_EQ(event.amount, params.audit_bond);
    EXPECT_EQ(slashed[0].reason, "verdict_hidden");
}

TEST_F(Life, WithoutVerifiersATaskStillEnds) {
    add_solver("alice");
    post();
    auction({{"alice", 400}});
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    play("alice");
    EXPECT_EQ(run().state, RunState::left);
    EXPECT_TRUE(run().earned.is_zero());
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
}

TEST_F(Life, ATaskThatNobodyBidsForExpiresAndReturnsItsEscrow) {
    const U256 before = ledger::balance_of(state, party("requester"));
    post();
    advance(params.bid_blocks + params.reveal_blocks + 1);
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(ledger::balance_of(state, party("requester")), before);
}

TEST_F(Life, AWrongFirstStateLosesTheStakeAtOnce) {
    start_run();
    wrong_from = 0;
    play("alice");
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(all<Slashed>().at(0).reason, "wrong_initial");
    EXPECT_EQ(all<Slashed>().at(0).to_others, U256(0));
}

TEST_F(Life, NotOpeningADrawnSegmentCostsTheWholeLock) {
    start_run();
    const U256 locked = run().locked;
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    advance(25);
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(all<Slashed>().at(0).amount, locked);
}

}  // namespace
}  // namespace retrace::contracts
