// SPDX-License-Identifier: MIT
// SPEC 8.3 to 8.5: a record is damaged directly, so that an invariant breaks during a call or a block.
#include "contracts/records/store.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::TaskState;

class BrokenRules : public MarketTest {
protected:
    BrokenRules() { books_are_damaged = true; }

    Bytes slot(const keys::Key& key) const { return state.slot(address_of(key.contract), key.bytes); }
    void damage(const keys::Key& key, Bytes value = {}) {
        state.set_slot(address_of(key.contract), key.bytes, std::move(value));
    }
    /// Returns the number of violations reported since the last call.
    std::size_t reported() { return std::exchange(broken, {}).size(); }
};

TEST_F(BrokenRules, ATransactionIsUndoneAndSaysSo) {
    post();
    damage(keys::held(Contract::market));
    EXPECT_EQ(send("requester", CancelTask{1}), CallStatus::rules_broken);
    EXPECT_EQ(last.gas_used, executor.gas_of(address_of(Contract::market), calldata(CancelTask{1})));
    EXPECT_EQ(task().state, TaskState::bidding) << "another call may work";
    EXPECT_EQ(reported(), 1u);
}

TEST_F(BrokenRules, AScheduledItemFreezesItsTaskAndNoOther) {
    add_solver("alice");
    post();
    post();
    for (const std::uint64_t id : {1, 2}) ASSERT_EQ(commit_bid("alice", 400, id), CallStatus::ok);
    advance(3);
    for (const std::uint64_t id : {1, 2}) ASSERT_EQ(reveal_bid("alice", 400, id), CallStatus::ok);
    const keys::Key bid = keys::bid(1, party("alice"));
    const Bytes kept = slot(bid);
    damage(bid);
    advance(5);
    EXPECT_EQ(task(1).state, TaskState::frozen);
    EXPECT_EQ(task(2).state, TaskState::assigned);
    EXPECT_EQ(reported(), 1u);
    EXPECT_EQ(send("requester", CancelTask{1}), CallStatus::task_frozen);
    EXPECT_EQ(send("bob", CommitBid{1, word("bid")}, params.bid_deposit), CallStatus::task_frozen);

    // The record is repaired, as a new version of the program would do. Locked and deposited coins are returned
    // automatically.
    damage(bid, kept);
    books_are_damaged = false;
    const U256 before = ledger::balance_of(state, party("requester")), escrow = task(1).escrow + task(1).audit_budget;
    advance(params.unbond_blocks);
    EXPECT_EQ(task(1).state, TaskState::released);
    EXPECT_GE(ledger::balance_of(state, party("requester")), before + escrow);
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
    EXPECT_EQ(ledger::balance_of(state, party("alice")), U256(900) * kCoin) << "the deposit is back";
}

TEST_F(BrokenRules, ARunThatCannotBePaidIsFrozenAndItsLockReturns) {
    books_are_damaged = false;
    start_run();
    books_are_damaged = true;
    const keys::Key book = keys::held(Contract::market);
    const Bytes kept = slot(book);
    damage(book);
    for (int i = 0; i < 200 && task().state == TaskState::running; ++i) play("alice", 0, 1, 1);
    EXPECT_EQ(task().state, TaskState::frozen);
    EXPECT_GE(reported(), 1u);
    EXPECT_FALSE(run().locked.is_zero());
    EXPECT_EQ(checkpoint("alice", run().next_state), CallStatus::task_frozen);
    // Meanwhile auditors of another task are drawn, and the beacon continues.
    const auto epoch = views::beacon(state)->epoch;
    damage(book, kept);
    advance(params.unbond_blocks + 2);
    EXPECT_GT(views::beacon(state)->epoch, epoch);
    EXPECT_EQ(task().state, TaskState::released);
    EXPECT_TRUE(task().active.empty());
    for (const char* name : {"alice", "v1", "v2", "v3"})
        EXPECT_TRUE(views::stake(state, party(name)).locked.is_zero()) << name;
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin);
}

TEST_F(BrokenRules, AReleaseThatBreaksIsTriedAgainLater) {
    add_solver("alice");
    post();
    ASSERT_EQ(commit_bid("alice", 400), CallStatus::ok);
    const keys::Key bid = keys::bid(1, party("alice"));
    const Bytes kept = slot(bid);
    damage(bid);
    advance(6 + params.unbond_blocks);
    EXPECT_EQ(task().state, TaskState::frozen);
    EXPECT_EQ(reported(), 2u);
    damage(bid, kept);
    advance(params.unbond_blocks);
    EXPECT_EQ(task().state, TaskState::released);
    EXPECT_EQ(reported(), 0u);
}

TEST_F(BrokenRules, AnAuditThatCannotBeSeatedLeavesTheQueue) {
    books_are_damaged = false;
    start_run();
    books_are_damaged = true;
    for (std::uint64_t i = 0; i < 2; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        return views::audit_count(state) == 1 && views::audit(state, 1)->phase == market::AuditPhase::drawing;
    }));
    // A run of the task is missing, so the auditors' pool cannot exclude the task's solvers.
    auto damaged = task();
    damaged.active.push_back(7);
    store(state, keys::task(1), damaged);
    advance(3 * params.epoch_blocks);
    EXPECT_EQ(task().state, TaskState::frozen);
    EXPECT_GE(reported(), 1u);
    damaged.active.pop_back();
    damaged.state = TaskState::frozen;
    store(state, keys::task(1), damaged);
    const std::uint64_t next = post();
    auction({{"bob", 400}}, next);
    ASSERT_EQ(send("bob", AcceptData{next}), CallStatus::ok);
    play("bob", 0, next);
    EXPECT_EQ(task(next).state, TaskState::delivering) << "whose audits stood behind it in the queue";
}

TEST_F(BrokenRules, ABeaconThatCannotBeMixedStopsNoBlock) {
    add_verifier("v1");
    advance(2 * params.epoch_blocks);
    const auto epoch = views::beacon(state)->epoch;
    const keys::Key record = keys::verifier(party("v1"));
    const Bytes kept = slot(record);
    damage(record);
    advance(params.epoch_blocks);
    EXPECT_EQ(views::beacon(state)->epoch, epoch);
    EXPECT_GE(reported(), 1u);
    damage(record, kept);
    advance(params.epoch_blocks);
    EXPECT_GT(views::beacon(state)->epoch, epoch);
}

}  // namespace
}  // namespace retrace::contracts
