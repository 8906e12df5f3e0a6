// SPDX-License-Identifier: MIT
// A solver's time at a future height. SPEC 12.11.
#include "contracts/records/reservations.hpp"

#include "contracts/calls/gas.hpp"
#include "contracts/lifecycle/isolate.hpp"
#include "contracts/records/standing.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::ReservationState;
using market::RunState;
using market::TaskState;

class Reservations : public MarketTest {
protected:
    static inline const U256 kPrice = U256(600), kDeposit = kCoin / U256(1'000);

    Reservations() {
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob"}) add_solver(name);
        advance(9);
    }
    U256 balance(std::string_view name) const { return state.account(party(name)).balance; }
    U256 locked(std::string_view name) const { return views::stake(state, party(name)).locked; }
    U256 floor() const { return *market::stake_floor(params, small_spec()); }
    market::Reservation reservation() const { return views::reservation(state, 1).value(); }
    CallStatus reserve(const U256& deposit = kDeposit) {
        return send("requester", Reserve{small_spec(), party("alice"), kPrice, height + 10, height + 30}, deposit);
    }
    CallStatus begin_task() {
        return send("requester", BeginReserved{1}, market::escrow_of(small_spec(), params)->total());
    }
    void accepted() {
        ASSERT_EQ(reserve(), CallStatus::ok) << last.revert_reason;
        ASSERT_EQ(send("alice", AcceptReservation{1}), CallStatus::ok) << last.revert_reason;
    }
    void begun() {
        accepted();
        while (height < reservation().from) next_block();
        ASSERT_EQ(begin_task(), CallStatus::ok) << last.revert_reason;
    }
};

TEST_F(Reservations, TheTaskBeginsWithoutAnAuctionAndTheDepositReturns) {
    const U256 before = balance("requester");
    accepted();
    const std::uint64_t offered = reservation().offered_height;
    EXPECT_EQ(offered, height);
    EXPECT_EQ(locked("alice"), floor());
    EXPECT_EQ(begin_task(), CallStatus::too_early);
    while (height < reservation().from) next_block();
    ASSERT_EQ(begin_task(), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(task().state, TaskState::assigned);
    EXPECT_EQ(run().solver, party("alice"));
    EXPECT_EQ(run().price, kPrice);
    EXPECT_EQ(run().locked, floor());
    EXPECT_EQ(locked("alice"), floor()) << "once";
    EXPECT_EQ(reservation().state, ReservationState::begun);
    EXPECT_EQ(reservation().task, 1u);
    EXPECT_EQ(reservation().offered_height, offered) << "when the deposit was paid";
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    EXPECT_EQ(reservation().state, ReservationState::honoured);
    EXPECT_EQ(views::reservation_of_task(state, 1)->deposit, kDeposit) << "what it was can be told later";
    play_all();
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(run().earned, kPrice * U256(4));
    EXPECT_EQ(locked("alice"), U256());
    U256 fees;
    for (const AuditPaid& paid : all<AuditPaid>()) fees += paid.amount;
    EXPECT_EQ(balance("requester"), before - run().earned - fees);
}

TEST_F(Reservations, OneThatIsNotUsedPaysTheSolver) {
    const U256 requester = balance("requester"), alice = balance("alice");
    accepted();
    const std::uint64_t until = reservation().until;
    ASSERT_TRUE(advance_until([&] { return reservation().state == ReservationState::unused; }));
    EXPECT_EQ(height, until);
    EXPECT_EQ(balance("requester"), requester - kDeposit);
    EXPECT_EQ(balance("alice"), alice + kDeposit);
    ASSERT_EQ(all<ReservationPaid>().size(), 1u);
    EXPECT_EQ(all<ReservationPaid>()[0].solver, party("alice"));
    EXPECT_EQ(all<ReservationPaid>()[0].amount, kDeposit);
    EXPECT_EQ(locked("alice"), U256());
    EXPECT_EQ(begin_task(), CallStatus::wrong_reservation_state);
    EXPECT_TRUE(views::reservations(state, party("alice")).empty());
    EXPECT_TRUE(views::reservations(state, party("requester")).empty());
}

/// Who was at fault cannot be proved, so neither side earns by it.
TEST_F(Reservations, OneThatIsNotHonouredCostsBothAndTheTaskGoesOn) {
    for (const bool declines : {true, false}) {
        SCOPED_TRACE(declines);
        begin(small_params());
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob"}) add_solver(name);
        advance(9);
        note_verified(state, party("alice"), U256(8) * kCoin, height);
        const U256 burned = ledger::burned(state), alice = balance("alice");
        begun();
        if (declines) {
            ASSERT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
        } else {
            advance(params.accept_blocks + 1);
        }
        EXPECT_EQ(reservation().state, ReservationState::broken);
        EXPECT_EQ(run().state, declines ? RunState::left : RunState::forfeited);
        EXPECT_EQ(ledger::burned(state), burned + kDeposit + kDeposit);
        EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin - kDeposit);
        EXPECT_EQ(locked("alice"), U256());
        EXPECT_EQ(balance("alice"), alice);
        EXPECT_EQ(views::solver(state, party("alice"))->reputation.silences, declines ? 0u : 1u)
            << "a requester that serves no data spoils no record";
        EXPECT_EQ(views::standing(state, party("alice")).verified, declines ? U256(8) * kCoin : U256(4) * kCoin);
        EXPECT_EQ(task().state, TaskState::bidding);
        EXPECT_EQ(commit_bid("alice", 5), CallStatus::excluded);
        auction({{"bob", 700}});
        EXPECT_EQ(run(1).solver, party("bob"));
    }
}

/// 8.5, 12.11.25: nobody is at fault, and nobody is said to have taken the task.
TEST_F(Reservations, OneWhoseTaskIsFrozenIsReleasedWithIt) {
    const U256 before = balance("requester"), alice = balance("alice");
    begun();
    const std::uint64_t deadline = run().deadline;
    ASSERT_GT(deadline, height);
    Effects fx{state, params, height, {}};
    freeze_task(fx, 1);
    EXPECT_EQ(send("alice", AcceptData{1}), CallStatus::task_frozen);
    EXPECT_EQ(send("alice", DeclineTask{1}), CallStatus::task_frozen);
    advance(params.accept_blocks + 1);
    ASSERT_GT(height, deadline);
    EXPECT_EQ(reservation().state, ReservationState::begun) << "a missed acceptance breaks nothing";
    EXPECT_EQ(locked("alice"), floor());
    ASSERT_TRUE(advance_until([&] { return task().state == TaskState::released; }, params.unbond_blocks + 2));
    EXPECT_EQ(reservation().state, ReservationState::released);
    EXPECT_EQ(all<ReservationChanged>().back().state, static_cast<std::uint8_t>(ReservationState::released));
    EXPECT_EQ(balance("requester"), before);
    EXPECT_EQ(balance("alice"), alice);
    EXPECT_EQ(locked("alice"), U256());
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin);
    EXPECT_EQ(views::solver(state, party("alice"))->reputation.silences, 0u);
}

TEST_F(Reservations, AnOfferThatIsNotAcceptedReturnsWhenItIsTakenBack) {
    const U256 before = balance("requester");
    ASSERT_EQ(reserve(), CallStatus::ok);
    EXPECT_EQ(locked("alice"), U256()) << "an offer holds nobody's time or stake";
    const std::uint64_t from = reservation().from;
    while (height < from) next_block();
    EXPECT_EQ(send("alice", AcceptReservation{1}), CallStatus::too_late);
    EXPECT_EQ(reservation().state, ReservationState::offered);
    ASSERT_EQ(send("requester", WithdrawReservation{1}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(reservation().state, ReservationState::lapsed);
    EXPECT_TRUE(views::reservations(state, party("requester")).empty());
    EXPECT_EQ(balance("requester"), before);
    EXPECT_EQ(send("alice", AcceptReservation{1}), CallStatus::wrong_reservation_state);
}

TEST_F(Reservations, AnOfferThatIsWithdrawnReturnsAtOnceAndOneThatIsAcceptedStays) {
    const U256 before = balance("requester");
    EXPECT_EQ(send("requester", WithdrawReservation{1}), CallStatus::unknown_reservation);
    ASSERT_EQ(reserve(), CallStatus::ok);
    EXPECT_EQ(send("alice", WithdrawReservation{1}), CallStatus::not_requester);
    ASSERT_EQ(send("requester", WithdrawReservation{1}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(reservation().state, ReservationState::withdrawn);
    EXPECT_EQ(balance("requester"), before);
    EXPECT_TRUE(views::reservations(state, party("requester")).empty()) << "it takes no place any more";
    EXPECT_FALSE(views::reserved_spec(state, 1));
    EXPECT_EQ(all<ReservationChanged>().back().state, static_cast<std::uint8_t>(ReservationState::withdrawn));
    EXPECT_EQ(send("requester", WithdrawReservation{1}), CallStatus::wrong_reservation_state) << "once";
    EXPECT_EQ(send("alice", AcceptReservation{1}), CallStatus::wrong_reservation_state);
    advance(40);  // The heights that the offer named come, and nothing is left to do then.
    EXPECT_EQ(reservation().state, ReservationState::withdrawn);
    EXPECT_EQ(balance("requester"), before);

    ASSERT_EQ(reserve(), CallStatus::ok);
    ASSERT_EQ(send("alice", AcceptReservation{2}), CallStatus::ok);
    EXPECT_EQ(send("requester", WithdrawReservation{2}), CallStatus::wrong_reservation_state)
        << "the solver's stake waits for it";
    EXPECT_EQ(balance("requester"), before - kDeposit);
}

/// 12.11.28: one account would otherwise delay all that is due at a height.
TEST_F(Reservations, OffersWriteNothingIntoTheScheduler) {
    const std::uint64_t from = height + 10, until = height + 30;
    const auto due = [&](std::uint64_t at) { return counter(state, keys::due_count(at)); };
    const std::uint64_t at_from = due(from), at_until = due(until);
    for (std::uint64_t id = 1; id <= 20; ++id) {
        ASSERT_EQ(send("requester", Reserve{small_spec(), party("alice"), kPrice, from, until}, kDeposit),
                  CallStatus::ok);
        ASSERT_EQ(send("requester", WithdrawReservation{id}), CallStatus::ok);
    }
    ASSERT_EQ(send("requester", Reserve{small_spec(), party("alice"), kPrice, from, until}, kDeposit), CallStatus::ok);
    EXPECT_EQ(due(from), at_from);
    EXPECT_EQ(due(until), at_until);
    ASSERT_EQ(send("alice", AcceptReservation{21}), CallStatus::ok);
    EXPECT_EQ(due(until), at_until + 1);
    EXPECT_GE(last.gas_used, kGasScheduledItem) << "it is paid for";
}

TEST_F(Reservations, OffersOfStrangersFillNobodysList) {
    for (std::uint64_t i = 0; i < 16; ++i) ASSERT_EQ(reserve(), CallStatus::ok);
    EXPECT_EQ(reserve(), CallStatus::too_many_open);
    EXPECT_TRUE(views::reservations(state, party("alice")).empty());
    ASSERT_EQ(send("alice", AcceptReservation{16}), CallStatus::ok);
    EXPECT_EQ(views::reservations(state, party("alice")), (std::vector<std::uint64_t>{16}));
}

/// 12.11.29: one that is accepted becomes a run, so it counts with the runs and the bids of its solver.
TEST_F(Reservations, AnAcceptedOneCountsAmongTheWorkOfItsSolver) {
    ASSERT_EQ(reserve(), CallStatus::ok);
    ASSERT_EQ(reserve(), CallStatus::ok);
    const std::uint64_t task = post();
    books_are_damaged = true;
    store(state, keys::open_bids(party("alice")), Counter{market::kOpenItemsMax - 1});
    ASSERT_EQ(send("alice", AcceptReservation{1}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(send("alice", AcceptReservation{2}), CallStatus::too_many_open);
    EXPECT_EQ(send("alice", CommitBid{task, word("bid")}, params.bid_deposit), CallStatus::too_many_open);
    EXPECT_EQ(send("requester", Reserve{small_spec(), party("bob"), kPrice, height + 10, height + 30}, kDeposit),
              CallStatus::ok)
        << "what a requester has offered holds none of its own work";
    EXPECT_EQ(views::open_work(state, party("requester")), 0u);
}

/// Three reservations of one owner end at one height, each in another way and in all orders: accepted and not begun,
/// declined one block before, or begun so that the acceptance is missed at that height. A reservation is worth its deposit
/// in each order, and nothing stays locked or listed.
class ReservationsOfOneHeight : public Reservations {
protected:
    enum class Way : std::uint8_t { left, declined, missed };
    static constexpr std::size_t kCount = 3;

    void play_ways(const std::array<Way, kCount>& ways, const std::array<std::uint64_t, kCount>& accepts,
                   bool begins_backwards) {
        begin(small_params());
        add_solver("alice");
        const U256 requester = balance("requester"), alice = balance("alice"), burned = ledger::burned(state);
        const std::uint64_t from = height + 2, until = from + params.accept_blocks + 2;
        for (std::size_t i = 0; i < kCount; ++i)
            ASSERT_EQ(send("requester", Reserve{small_spec(), party("alice"), kPrice, from, until}, kDeposit),
                      CallStatus::ok);
        for (const std::uint64_t id : accepts) ASSERT_EQ(send("alice", AcceptReservation{id}), CallStatus::ok);
        while (height + params.accept_blocks + 1 < until)
            next_block();  // An acceptance is missed a block after its deadline.
        for (std::uint64_t n = 1; n <= kCount; ++n) {
            const std::uint64_t id = begins_backwards ? kCount + 1 - n : n;
            if (ways[id - 1] == Way::left) continue;
            ASSERT_EQ(send("requester", BeginReserved{id}, market::escrow_of(small_spec(), params)->total()),
                      CallStatus::ok);
            ASSERT_EQ(run(0, views::reservation(state, id)->task).deadline, until - 1);
        }
        while (height + 1 < until) next_block();
        for (std::uint64_t id = 1; id <= kCount; ++id)
            if (ways[id - 1] == Way::declined) {
                ASSERT_EQ(send("alice", DeclineTask{views::reservation(state, id)->task}), CallStatus::ok);
            }
        next_block();
        std::uint64_t unused = 0;
        for (std::uint64_t id = 1; id <= kCount; ++id) {
            const bool left = ways[id - 1] == Way::left;
            unused += left;
            EXPECT_EQ(views::reservation(state, id)->state, left ? ReservationState::unused : ReservationState::broken);
        }
        for (std::uint64_t task = 1; task <= views::task_count(state); ++task)
            ASSERT_EQ(send("requester", CancelTask{task}), CallStatus::ok);
        const U256 broken(kCount - unused);
        EXPECT_EQ(balance("requester"), requester - kDeposit * U256(kCount));
        EXPECT_EQ(balance("alice"), alice + kDeposit * U256(unused));
        EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin - kDeposit * broken);
        EXPECT_EQ(ledger::burned(state), burned + kDeposit * broken * U256(2));
        EXPECT_EQ(locked("alice"), U256());
        for (const char* name : {"alice", "requester"})
            EXPECT_TRUE(views::reservations(state, party(name)).empty()) << name;
        EXPECT_EQ(views::open_work(state, party("alice")), 0u);
        EXPECT_EQ(counter(state, keys::due_count(until)), 0u);
    }
};

TEST_F(ReservationsOfOneHeight, EndEachInItsWayWhateverTheOrderOfTheCalls) {
    for (std::size_t game = 0; game < 27; ++game) {
        const std::array ways{Way(game % 3), Way(game / 3 % 3), Way(game / 9)};
        std::array<std::uint64_t, kCount> accepts{1, 2, 3};
        do {
            for (const bool backwards : {false, true}) {
                SCOPED_TRACE(testing::Message() << "ways " << game << ", accepted " << accepts[0] << accepts[1]
                                                << accepts[2] << ", begun backwards " << backwards);
                play_ways(ways, accepts, backwards);
                if (HasFailure()) return;
            }
        } while (std::ranges::next_permutation(accepts).found);
    }
}

TEST_F(Reservations, Refusals) {
    const auto ask = [&](auto change, const U256& deposit = kDeposit) {
        Reserve call{small_spec(), party("alice"), kPrice, height + 10, height + 30};
        change(call);
        return send("requester", call, deposit);
    };
    EXPECT_EQ(ask([](Reserve& c) { c.spec.replicas = 2; }), CallStatus::replicas_out_of_range);
    EXPECT_EQ(ask([](Reserve& c) { c.price = U256(); }), CallStatus::price_zero);
    EXPECT_EQ(ask([](Reserve& c) { c.price = c.spec.price_ceiling + U256(1); }), CallStatus::price_over_ceiling);
    EXPECT_EQ(ask([](Reserve& c) { c.until = c.from; }), CallStatus::duration_out_of_range);
    EXPECT_EQ(ask([&](Reserve& c) { c.from = height; }), CallStatus::too_late);
    EXPECT_EQ(ask([&](Reserve& c) { c.until = height + 28 * 86'400 + 1; }), CallStatus::duration_out_of_range);
    EXPECT_EQ(ask([](Reserve& c) { c.solver = party("requester"); }), CallStatus::own_task);
    EXPECT_EQ(ask([](Reserve& c) { c.solver = party("carol"); }), CallStatus::not_registered);
    EXPECT_EQ(ask([](Reserve& c) { c.spec.hardware_class = 2; }), CallStatus::wrong_hardware);
    EXPECT_EQ(ask([](Reserve& c) { c.spec.contract_hash = word("another"); }), CallStatus::wrong_contract);
    EXPECT_EQ(ask([](Reserve&) {}, U256()), CallStatus::wrong_value);
    EXPECT_EQ(ask([](Reserve&) {}, floor() + U256(1)), CallStatus::wrong_value);
    EXPECT_EQ(send("alice", AcceptReservation{1}), CallStatus::unknown_reservation);
    EXPECT_EQ(send("requester", BeginReserved{1}), CallStatus::unknown_reservation);
    ASSERT_EQ(reserve(), CallStatus::ok);
    EXPECT_EQ(send("bob", AcceptReservation{1}), CallStatus::not_solver);
    EXPECT_EQ(begin_task(), CallStatus::wrong_reservation_state);
    ASSERT_EQ(send("alice", BeginUnbond{U256(100) * kCoin}), CallStatus::ok);
    EXPECT_EQ(send("alice", AcceptReservation{1}), CallStatus::stake_too_low);
    ASSERT_EQ(send("alice", Deposit{}, U256(100) * kCoin), CallStatus::ok);
    ASSERT_EQ(send("alice", AcceptReservation{1}), CallStatus::ok);
    EXPECT_EQ(send("bob", BeginReserved{1}), CallStatus::not_requester);
    while (height < reservation().from) next_block();
    EXPECT_EQ(send("requester", BeginReserved{1}), CallStatus::wrong_value);
}

}  // namespace
}  // namespace retrace::contracts
