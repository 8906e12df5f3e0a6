// SPDX-License-Identifier: MIT
// What a requester adds to an open task. SPEC 12.10.
#include "contracts/records/auctions.hpp"
#include "contracts/records/places.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class TopUp : public MarketTest {
protected:
    static inline const U256 kCeiling = small_spec().price_ceiling, kRaised = kCeiling * U256(2);

    U256 ceiling() const { return views::spec(state, 1)->price_ceiling; }
    U256 balance(std::string_view name) const { return state.account(party(name)).balance; }
    /// What the requester brings to raise the ceiling of all segments from `first` on.
    U256 price(const U256& to = kRaised, std::uint64_t first = 0) const {
        return market::escrow_of_top_up(small_spec(), params, first, to).total();
    }
    CallStatus top_up(const U256& to, std::uint32_t auctions, const U256& value) {
        return send("requester", TopUpTask{1, to, auctions}, value);
    }
    void end_auction() {
        const std::uint64_t close = task().reveal_end;
        while (height < close) next_block();
    }
};

TEST_F(TopUp, AnotherAuctionWithAHigherCeilingFollowsOneWithoutBids) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    const U256 before = balance("requester");
    post();
    ASSERT_EQ(top_up(kRaised, 1, price()), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(ceiling(), kCeiling) << "of the auction that is open";
    end_auction();
    EXPECT_EQ(task().state, TaskState::bidding);
    EXPECT_EQ(task().round, 2u);
    EXPECT_EQ(ceiling(), kRaised);
    auction({{"alice", (kRaised - U256(1)).limbs()[0]}});
    ASSERT_EQ(run().price, kRaised) << "without a loser the ceiling is paid";
    EXPECT_EQ(run().locked, market::stake_floor(params, *views::spec(state, 1)));
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    play_all();
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(run().earned, kRaised * U256(4));
    U256 fees;
    for (const AuditPaid& paid : all<AuditPaid>()) fees += paid.amount;
    EXPECT_EQ(balance("requester"), before - run().earned - fees) << "the rest of the escrow is back";
}

TEST_F(TopUp, AfterThoseThatWereAskedForTheTaskExpiresAndAllReturns) {
    const U256 before = balance("requester");
    post();
    ASSERT_EQ(top_up(kRaised, 1, price()), CallStatus::ok);
    ASSERT_EQ(top_up(kRaised, 1, U256(5)), CallStatus::ok) << "more auctions cost gas only";
    EXPECT_EQ(views::next_auction(state, 1), (market::NextAuction{kRaised, 2}));
    for (std::uint32_t round = 1; round <= 3; ++round) {
        ASSERT_EQ(task().state, TaskState::bidding);
        EXPECT_EQ(task().round, round);
        end_auction();
    }
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(balance("requester"), before);
    EXPECT_FALSE(views::next_auction(state, 1));
    EXPECT_FALSE(views::auctions(state, 1));
    EXPECT_EQ(top_up(kRaised, 1, price()), CallStatus::wrong_task_state);
}

/// A ceiling that rises between a bid's commitment and its opening would change what was sealed, and what it locks.
TEST_F(TopUp, TheOpenAuctionKeepsItsTerms) {
    add_solver("alice");
    add_solver("bob");
    post();
    ASSERT_EQ(commit_bid("alice", 700), CallStatus::ok);
    ASSERT_EQ(commit_bid("bob", kRaised), CallStatus::ok);
    const U256 locked = views::bid(state, 1, party("alice"))->locked;
    ASSERT_EQ(top_up(kRaised, 4, price()), CallStatus::ok);
    advance(params.bid_blocks);
    EXPECT_EQ(reveal_bid("bob", kRaised), CallStatus::price_over_ceiling);
    ASSERT_EQ(reveal_bid("alice", 700), CallStatus::ok);
    end_auction();
    EXPECT_EQ(run().price, kCeiling);
    EXPECT_EQ(run().locked, locked);
    EXPECT_EQ(ceiling(), kCeiling) << "also of the run";
}

TEST_F(TopUp, ASuccessorsAuctionHasTheHigherCeilingForTheSegmentsThatAreLeft) {
    start_run();
    for (int i = 0; i < 200 && run().paid < 1; ++i) {
        if (run().next_state <= 3) {
            ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        check_audits();
        next_block();
    }
    ASSERT_GE(run().paid, 1u);
    ASSERT_EQ(top_up(kRaised, 1, price()), CallStatus::ok) << "no segment of the task counts as paid while it runs";
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; })) << "alice commits nothing more";
    ASSERT_EQ(task().state, TaskState::bidding);
    EXPECT_EQ(ceiling(), kRaised);
    const std::uint64_t first = task().first_state;
    ASSERT_GE(first, 1u);
    const U256 higher = kRaised * U256(2);
    EXPECT_EQ(top_up(higher, 0, market::escrow_of_top_up(*views::spec(state, 1), params, first, higher).total()),
              CallStatus::ok);
    end_auction();
    EXPECT_EQ(task().round, 3u) << "nobody bid, and the auction that was asked for follows";
    EXPECT_EQ(ceiling(), higher);
    auction({{"bob", 900}});
    EXPECT_EQ(run(1).first_state, first);
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    play_all();
    EXPECT_EQ(task().state, TaskState::delivering);
}

TEST_F(TopUp, NoTaskHasMoreAuctionsThanTheChainAllows) {
    auto few = params;
    few.rounds = 3;
    begin(few);
    post();
    EXPECT_EQ(top_up(kRaised, 3, price()), CallStatus::rounds_used_up);
    ASSERT_EQ(top_up(kRaised, 1, price()), CallStatus::ok);
    EXPECT_EQ(top_up(kRaised, 2, U256()), CallStatus::rounds_used_up);
    EXPECT_EQ(top_up(kRaised, 5, U256()), CallStatus::rounds_used_up);
    ASSERT_EQ(top_up(kRaised, 1, U256()), CallStatus::ok);
}

TEST_F(TopUp, Refusals) {
    EXPECT_EQ(top_up(U256::max(), 1, U256()), CallStatus::price_too_high);
    EXPECT_EQ(top_up(kRaised, 1, price()), CallStatus::unknown_task);
    post();
    EXPECT_EQ(send("bob", TopUpTask{1, kRaised, 1}, price()), CallStatus::not_requester);
    EXPECT_EQ(top_up(kCeiling - U256(1), 1, U256()), CallStatus::price_under_ceiling);
    EXPECT_EQ(top_up(kRaised, 1, price() - U256(1)), CallStatus::wrong_value);
    ASSERT_EQ(top_up(kRaised, 1, price()), CallStatus::ok);
    EXPECT_EQ(top_up(kCeiling, 1, U256()), CallStatus::price_under_ceiling) << "below that of the next auction";
    ASSERT_EQ(send("requester", CancelTask{1}), CallStatus::ok);
    EXPECT_EQ(top_up(kRaised, 1, price()), CallStatus::wrong_task_state);
}

TEST_F(TopUp, MoreThanTheEscrowReturnsOrLengthensThePlace) {
    post();
    const U256 before = balance("requester");
    ASSERT_EQ(top_up(kRaised, 0, price() + U256(7)), CallStatus::ok);
    EXPECT_EQ(balance("requester"), before - price());
    EXPECT_EQ(all<EscrowReturned>().back().amount, 7);
    books_are_damaged = true;  // The place's deposit was not brought by anybody.
    store(state, keys::place(1), market::Place{U256(3), U256(300)});
    ASSERT_EQ(top_up(kRaised, 0, U256(9)), CallStatus::ok);
    EXPECT_EQ(views::place(state, 1)->deposit, 309);
}

}  // namespace
}  // namespace retrace::contracts
