// SPDX-License-Identifier: MIT
// The auctions of a task's terms, whose ceiling may rise while nobody wins. SPEC 12.12.
#include "contracts/records/auctions.hpp"

#include "contracts/calls/gas.hpp"
#include "contracts/rules/market/rules.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class AuctionsOfATask : public MarketTest {
protected:
    static inline const U256 kFirst = small_spec().price_ceiling, kLast = kFirst * U256(2);

    static TaskSpec rising(std::uint8_t auctions = 3) {
        TaskSpec spec = small_spec();
        spec.auctions = auctions;
        spec.last_ceiling = kLast;
        return spec;
    }
    U256 ceiling() const { return views::spec(state, 1)->price_ceiling; }
    U256 balance(std::string_view name) const { return state.account(party(name)).balance; }
    market::NextAuction next() const { return views::next_auction(state, 1).value(); }
    CallStatus try_post(const TaskSpec& spec) {
        const auto escrow = market::escrow_of(spec, params);
        return send("requester", PostTask{spec}, escrow ? escrow->total() : U256());
    }
    void end_auction() {
        const std::uint64_t close = task().reveal_end;
        while (height < close) next_block();
    }
    /// alice runs the task up to one paid segment and commits nothing more.
    void lose_run() {
        for (int i = 0; i < 200 && run().paid < 1; ++i) {
            if (run().next_state <= 3) {
                ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
            }
            serve("alice");
            check_audits();
            next_block();
        }
        ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    }
};

TEST_F(AuctionsOfATask, TheCeilingRisesByTheTermsWhileNobodyWins) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    const U256 before = balance("requester");
    ASSERT_EQ(try_post(rising()), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(task().escrow, kLast * U256(4)) << "the last ceiling is paid from the start";
    const U256 middle = kFirst + kFirst / U256(2);
    EXPECT_EQ(ceiling(), kFirst);
    EXPECT_EQ(next(), (market::NextAuction{middle, 2}));
    end_auction();
    EXPECT_EQ(task().round, 2u);
    EXPECT_EQ(ceiling(), middle);
    EXPECT_EQ(next(), (market::NextAuction{kLast, 1}));
    end_auction();
    EXPECT_EQ(ceiling(), kLast);
    EXPECT_EQ(next(), (market::NextAuction{kLast, 0})) << "no other follows";
    auction({{"alice", 5}});
    ASSERT_EQ(run().price, kLast) << "without a loser the ceiling is paid";
    EXPECT_EQ(run().locked, market::stake_floor(params, *views::spec(state, 1)));
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    play_all();
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    U256 fees;
    for (const AuditPaid& paid : all<AuditPaid>()) fees += paid.amount;
    EXPECT_EQ(balance("requester"), before - kLast * U256(4) - fees);
}

TEST_F(AuctionsOfATask, WhatAnEarlierAuctionDoesNotNeedReturns) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    const U256 before = balance("requester");
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    auction({{"alice", 5}});
    ASSERT_EQ(run().price, kFirst);
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    play_all();
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    U256 fees;
    for (const AuditPaid& paid : all<AuditPaid>()) {
        EXPECT_EQ(paid.amount, market::audit_fee(params, small_spec())) << "that of the ceiling that counts";
        fees += paid.amount;
    }
    EXPECT_EQ(balance("requester"), before - kFirst * U256(4) - fees);
}

TEST_F(AuctionsOfATask, AfterTheLastOneTheTaskExpiresAndAllReturns) {
    const U256 before = balance("requester");
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    for (std::uint32_t round = 1; round <= 3; ++round) {
        ASSERT_EQ(task().state, TaskState::bidding);
        EXPECT_EQ(task().round, round);
        end_auction();
    }
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(balance("requester"), before);
    EXPECT_FALSE(views::auctions(state, 1));
    EXPECT_FALSE(views::next_auction(state, 1));
}

/// Who wins and declines, which costs nothing, must not raise the price for its other accounts.
TEST_F(AuctionsOfATask, OnlyAnAuctionWithoutWinnersRaisesTheCeiling) {
    for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    for (const char* name : {"alice", "bob", "carol"}) {
        auction({{name, 5}});
        ASSERT_EQ(task().state, TaskState::assigned);
        EXPECT_EQ(next(), (market::NextAuction{kFirst, 2}));
        ASSERT_EQ(send(name, DeclineTask{1}), CallStatus::ok);
        EXPECT_EQ(task().state, TaskState::bidding);
        EXPECT_EQ(ceiling(), kFirst);
    }
    end_auction();
    EXPECT_EQ(ceiling(), kFirst + kFirst / U256(2)) << "now nobody bid";
}

/// A bid that is not opened is lost, and with it the auction, at the price of its deposit.
TEST_F(AuctionsOfATask, ASealedBidThatIsNotOpenedRaisesItToo) {
    add_solver("alice");
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    ASSERT_EQ(commit_bid("alice", 5), CallStatus::ok);
    end_auction();
    ASSERT_EQ(all<BidForfeited>().size(), 1u);
    EXPECT_EQ(ceiling(), kFirst + kFirst / U256(2));
    EXPECT_EQ(views::stake(state, party("alice")).locked, U256());
}

TEST_F(AuctionsOfATask, ASuccessorsAuctionGoesOnAtTheCeilingThatWasReached) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    end_auction();
    const U256 middle = kFirst + kFirst / U256(2);
    auction({{"alice", 5}});
    ASSERT_EQ(run().price, middle);
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    lose_run();
    ASSERT_EQ(task().state, TaskState::bidding);
    EXPECT_EQ(ceiling(), middle);
    EXPECT_EQ(next(), (market::NextAuction{kLast, 1}));
    end_auction();
    EXPECT_EQ(ceiling(), kLast) << "nobody bid for the rest";
    auction({{"bob", 5}});
    EXPECT_EQ(run(1).first_state, task().first_state);
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    play_all();
    EXPECT_EQ(task().state, TaskState::delivering) << "the escrow covers the rest at the last ceiling";
}

TEST_F(AuctionsOfATask, ATopUpIsTheLeastCeilingOfTheNextOnes) {
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    const U256 middle = kFirst + kFirst / U256(2), little = kFirst + U256(7);
    ASSERT_EQ(send("requester", TopUpTask{1, little, 0}), CallStatus::ok) << "the escrow covers it already";
    EXPECT_EQ(next(), (market::NextAuction{middle, 2})) << "the curve is above it";
    EXPECT_EQ(send("requester", TopUpTask{1, kFirst, 0}), CallStatus::price_under_ceiling);
    const U256 high = kLast * U256(2);
    const auto price = [&](const U256& from, const U256& to) {
        TaskSpec spec = small_spec();
        spec.price_ceiling = from;
        return market::escrow_of_top_up(spec, params, 0, to).total();
    };
    EXPECT_EQ(send("requester", TopUpTask{1, high, 1}, price(kLast, high) - U256(1)), CallStatus::wrong_value);
    ASSERT_EQ(send("requester", TopUpTask{1, high, 1}, price(kLast, high)), CallStatus::ok)
        << "what it brings is counted from the last ceiling";
    EXPECT_EQ(task().escrow, high * U256(4));
    EXPECT_EQ(ceiling(), kFirst) << "of the open auction";
    for (std::uint32_t round = 2; round <= 4; ++round) {
        end_auction();
        EXPECT_EQ(task().round, round);
        EXPECT_EQ(ceiling(), high);
    }
    end_auction();
    EXPECT_EQ(task().state, TaskState::expired);
}

TEST_F(AuctionsOfATask, APauseIsKeptBeforeOnesThatFollowOneWithoutWinners) {
    for (const char* name : {"alice", "bob"}) add_solver(name);
    TaskSpec spec = rising();
    spec.pause_blocks = 1'000'000'001;
    EXPECT_EQ(try_post(spec), CallStatus::duration_out_of_range);
    spec.pause_blocks = 100;
    const U256 before = balance("requester");
    ASSERT_EQ(try_post(spec), CallStatus::ok);
    const std::uint64_t first_end = task().reveal_end;
    EXPECT_EQ(task().bid_end, height + params.bid_blocks) << "the first one begins at once";
    end_auction();
    EXPECT_EQ(task().bid_end, first_end + 100 + params.bid_blocks);
    EXPECT_EQ(views::bids_begin(params, task()), first_end + 100);
    EXPECT_EQ(ceiling(), kFirst + kFirst / U256(2)) << "that of the next one is known";
    while (height < first_end + 99) {
        ASSERT_EQ(commit_bid("alice", 5), CallStatus::too_early) << height;
        next_block();
    }
    next_block();
    EXPECT_EQ(views::stake(state, party("alice")).locked, U256()) << "no stake is locked in a pause";
    auction({{"alice", 5}, {"bob", 7}});
    ASSERT_EQ(run().price, 7);
    ASSERT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
    EXPECT_EQ(task().bid_end, height + params.bid_blocks) << "a successor is looked for at once";
    end_auction();
    EXPECT_EQ(ceiling(), kLast);
    ASSERT_LT(height, views::bids_begin(params, task()));
    ASSERT_EQ(send("requester", CancelTask{1}), CallStatus::ok) << "in the pause";
    EXPECT_EQ(balance("requester"), before);
}

TEST_F(AuctionsOfATask, WithAPauseTheLastAuctionEndsAtTheDeadlineOfTheTerms) {
    TaskSpec spec = rising(4);
    spec.pause_blocks = 50;
    ASSERT_EQ(try_post(spec), CallStatus::ok);
    const std::uint64_t posted = height, each = params.bid_blocks + params.reveal_blocks;
    ASSERT_TRUE(advance_until([&] { return market::is_final(task().state); }));
    EXPECT_EQ(height, posted + 4 * each + 3 * 50);
}

/// A sequence that begins low and ends high must leave each auction's terms alone while bids are sealed.
TEST_F(AuctionsOfATask, ABidIsHeldToTheCeilingOfItsAuction) {
    add_solver("alice");
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    const U256 middle = kFirst + kFirst / U256(2);
    ASSERT_EQ(commit_bid("alice", middle), CallStatus::ok);
    advance(params.bid_blocks);
    EXPECT_EQ(reveal_bid("alice", middle), CallStatus::price_over_ceiling);
    end_auction();
    ASSERT_EQ(commit_bid("alice", middle), CallStatus::ok);
    advance(params.bid_blocks);
    EXPECT_EQ(reveal_bid("alice", middle), CallStatus::ok);
}

TEST_F(AuctionsOfATask, AuctionsForReplicasAreNoneOfThem) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    ASSERT_EQ(try_post(rising()), CallStatus::ok);
    auction({{"alice", 5}});
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    const U256 more = market::escrow_of_more(small_spec(), params, 0, 1).total();
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, more), CallStatus::ok) << "at the ceiling of the run";
    EXPECT_EQ(task().round, 2u);
    end_auction();
    EXPECT_EQ(next(), (market::NextAuction{kFirst, 2})) << "nobody joined, and nothing was used up";
    EXPECT_EQ(ceiling(), kFirst);
}

TEST_F(AuctionsOfATask, ABrokenReservationGoesOnWithThem) {
    for (const char* name : {"alice", "bob"}) add_solver(name);
    const U256 deposit = kCoin / U256(1'000);
    const TaskSpec spec = rising();
    ASSERT_EQ(send("requester", Reserve{spec, party("alice"), kFirst + U256(1), height + 10, height + 30}, deposit),
              CallStatus::price_over_ceiling)
        << "the first one";
    ASSERT_EQ(send("requester", Reserve{spec, party("alice"), kFirst, height + 10, height + 30}, deposit),
              CallStatus::ok);
    ASSERT_EQ(send("alice", AcceptReservation{1}), CallStatus::ok);
    advance(10);
    ASSERT_EQ(send("requester", BeginReserved{1}, market::escrow_of(spec, params)->total()), CallStatus::ok);
    EXPECT_EQ(task().escrow, kLast * U256(4));
    ASSERT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
    EXPECT_EQ(task().round, 1u);
    EXPECT_EQ(ceiling(), kFirst);
    end_auction();
    EXPECT_EQ(ceiling(), kFirst + kFirst / U256(2));
    auction({{"bob", 5}});
    EXPECT_EQ(run(1).price, kFirst + kFirst / U256(2));
}

TEST_F(AuctionsOfATask, NoTaskHasMoreThanTheChainAllows) {
    auto few = params;
    few.rounds = 2;
    begin(few);
    EXPECT_EQ(try_post(rising(3)), CallStatus::auctions_out_of_range);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    ASSERT_EQ(try_post(rising(2)), CallStatus::ok);
    auction({{"alice", 5}});
    ASSERT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
    end_auction();
    EXPECT_EQ(task().state, TaskState::expired) << "one was used up by a solver that declined";
}

TEST_F(AuctionsOfATask, EachIsPaidForByTheCall) {
    const std::uint64_t one = extra_gas(PostTask{small_spec()});
    EXPECT_EQ(extra_gas(PostTask{rising(3)}), one + 2 * kGasScheduledItem);
    EXPECT_EQ(extra_gas(PostTask{rising(64)}), one + 63 * kGasScheduledItem);
    EXPECT_EQ(extra_gas(PostTask{rising(255)}), one + 63 * kGasScheduledItem) << "more are refused";
    EXPECT_EQ(extra_gas(PostTask{rising(0)}), one);
    EXPECT_EQ(extra_gas(Reserve{rising(3), {}, {}, 0, 0}), kGasPost + 2 * kGasScheduledItem);
    EXPECT_EQ(extra_gas(PostGroup{rising(3), {}}), extra_gas(PostGroup{small_spec(), {}}) + 2 * kGasScheduledItem);
}

TEST_F(AuctionsOfATask, Refusals) {
    const auto posted = [&](const auto& change) {
        TaskSpec spec = rising();
        change(spec);
        return try_post(spec);
    };
    EXPECT_EQ(posted([](TaskSpec& s) { s.last_ceiling = kFirst - U256(1); }), CallStatus::price_under_ceiling);
    EXPECT_EQ(posted([](TaskSpec& s) { s.last_ceiling = U256::max(); }), CallStatus::price_too_high);
    EXPECT_EQ(posted([](TaskSpec& s) { s.auctions = 0; }), CallStatus::auctions_out_of_range);
    EXPECT_EQ(posted([](TaskSpec& s) { s.auctions = 1; }), CallStatus::auctions_out_of_range) << "it rises to nothing";
    EXPECT_EQ(check(PostTask{rising(65)}), CallStatus::auctions_out_of_range);
    EXPECT_EQ(send("requester", PostTask{rising()}, market::escrow_of(small_spec(), params)->total()),
              CallStatus::wrong_value)
        << "the escrow covers the last ceiling";
    EXPECT_EQ(views::task_count(state), 0u);
    EXPECT_EQ(posted([](TaskSpec& s) { s.auctions = 1, s.last_ceiling = kFirst; }), CallStatus::ok);
    EXPECT_EQ(posted([](TaskSpec& s) { s.last_ceiling = {}; }), CallStatus::ok);
    EXPECT_FALSE(views::auctions(state, 1)) << "one auction needs no record";
    EXPECT_EQ(views::auctions(state, 2)->left, 2u);
}

}  // namespace
}  // namespace retrace::contracts
