// SPDX-License-Identifier: MIT
// What a requester pays that takes back a task for which others have locked stake. SPEC 12.2.
#include "market/places.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::TaskState;

class Cancel : public MarketTest {
protected:
    U256 balance(std::string_view name) const { return state.account(party(name)).balance; }
    U256 locked(std::string_view name) const { return views::stake(state, party(name)).locked; }
    CallStatus cancel() { return send("requester", CancelTask{1}); }
};

TEST_F(Cancel, BurnsAThousandthOfTheStakeThatBidsLock) {
    add_solver("alice");
    add_solver("bob");
    const U256 requester = balance("requester"), alice = balance("alice"), burned = ledger::burned(state);
    post();
    ASSERT_EQ(commit_bid("alice", 5), CallStatus::ok);
    ASSERT_EQ(commit_bid("bob", 6), CallStatus::ok);
    const U256 fee = market::cancel_fee(locked("alice") + locked("bob"));
    EXPECT_EQ(fee * U256(1'000), market::stake_floor(params, small_spec()).value() * U256(2));
    ASSERT_EQ(cancel(), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(ledger::burned(state), burned + fee);
    EXPECT_EQ(balance("requester"), requester - fee) << "the rest of the escrow is back";
    EXPECT_EQ(balance("alice"), alice);
    EXPECT_EQ(locked("alice"), U256());
    ASSERT_EQ(all<PlacePaid>().size(), 1u);
    EXPECT_EQ(all<PlacePaid>()[0].party, party("requester"));
    EXPECT_EQ(all<PlacePaid>()[0].amount, fee);
}

TEST_F(Cancel, IsFreeWhereNobodyHasBid) {
    const U256 requester = balance("requester");
    post();
    advance(params.bid_blocks);
    ASSERT_GE(height, task().bid_end);
    ASSERT_EQ(cancel(), CallStatus::ok) << "there is no price to read";
    EXPECT_EQ(balance("requester"), requester);
}

/// Who reads the prices and takes the task back could post it again at the lowest one.
TEST_F(Cancel, IsRefusedOnceBidsCanBeRevealed) {
    add_solver("alice");
    post();
    ASSERT_EQ(commit_bid("alice", 5), CallStatus::ok);
    while (height < task().bid_end) next_block();
    EXPECT_EQ(cancel(), CallStatus::too_late) << "alice may reveal in this block";
    ASSERT_EQ(reveal_bid("alice", 5), CallStatus::ok);
    EXPECT_EQ(cancel(), CallStatus::too_late);
    while (task().state == TaskState::bidding) next_block();
    EXPECT_EQ(cancel(), CallStatus::wrong_task_state);
    ASSERT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
    EXPECT_EQ(cancel(), CallStatus::ok) << "nobody has bid in the auction after it";
}

TEST_F(Cancel, BurnsNoMoreThanTheEscrowOfTheWork) {
    TaskSpec spec = small_spec();
    spec.steps = spec.interval;  // One segment.
    const U256 requester = balance("requester");
    post(spec);
    for (std::size_t i = 0; i < market::kBiddersMax / 2; ++i) {
        const std::string name = "bidder " + std::to_string(i);
        ASSERT_TRUE(ledger::mint(state, party(name), U256(1'000) * kCoin));
        parties.push_back(party(name));
        add_solver(name);
        ASSERT_EQ(send(name, CommitBid{1, word(name)}, params.bid_deposit), CallStatus::ok) << last.revert_reason;
    }
    ASSERT_EQ(cancel(), CallStatus::ok);
    EXPECT_EQ(balance("requester"), requester - spec.price_ceiling);
}

}  // namespace
}  // namespace retrace::contracts
