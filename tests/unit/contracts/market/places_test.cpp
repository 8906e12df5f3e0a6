// SPDX-License-Identifier: MIT
// Places of open tasks pay a rent, and bids a fee, by what is taken. SPEC 12.8 and 12.9.
#include "contracts/records/places.hpp"

#include "contracts/records/methods.hpp"
#include "contracts/records/task_end.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::TaskState;

class PricesOfPlaces : public MarketTest {
protected:
    /// Fills the list up to `taken` with ids that no task has; sums over all records are skipped from then on.
    void take_places(std::uint64_t taken) {
        books_are_damaged = true;
        for (std::uint64_t i = 0; i < taken; ++i) fake_.push_back(1'000'000 + i);
        for (std::uint64_t page = 0; page * market::kRecordListMax < taken; ++page) {
            const auto first = fake_.begin() + static_cast<std::ptrdiff_t>(page * market::kRecordListMax);
            const auto count = std::min<std::uint64_t>(market::kRecordListMax, taken - page * market::kRecordListMax);
            store_list<std::uint64_t>(state, keys::open_tasks_page(page),
                                      {first, first + static_cast<std::ptrdiff_t>(count)});
        }
        ASSERT_EQ(views::open_tasks(state), taken);
    }
    U256 escrow(const TaskSpec& spec = small_spec()) const { return market::escrow_of(spec, params)->total(); }
    U256 deposit() const { return views::rent_deposit(state, params, small_spec(), nullptr).value(); }
    U256 balance(std::string_view name) const { return state.account(party(name)).balance; }

private:
    std::vector<std::uint64_t> fake_;
};

TEST_F(PricesOfPlaces, WhileHalfIsFreeATaskBringsItsEscrowAndGetsBackMore) {
    const U256 before = balance("requester");
    ASSERT_EQ(send("requester", PostTask{small_spec()}, escrow() + U256(5)), CallStatus::ok);
    EXPECT_EQ(balance("requester"), before - escrow());
    EXPECT_FALSE(views::place(state, 1));
    EXPECT_EQ(all<EscrowReturned>().at(0).amount, 5);
    EXPECT_EQ(send("requester", PostTask{small_spec()}, escrow() - U256(1)), CallStatus::wrong_value);
}

TEST_F(PricesOfPlaces, InTheSecondHalfATaskPaysTheRentOfItsTime) {
    take_places(market::kOpenTasksMax / 2 + 512);
    const U256 rent = U256(2) * params.bid_deposit / U256(1'000'000);
    EXPECT_EQ(deposit(), rent * U256(market::rented_blocks(params, small_spec(), nullptr)));
    EXPECT_EQ(send("requester", PostTask{small_spec()}, escrow() + deposit() - U256(1)), CallStatus::wrong_value);
    const U256 before = balance("requester"), burned_before = ledger::burned(state);
    const std::uint64_t posted = height;
    ASSERT_EQ(send("requester", PostTask{small_spec()}, escrow() + deposit() + U256(9)), CallStatus::ok);
    EXPECT_EQ(*views::place(state, 1), (market::Place{rent, deposit() + U256(9)}));
    EXPECT_EQ(balance("requester"), before - escrow() - deposit() - U256(9));
    ASSERT_TRUE(advance_until([&] { return task().state == TaskState::expired; })) << "nobody bids";
    const U256 burned = rent * U256(height - posted);
    EXPECT_EQ(balance("requester"), before - burned) << "the rest returns";
    EXPECT_EQ(ledger::burned(state), burned_before + burned);
    EXPECT_EQ(all<PlacePaid>().at(0).amount, burned);
    EXPECT_FALSE(views::place(state, 1));
}

TEST_F(PricesOfPlaces, TheRentOfAPlaceDoesNotRiseWithTheList) {
    take_places(market::kOpenTasksMax / 2);
    ASSERT_EQ(send("requester", PostTask{small_spec()}, escrow() + deposit()), CallStatus::ok);
    const auto agreed = views::place(state, 1);
    take_places(market::kOpenTasksMax - 1);
    EXPECT_EQ(views::place(state, 1), agreed);
}

TEST_F(PricesOfPlaces, NoAuctionBeginsAfterThePaidTime) {
    auto quick = params;
    quick.unbond_blocks = 300;
    begin(quick);
    add_solver("alice");
    TaskSpec spec = small_spec();
    spec.finish_blocks = 2'000;
    take_places(market::kOpenTasksMax / 2);
    const U256 least = views::rent_deposit(state, params, spec, nullptr).value();
    ASSERT_EQ(send("requester", PostTask{spec}, escrow(spec) + least), CallStatus::ok);
    auction({{"alice", 1000}});
    // The winner declines within the paid time: another auction follows.
    ASSERT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::bidding);
    // The same after it.
    add_solver("bob");
    auction({{"bob", 1000}});
    store(state, keys::place(1), market::Place{U256(1), U256(height - task().posted_height - 1)});
    ASSERT_EQ(send("bob", DeclineTask{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(views::task_end(state, 1), TaskEnd::place_over);
}

/// Auctions that are asked for must be able to come (12.10.11).
TEST_F(PricesOfPlaces, ATopUpPaysForTheTimeOfItsAuctions) {
    books_are_damaged = true;  // The place's deposit was not brought by anybody.
    post();
    const U256 ceiling = small_spec().price_ceiling, rent(3);
    const std::uint64_t first = task().reveal_end, each = params.bid_blocks + params.reveal_blocks;
    const auto paid_until = [&](std::uint64_t until) {
        store(state, keys::place(1), market::Place{rent, rent * U256(until - task().posted_height)});
    };
    paid_until(first + each);
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 2}), CallStatus::ok) << "the second of two begins in time";
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 1}), CallStatus::wrong_value);
    const U256 missing = rent * U256(each);
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 1}, missing - U256(1)), CallStatus::wrong_value);
    ASSERT_EQ(send("requester", TopUpTask{1, ceiling, 1}, missing), CallStatus::ok);
    EXPECT_EQ(views::missing_rent(state, task(), first + 2 * each), 0);
    while (height < first + 2 * each) next_block();
    EXPECT_EQ(task().round, 4u) << "all three have come";
    EXPECT_EQ(task().state, TaskState::bidding);
}

TEST_F(PricesOfPlaces, TheLastAuctionBeginsAfterThePausesBeforeIt) {
    post();
    const std::uint64_t close = task().reveal_end, each = params.bid_blocks + params.reveal_blocks;
    const auto begins = [&](std::uint64_t more) {
        return views::last_auction_begins(params, task(), 50, height, more);
    };
    EXPECT_EQ(begins(0), close);
    EXPECT_EQ(begins(1), close + 50);
    EXPECT_EQ(begins(3), close + 50 + 2 * (each + 50));
}

TEST_F(PricesOfPlaces, ATopUpOfARunPaysForAuctionsThatBeginNow) {
    start_run();
    books_are_damaged = true;
    store(state, keys::place(1), market::Place{U256(1), U256(height - task().posted_height - 1)});
    const U256 ceiling = small_spec().price_ceiling;
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 0}), CallStatus::wrong_value);
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 0}, U256(1)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 1}, U256(5)), CallStatus::wrong_value);
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling, 1}, U256(6)), CallStatus::ok);
}

TEST_F(PricesOfPlaces, AListThatIsFullRefusesAndEveryPageGivesPlacesBack) {
    take_places(market::kOpenTasksMax - 1);
    ASSERT_EQ(send("requester", PostTask{small_spec()}, escrow() + deposit()), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(send("requester", PostTask{small_spec()}, U256(900) * kCoin), CallStatus::too_many_tasks);
    EXPECT_EQ(views::active_tasks(state).size(), market::kOpenTasksMax);
    EXPECT_EQ(views::active_tasks(state).front(), 1u) << "ascending over all pages";
    for (const std::uint64_t id : {1'000'000u, 1'005'000u, 1'016'000u}) remove_open_task(state, id);
    EXPECT_EQ(views::open_tasks(state), market::kOpenTasksMax - 3);
    EXPECT_EQ(list<std::uint64_t>(state, keys::active_tasks()).size(), market::kRecordListMax - 1);
    for (std::uint64_t id = 2; id <= 4; ++id) add_open_task(state, id);
    EXPECT_EQ(views::open_tasks(state), market::kOpenTasksMax);
}

TEST_F(PricesOfPlaces, ViewsTellThePrices) {
    const auto ask = [this](const auto& read) {
        const auto answer = answer_view(Contract::market, calldata(read), state);
        EXPECT_TRUE(answer && answer->status == CallStatus::ok);
        return decode_answer<std::remove_cvref_t<decltype(read)>>(answer->output).value();
    };
    post();
    EXPECT_EQ(ask(ReadPlaces{}).taken, 1u);
    EXPECT_EQ(ask(ReadPlaces{}).most, market::kOpenTasksMax);
    EXPECT_EQ(ask(ReadPlaces{}).rent, 0);
    EXPECT_EQ(ask(ReadPlace{1}), market::Place{});
    EXPECT_EQ(answer_view(Contract::market, calldata(ReadPlace{7}), state)->status, CallStatus::unknown_task);
    take_places(market::kOpenTasksMax - 1);
    EXPECT_EQ(ask(ReadPlaces{}).rent, market::task_rent(params, market::kOpenTasksMax - 1));
    add_open_task(state, 7);
    EXPECT_EQ(ask(ReadPlaces{}).rent, 0) << "no place is free";
}

TEST_F(PricesOfPlaces, ABidInTheSecondHalfOfAnAuctionBurnsItsFee) {
    post();
    for (std::size_t i = 0; i < market::kBiddersMax; ++i) {
        const std::string name = "bidder " + std::to_string(i);
        ASSERT_TRUE(ledger::mint(state, party(name), U256(1'000) * kCoin));
        parties.push_back(party(name));
        ASSERT_EQ(send(name, Deposit{}, U256(2) * kCoin), CallStatus::ok);
        ASSERT_EQ(send(name, RegisterSolver{"http://solver", 1}), CallStatus::ok);
        const U256 fee = views::bid_place_fee(state, params, task()).value();
        EXPECT_EQ(fee, market::bid_place_fee(params, i, market::kBiddersMax));
        const CommitBid bid{1, word(name)};
        if (!fee.is_zero()) {
            EXPECT_EQ(send(name, bid, params.bid_deposit + fee - U256(1)), CallStatus::wrong_value);
        }
        EXPECT_EQ(send(name, bid, params.bid_deposit - U256(1)), CallStatus::wrong_value);
        const U256 before = balance(name), burned_before = ledger::burned(state);
        ASSERT_EQ(send(name, bid, params.bid_deposit + fee + U256(3)), CallStatus::ok) << last.revert_reason;
        EXPECT_EQ(balance(name), before - params.bid_deposit - fee) << "what it brought too much is back";
        EXPECT_EQ(ledger::burned(state), burned_before) << "the fee is held until the auction is over";
        EXPECT_EQ(views::bid(state, 1, party(name))->deposit, params.bid_deposit + fee);
    }
    EXPECT_FALSE(views::bid_place_fee(state, params, task()));
    add_solver("alice");
    EXPECT_EQ(send("alice", CommitBid{1, word("alice")}, U256(800) * kCoin), CallStatus::auction_full);
    const U256 burned_before = ledger::burned(state);
    while (height <= task().reveal_end) next_block();
    EXPECT_EQ(all<PlacePaid>().size(), market::kBiddersMax / 2);
    U256 fees;
    for (std::uint64_t i = 0; i < market::kBiddersMax; ++i)
        fees += market::bid_place_fee(params, i, market::kBiddersMax);
    EXPECT_EQ(ledger::burned(state), burned_before + fees + params.bid_deposit * U256(market::kBiddersMax))
        << "nobody revealed";
}

/// A requester could burn what others pay for places of an auction that it does not let end.
TEST_F(PricesOfPlaces, ARequesterThatCancelsBurnsNoFeeOfItsBidders) {
    post();
    std::vector<U256> before;
    for (std::size_t i = 0; i < market::kBiddersMax / 2 + 4; ++i) {
        const std::string name = "bidder " + std::to_string(i);
        ASSERT_TRUE(ledger::mint(state, party(name), U256(1'000) * kCoin));
        parties.push_back(party(name));
        ASSERT_EQ(send(name, Deposit{}, U256(2) * kCoin), CallStatus::ok);
        ASSERT_EQ(send(name, RegisterSolver{"http://solver", 1}), CallStatus::ok);
        before.push_back(balance(name));
        ASSERT_EQ(send(name, CommitBid{1, word(name)}, U256(900) * kCoin), CallStatus::ok) << last.revert_reason;
    }
    ASSERT_EQ(send("requester", CancelTask{1}), CallStatus::ok);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(balance("bidder " + std::to_string(i)), before[i]);
    for (const PlacePaid& paid : all<PlacePaid>()) EXPECT_EQ(paid.party, party("requester")) << "12.2.5";
}

TEST_F(PricesOfPlaces, NoReplicasAreAddedAfterThePaidTime) {
    start_run();
    const U256 more = market::escrow_of_more(small_spec(), params, 0, 1).total();
    books_are_damaged = true;
    store(state, keys::place(1), market::Place{U256(1), U256(height - task().posted_height - 1)});
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}, more), CallStatus::rounds_used_up);
    store(state, keys::place(1), market::Place{U256(1), U256(height - task().posted_height + 5)});
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}, more), CallStatus::ok) << last.revert_reason;
}

}  // namespace
}  // namespace retrace::contracts
