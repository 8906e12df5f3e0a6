// SPDX-License-Identifier: MIT
// The memory of an agent depends on what is open, not on how many tasks there ever were; and a crowd of cheap tasks
// takes neither stake, fees nor time from an expensive one.
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "contracts/records/keys.hpp"
#include "contracts/records/reservations.hpp"
#include "kernels/commit/contract.hpp"
#include "market/odds.hpp"
#include "market/record.hpp"
#include "node/agents/agent_metrics.hpp"
#include "node/agents/bidding.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::U256;

constexpr std::uint64_t kMilli = market::kMilli;
const U256 kBaseFee(1'000'000'000);

/// A view of records that a test puts.
class Book final : public ledger::StateView {
public:
    template <class T>
    void put(const keys::Key& key, const T& record) {
        slots_[{contracts::address_of(key.contract), key.bytes}] = market::encode_record(record);
    }
    void erase(const keys::Key& key) { slots_.erase({contracts::address_of(key.contract), key.bytes}); }
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address& contract, View key) const override {
        ++reads;
        const auto found = slots_.find({contract, to_bytes(key)});
        return found == slots_.end() ? Bytes{} : found->second;
    }
    mutable std::uint64_t reads = 0;

private:
    std::map<std::pair<ledger::Address, Bytes>, Bytes> slots_;
};

struct AgentMemory : ::testing::Test {
    test::TemporaryFolder folder;
    Book book;
    ledger::Address self{{9}};
    market::Params params;
    Immutable immutable;
    std::uint64_t height = 100;

    AgentMemory() {
        params.contract_hash = kernels::contract_hash();
        market::Stake stake;
        stake.bonded = U256(1'000'000) * U256(kMilli);
        book.put(keys::stake(self), stake);
    }
    Bidding bidding(std::optional<U256> price = {}) {
        Bidding out({price, 0, {}}, folder.path() / "bids", self);
        out.set_machine(1e9, 1);
        return out;
    }
    /// A task in bidding; `ceiling` is that of a segment in thousandths of a coin.
    market::TaskSpec post(std::uint64_t id, std::uint64_t ceiling = 500) {
        market::TaskSpec spec;
        spec.program_root = spec.init_root = Hash32{{1}};
        spec.contract_hash = params.contract_hash;
        spec.program_bytes = 1;
        spec.steps = 10;
        spec.interval = 1;
        spec.finish_blocks = 100'000;
        spec.step_cost = 1;
        spec.checkpoint_blocks = 1'000;  // Many of them fit the time of one machine.
        spec.price_ceiling = U256(ceiling) * U256(kMilli);
        spec.allow_unaudited = true;  // There are no verifiers in the book.
        book.put(keys::spec(id), spec);
        market::Task task;
        task.id = id;
        task.state = market::TaskState::bidding;
        task.round = task.wanted = 1;
        task.bid_end = height + 10;
        task.reveal_end = height + 20;
        book.put(keys::task(id), task);
        return spec;
    }
    /// Its deadlines need six tenths of this machine's time.
    void large(market::TaskSpec spec, std::uint64_t id, bool spot) {
        spec.step_cost = 600'000'000'000;
        spec.spot = spot;
        book.put(keys::spec(id), spec);
    }
    /// A reservation that is on this solver's list.
    void put_reservation(std::uint64_t id, const ledger::Address& solver, market::ReservationState state,
                         std::uint64_t from, const market::TaskSpec& spec) {
        market::Reservation one;
        one.id = id;
        one.requester = self;
        one.solver = solver;
        one.state = state;
        one.from = from;
        one.until = from + 50;
        book.put(keys::reservation(id), one);
        book.put(keys::reserved_spec(id), spec);
        contracts::ListOf<std::uint64_t> own;
        own.items = {id};
        book.put(keys::reservations(self), own);
    }
    void change(std::uint64_t id, const std::function<void(market::Task&)>& how) {
        market::Task task = *contracts::views::task(book, id);
        how(task);
        book.put(keys::task(id), task);
    }
    solver::SolverView auctions(const std::vector<std::uint64_t>& tasks) {
        solver::SolverView view;
        view.height = height;
        for (const std::uint64_t id : tasks) {
            solver::AuctionView auction;
            auction.terms.id = id;
            auction.round = 1;
            auction.may_commit = true;
            view.auctions.push_back(auction);
        }
        return view;
    }
    std::optional<contracts::CommitBid> bid(Bidding& of, std::uint64_t id) {
        const auto spec = *immutable.spec(book, id);
        auto call = of.commit({id, 1, Hash32{{3}}}, of.quote(book, params, kBaseFee, id, spec), spec, height);
        EXPECT_TRUE(call.has_value()) << (call ? "" : call.error().message);
        return call ? *call : std::nullopt;
    }
    std::size_t files() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "bids"))
            count += entry.is_regular_file() ? 1 : 0;
        return count;
    }
};

/// Contracts 12.9: in the second half of an auction a place burns coins.
TEST_F(AgentMemory, ABidThatBurnsTooMuchForItsPlaceIsNotMade) {
    const market::TaskSpec spec = post(1);
    Bidding agent = bidding(U256(400) * U256(kMilli));  // 4 coins for all segments, a twentieth of which is 0.2.
    const auto quote_beside = [&](std::size_t others) {
        change(1, [&](market::Task& task) { task.bidders.resize(others); });
        return agent.quote(book, params, kBaseFee, 1, spec);
    };
    EXPECT_TRUE(quote_beside(31).price) << "the first half burns nothing";
    EXPECT_TRUE(quote_beside(40).price) << "0.16 coins";
    EXPECT_FALSE(quote_beside(42).price);
    EXPECT_THAT(quote_beside(42).why_not, ::testing::HasSubstr("a place in its auction burns 0.32 coins now"));
}

TEST_F(AgentMemory, SpecificationsOfTasksThatNobodyAsksForAreForgotten) {
    for (std::uint64_t id = 1; id <= 1000; ++id) {
        post(id);
        ASSERT_TRUE(immutable.spec(book, id));
        ASSERT_TRUE(immutable.spec(book, 1)) << "is open all the time";
        immutable.forget_unused();
        ASSERT_LE(immutable.specs(), 5U) << id;
    }
    const std::uint64_t reads = book.reads;
    EXPECT_TRUE(immutable.spec(book, 1));
    EXPECT_EQ(book.reads, reads + 1) << "and only whether it was topped up is read again";
}

TEST_F(AgentMemory, ReasonsAndAuctionsThatAreOverAreForgotten) {
    Bidding dear = bidding(U256(600) * U256(kMilli));
    for (std::uint64_t id = 1; id <= 500; ++id, ++height) {
        const auto spec = post(id);
        EXPECT_FALSE(dear.consider(book, params, kBaseFee, id, spec).price);
        solver::SolverView view = auctions({id});
        dear.on_view(book, params, kBaseFee, immutable, view);
        ASSERT_LE(dear.remembered(), 4U) << id;
    }
}

TEST_F(AgentMemory, SealedBidsLeaveTheDiskWhenNothingIsLeftToReveal) {
    Bidding agent = bidding();
    for (std::uint64_t id = 1; id <= 150; ++id, ++height) {
        post(id);
        solver::SolverView view = auctions({id});
        agent.on_view(book, params, kBaseFee, immutable, view);
        ASSERT_TRUE(bid(agent, id));
        immutable.forget_unused();
        ASSERT_LE(files(), 75U) << id;
    }
}

/// Until then its deposit depends on the bid, over any number of restarts.
TEST_F(AgentMemory, ASealedBidStaysUntilItIsRevealedRefundedOrVoid) {
    const auto bidders = [&](const std::function<void(std::uint64_t)>& what, bool stays) {
        static std::uint64_t id = 0;
        post(++id);
        {
            Bidding first = bidding();
            solver::SolverView view = auctions({id});
            first.on_view(book, params, kBaseFee, immutable, view);
            EXPECT_TRUE(bid(first, id));
        }
        what(id);
        Bidding restarted = bidding();
        solver::SolverView view = auctions({});
        restarted.on_view(book, params, kBaseFee, immutable, view);
        const auto call = restarted.reveal({id, 1, Hash32{{3}}});
        EXPECT_EQ(call.has_value(), stays) << id;
        if (call) {
            EXPECT_EQ(call->price, U256(400) * U256(kMilli));
        }
    };
    market::Bid made;
    bidders([](std::uint64_t) {}, true);  // Not in a block yet.
    bidders([&](std::uint64_t id) { book.put(keys::bid(id, self), made); }, true);
    bidders([&](std::uint64_t) { height += 18; }, true);  // The next block is the last that accepts
                                                          // it.
    bidders([&](std::uint64_t) { height += 19; }, false);
    bidders([&](std::uint64_t id) { book.erase(keys::task(id)); }, true);  // The node does not know this task.
    bidders([&](std::uint64_t id) { change(id, [](market::Task& t) { t.round = 2; }); }, false);
    bidders([&](std::uint64_t id) { change(id, [](market::Task& t) { t.state = market::TaskState::cancelled; }); },
            false);
    made.revealed = true;
    bidders([&](std::uint64_t id) { book.put(keys::bid(id, self), made); }, false);
}

TEST_F(AgentMemory, WhatLiesBesideTheSealedBidsIsNotTouched) {
    Bidding agent = bidding();
    post(7);
    solver::SolverView view = auctions({7});
    agent.on_view(book, params, kBaseFee, immutable, view);
    ASSERT_TRUE(bid(agent, 7));
    for (const char* name : {"7", "7-", "7-1.bak", "07-1", "-1", "7-1-1", "notes"})
        std::ofstream(folder.path() / "bids" / name) << "mine";
    EXPECT_EQ(agent.sealed().forget([](const SealedBids::Auction&) { return true; }), 1U);
    EXPECT_EQ(files(), 7U);
}

/// The first bid may already be in a block when the process dies; the data on disk must be able to open it.
TEST_F(AgentMemory, ARestartWithAnotherPriceBidsTheSameAgain) {
    post(1);
    solver::SolverView view = auctions({1});
    Bidding first = bidding(U256(300) * U256(kMilli));
    first.on_view(book, params, kBaseFee, immutable, view);
    const auto sent = bid(first, 1);
    ASSERT_TRUE(sent);
    Bidding restarted = bidding(U256(200) * U256(kMilli));
    restarted.on_view(book, params, kBaseFee, immutable, view);
    const auto again = bid(restarted, 1);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->commitment, sent->commitment);
    EXPECT_EQ(restarted.reveal({1, 1, Hash32{{3}}})->price, U256(300) * U256(kMilli));
}

/// A solver that ends before loses the deposit.
TEST_F(AgentMemory, ABidIsToBeRevealedFromItsSendingToItsReveal) {
    post(1);
    Bidding agent = bidding();
    solver::SolverView view = auctions({1});
    agent.on_view(book, params, kBaseFee, immutable, view);
    EXPECT_EQ(agent.to_reveal(book, height), 0u);
    ASSERT_TRUE(bid(agent, 1));
    EXPECT_EQ(agent.to_reveal(book, height), 1u) << "no block shows it yet";
    market::Bid record;
    book.put(keys::bid(1, self), record);
    Bidding restarted = bidding();
    EXPECT_EQ(restarted.to_reveal(book, height), 1u);
    record.revealed = true;
    book.put(keys::bid(1, self), record);
    EXPECT_EQ(restarted.to_reveal(book, height), 0u);
}

TEST_F(AgentMemory, BidsThatNoBlockShowsYetHaveTheirStakeAlready) {
    const auto spec = post(1);
    post(2);
    market::Stake stake;
    stake.bonded = *market::stake_floor(params, spec) * U256(3) / U256(2);
    book.put(keys::stake(self), stake);
    Bidding agent = bidding();
    solver::SolverView view = auctions({1, 2});
    agent.on_view(book, params, kBaseFee, immutable, view);
    ASSERT_TRUE(bid(agent, 1));
    EXPECT_FALSE(bid(agent, 2)) << "it would be refused, and its fee be gone";
    EXPECT_TRUE(bid(agent, 1)) << "the same again";
    height += params.bid_blocks + 1;  // No block included it.
    view = auctions({2});
    agent.on_view(book, params, kBaseFee, immutable, view);
    EXPECT_TRUE(bid(agent, 2));
}

/// What its own bids take is added to the room again, and 1 - 0.6 - 0.3 - 0.1 + 0.6 + 0.3 + 0.1 is less than 1.
TEST_F(AgentMemory, BidsInFlightThatTakeAllOfTheTimeAreSentAgain) {
    for (const auto& [id, tenths, ceiling] : {std::tuple{1, 6, 600}, {2, 3, 200}, {3, 1, 50}}) {
        market::TaskSpec spec = post(static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(ceiling));
        spec.step_cost = static_cast<std::uint64_t>(tenths) * 100'000'000'000;
        book.put(keys::spec(static_cast<std::uint64_t>(id)), spec);
    }
    Bidding agent = bidding();
    solver::SolverView view = auctions({1, 2, 3});
    agent.on_view(book, params, kBaseFee, immutable, view);
    ASSERT_EQ(view.auctions.size(), 3u);
    for (const std::uint64_t id : {1, 2, 3}) ASSERT_TRUE(bid(agent, id));
    view = auctions({1, 2, 3});
    agent.on_view(book, params, kBaseFee, immutable, view);
    EXPECT_EQ(view.auctions.size(), 3u);
}

TEST_F(AgentMemory, OfManyAuctionsThoseThatBringMostAreBegun) {
    std::vector<std::uint64_t> tasks;
    for (std::uint64_t id = 1; id <= 400; ++id) {
        post(id, 30);
        tasks.push_back(id);
    }
    post(401, 500);
    tasks.push_back(401);
    Bidding agent = bidding();
    solver::SolverView view = auctions(tasks);
    view.auctions[5].may_commit = false;
    view.auctions[5].may_reveal = true;
    agent.on_view(book, params, kBaseFee, immutable, view);
    ASSERT_EQ(view.auctions.size(), Bidding::kNewBidsMax + 1);
    EXPECT_EQ(view.auctions[0].terms.id, 6U) << "a deposit hangs on a reveal";
    EXPECT_EQ(view.auctions[1].terms.id, 401U);
}

/// Contracts 13.12.
TEST_F(AgentMemory, SpotTasksTakeTheTimeThatOthersLeave) {
    large(post(1, 5'000), 1, true);
    large(post(2, 500), 2, false);
    Bidding agent = bidding();
    solver::SolverView view = auctions({1, 2});
    agent.on_view(book, params, kBaseFee, immutable, view);
    ASSERT_EQ(view.auctions.size(), 1U);
    EXPECT_EQ(view.auctions[0].terms.id, 2U) << "though the spot task brings more";
    view = auctions({1});
    agent.on_view(book, params, kBaseFee, immutable, view);
    EXPECT_EQ(view.auctions.size(), 1U) << "where nothing better is there";
}

TEST_F(AgentMemory, SpotRunsAreGivenBackForOtherWorkThatNeedsTheirTime) {
    large(post(1, 5'000), 1, true);
    large(post(2, 500), 2, false);
    Bidding agent = bidding();
    solver::SolverView view = auctions({2});
    solver::RunView spot;
    spot.terms.id = 1;
    spot.next_state = 1;
    spot.spot = true;
    view.runs = {spot};
    EXPECT_TRUE(agent.to_give_back(book, params, kBaseFee, immutable, view).empty());
    agent.on_view(book, params, kBaseFee, immutable, view);
    EXPECT_EQ(view.auctions.size(), 1U) << "its time may be taken";
    solver::RunView other;
    other.terms.id = 2;
    other.next_state = 1;
    view.runs.push_back(other);
    const std::set<solver::RunKey> given = agent.to_give_back(book, params, kBaseFee, immutable, view);
    EXPECT_EQ(given, (std::set<solver::RunKey>{{1, 0}}));
    view.runs[0].given_back = true;
    EXPECT_TRUE(agent.to_give_back(book, params, kBaseFee, immutable, view).empty()) << "once";
}

TEST_F(AgentMemory, TimeThatIsReservedIsKeptFree) {
    market::TaskSpec spec = post(1);
    large(spec, 1, false);
    spec = *contracts::views::spec(book, 1);
    const std::uint64_t ends =
        height + 20 + params.accept_blocks + 11'000;  // Eleven states, one in at most 1,000 blocks.
    const auto reserve = [&](std::uint64_t id, const ledger::Address& solver, market::ReservationState state,
                             std::uint64_t from) { put_reservation(id, solver, state, from, spec); };
    Bidding agent = bidding();
    const auto bids = [&] {
        agent.set_reserved(reserved_tasks(book, self));
        solver::SolverView view = auctions({1});
        agent.choose(book, params, kBaseFee, immutable, view);
        return view.auctions.size() == 1;
    };
    reserve(3, self, market::ReservationState::accepted, ends - 1);
    EXPECT_FALSE(bids());
    ASSERT_EQ(agent.choices().size(), 1U);
    EXPECT_THAT(agent.choices()[0].why, ::testing::HasSubstr("and reservation 3 keeps time from block"));
    ASSERT_EQ(agent.reserved().size(), 1U);
    EXPECT_NEAR(agent.reserved()[0].load, 0.6, 1e-9);
    reserve(3, self, market::ReservationState::accepted, ends);
    EXPECT_TRUE(bids()) << "it has ended by then";
    reserve(3, self, market::ReservationState::offered, ends - 1);
    EXPECT_TRUE(bids()) << "an offer holds nobody's time";
    reserve(3, ledger::Address{{8}}, market::ReservationState::accepted, ends - 1);
    EXPECT_TRUE(bids()) << "as a requester it has reserved the time of another solver";

    reserve(3, self, market::ReservationState::accepted, ends - 1);
    agent.set_reserved(reserved_tasks(book, self));
    solver::SolverView view = auctions({});
    solver::RunView run;
    run.terms.id = 1;
    run.next_state = 9;
    view.runs = {run};
    agent.choose(book, params, kBaseFee, immutable, view);
    EXPECT_NEAR(agent.reserved()[0].left, 0.4, 1e-9) << "this run has two segments left, and ends before";
    view.runs[0].next_state = 1;
    reserve(3, self, market::ReservationState::accepted, height + 50);
    agent.set_reserved(reserved_tasks(book, self));
    agent.choose(book, params, kBaseFee, immutable, view);
    EXPECT_NEAR(agent.reserved()[0].left, -0.2, 1e-9);

    large(spec, 2, true);
    view.runs[0].terms.id = 2;
    view.runs[0].spot = true;
    const auto given_back = [&](std::uint64_t from) {
        reserve(3, self, market::ReservationState::accepted, from);
        agent.set_reserved(reserved_tasks(book, self));
        return agent.to_give_back(book, params, kBaseFee, immutable, view);
    };
    EXPECT_TRUE(given_back(height + 1'001).empty()) << "it can be given back at a later checkpoint";
    EXPECT_EQ(given_back(height + 1'000), (std::set<solver::RunKey>{{2, 0}}));
}

/// A device's speed is not measured: what is too much for the processors takes all of it, and no more.
TEST_F(AgentMemory, TheTimeOfADeviceIsLimitedAndAReservedTaskLeavesTheRest) {
    market::TaskSpec heavy = post(1);
    heavy.step_cost = 6'000'000'000'000;  // Six times what the processors compute until a checkpoint.
    book.put(keys::spec(1), heavy);
    post(2);
    book.put(keys::spec(2), heavy);
    post(3);
    Bidding agent({{}, 0, {}, false, {}, {}, true}, folder.path() / "bids", self);
    agent.set_machine(1e9, 1);
    const auto taken = [&](const std::vector<std::uint64_t>& of) {
        solver::SolverView view = auctions(of);
        agent.set_reserved(reserved_tasks(book, self));
        agent.choose(book, params, kBaseFee, immutable, view);
        std::set<std::uint64_t> out;
        for (const solver::AuctionView& auction : view.auctions) out.insert(auction.terms.id);
        return out;
    };
    using Tasks = std::set<std::uint64_t>;
    EXPECT_EQ(taken({1, 2, 3}), (Tasks{3})) << "the small one brings more an hour, and leaves less than all";
    EXPECT_EQ(taken({1, 2}), (Tasks{1})) << "one at a time";

    // At the processors' speed a heavy task would leave less than nothing, and no bid would ever be made.
    const std::uint64_t ends = height + 20 + params.accept_blocks + 11'000;
    put_reservation(5, self, market::ReservationState::accepted, ends, heavy);
    EXPECT_EQ(taken({1}), (Tasks{1})) << "it has ended by then";
    EXPECT_NEAR(agent.promised().at(0).left, 0, 1e-9);
    put_reservation(5, self, market::ReservationState::accepted, ends - 1, heavy);
    EXPECT_TRUE(taken({1}).empty()) << "the device is promised";
    market::TaskSpec small = heavy;
    small.step_cost = 1;
    put_reservation(5, self, market::ReservationState::accepted, ends - 1, small);
    EXPECT_EQ(taken({3}), (Tasks{3})) << "a small one leaves the rest";
    EXPECT_GT(agent.promised().at(0).left, 0.99);
}

/// Before a promise: what `retrace reservation accept` says.
TEST_F(AgentMemory, APromiseThatWouldBeBrokenIsNamedBefore) {
    market::TaskSpec spec = post(1);
    spec.step_cost = 600'000'000'000;
    book.put(keys::spec(1), spec);
    Bidding agent = bidding();
    solver::SolverView view = auctions({});
    const auto wanted = [&](std::uint64_t from, const market::TaskSpec& of) {
        ReservedTask out{{}, of};
        out.reservation.id = 8;
        out.reservation.from = from;
        out.reservation.until = from + 50;
        return out;
    };
    const auto why = [&](std::uint64_t from, const market::TaskSpec& of) {
        const auto unkept = agent.unkept(book, params, kBaseFee, immutable, view, wanted(from, of));
        if (unkept) {
            EXPECT_NE(unkept->remedy, "");
        }
        return unkept ? unkept->why : "";
    };
    EXPECT_EQ(why(500, spec), "");
    market::TaskSpec heavy = spec;
    heavy.step_cost *= 5;
    EXPECT_THAT(why(500, heavy), ::testing::HasSubstr("need 300 % of this machine's time at the measured speed"));
    Bidding with_device({{}, 0, {}, false, {}, {}, true}, folder.path() / "device", self);
    with_device.set_machine(1e9, 1);
    EXPECT_FALSE(with_device.unkept(book, params, kBaseFee, immutable, view, wanted(500, spec)));
    const auto on_device = with_device.unkept(book, params, kBaseFee, immutable, view, wanted(500, heavy));
    ASSERT_TRUE(on_device) << "nobody knows whether the device is three times as fast";
    EXPECT_THAT(on_device->why, ::testing::HasSubstr("need 300 % of the time of this machine's processors"));
    EXPECT_THAT(on_device->why, ::testing::HasSubstr("a device's speed is not measured"));
    EXPECT_THAT(on_device->remedy, ::testing::HasSubstr("--skip-checks"));

    put_reservation(3, self, market::ReservationState::accepted, 1'000, spec);
    agent.set_reserved(reserved_tasks(book, self));
    const std::uint64_t ends = 1'050 + params.accept_blocks + 11'000;
    EXPECT_THAT(why(ends - 1, spec), ::testing::HasSubstr("leaves 40 %"));
    EXPECT_EQ(why(ends, spec), "") << "the other has ended by then";
    EXPECT_THAT(why(500, spec), ::testing::HasSubstr("it may run when reservation 3 begins, from block 1000 on"));
    agent.set_reserved({});

    solver::RunView run;
    run.terms.id = 1;
    run.next_state = 1;
    view.runs = {run};
    EXPECT_THAT(why(500, spec), ::testing::HasSubstr("what is promised or may run then leaves 40 %"));
    view.runs[0].spot = true;
    EXPECT_EQ(why(500, spec), "") << "it can be given back";
}

/// Of runs beside a reserved task that needs six tenths of the time of this machine.
struct ReservedWork : AgentMemory {
    Bidding agent = bidding();
    solver::SolverView view = auctions({});

    struct Terms {
        std::uint64_t segments = 100, checkpoint_blocks = 1'000, finish_blocks = 1'000'000;
        double load = 0.3;
        bool spot = true;
        std::uint64_t ceiling = 500;
    };
    /// A run that has just begun; it ends by block `ends`.
    solver::RunView& add_run(std::uint64_t id, const Terms& terms, std::uint64_t ends) {
        market::TaskSpec spec = post(id, terms.ceiling);
        spec.steps = terms.segments;
        spec.checkpoint_blocks = terms.checkpoint_blocks;
        spec.finish_blocks = terms.finish_blocks;
        spec.spot = terms.spot;
        const double window = std::min(static_cast<double>(terms.checkpoint_blocks),
                                       static_cast<double>(terms.finish_blocks) / static_cast<double>(terms.segments));
        spec.step_cost = static_cast<std::uint64_t>(terms.load * window * 1e9);
        book.put(keys::spec(id), spec);
        market::Run record;
        record.task = id;
        record.state = market::RunState::running;
        record.finish_height = ends;
        book.put(keys::run(id, 0), record);
        solver::RunView run;
        run.terms.id = id;
        run.spot = terms.spot;
        view.runs.push_back(run);
        return view.runs.back();
    }
    std::set<solver::RunKey> given_back(std::uint64_t from) {
        market::TaskSpec spec = post(90);
        spec.step_cost = 600'000'000'000;
        put_reservation(3, self, market::ReservationState::accepted, from, spec);
        agent.set_reserved(reserved_tasks(book, self));
        return agent.to_give_back(book, params, kBaseFee, immutable, view);
    }
    double left() {
        agent.choose(book, params, kBaseFee, immutable, view);
        return agent.reserved().at(0).left;
    }
};

TEST_F(ReservedWork, ASpotRunThatEndsBeforeIsKept) {
    const std::uint64_t ends = height + 500;
    add_run(1, {.segments = 3, .finish_blocks = 500, .load = 0.6}, ends);
    EXPECT_TRUE(given_back(ends).empty()) << "though its pace of checkpoints is slower";
    EXPECT_NEAR(left(), 0.4, 1e-9);
    view.height += 300;
    EXPECT_NEAR(left(), 0.4, 1e-9) << "its end does not move";
    EXPECT_EQ(given_back(ends - 1), (std::set<solver::RunKey>{{1, 0}}));
}

TEST_F(ReservedWork, WhatEndsBeforeLeavesItsTimeToASpotRun) {
    add_run(1, {.load = 0.6, .spot = false}, height + 500);
    add_run(2, {}, height + 100'000).next_state = 1;
    EXPECT_TRUE(given_back(height + 500).empty());
    EXPECT_EQ(given_back(height + 499), (std::set<solver::RunKey>{{2, 0}}));
}

TEST_F(ReservedWork, ARunIsGivenBackWhenItCouldNotBeLater) {
    for (const bool slow_brings_more : {true, false}) {
        SCOPED_TRACE(slow_brings_more);
        view = auctions({});
        const std::uint64_t first = slow_brings_more ? 1 : 3;  // Terms of a task are read once.
        add_run(first, {.ceiling = 500}, height + 900'000).next_state = 1;
        Terms slow_terms{.checkpoint_blocks = 100'000, .finish_blocks = 100'000'000};
        if (slow_brings_more) slow_terms.ceiling = 500'000;
        add_run(first + 1, slow_terms, height + 9'000'000).next_state = 1;
        const std::set<solver::RunKey> fast{{first, 0}}, slow{{first + 1, 0}}, none;
        EXPECT_EQ(given_back(height + 50'000), slow_brings_more ? none : slow)
            << "the fast one can be given back later";
        EXPECT_EQ(given_back(height + 1'001), slow_brings_more ? none : slow);
        EXPECT_EQ(given_back(height + 1'000), slow_brings_more ? fast : slow);
    }
}

/// Contracts 13.12.3.
TEST_F(ReservedWork, ARunCannotEndWithItsFirstState) {
    solver::RunView& run = add_run(1, {.load = 0.6}, height + 900'000);
    EXPECT_TRUE(given_back(height + 2'001).empty());
    EXPECT_FALSE(given_back(height + 2'000).empty());
    run.may_accept = true;
    EXPECT_TRUE(given_back(height + 2'001 + params.accept_blocks).empty());
    EXPECT_FALSE(given_back(height + 2'000 + params.accept_blocks).empty());
    run.may_accept = false;
    run.next_state = 1;
    EXPECT_TRUE(given_back(height + 1'001).empty());
    EXPECT_FALSE(given_back(height + 1'000).empty());
}

TEST_F(ReservedWork, ARunThatIsNotAcceptedYetEndsLater) {
    solver::RunView& run = add_run(1, {.segments = 2, .load = 0.6, .spot = false}, height + 900'000);
    given_back(height + 3'010);
    EXPECT_NEAR(left(), 0.4, 1e-9) << "three states, one in a thousand blocks";
    run.may_accept = true;
    run.deadline = height + 60;
    EXPECT_NEAR(left(), -0.2, 1e-9);
}

TEST_F(AgentMemory, WorkThatCostsMoreFeesThanItBringsIsNotBidFor) {
    const U256 fees = segment_fees(kBaseFee);
    const Bidding usual = bidding(), asked = bidding(U256(kMilli));
    const auto poor = post(1, 16), fair = post(2, 19);
    ASSERT_GT(fees, U256(16) * U256(kMilli));
    const Quote none = usual.quote(book, params, kBaseFee, 1, poor);
    EXPECT_FALSE(none.price);
    EXPECT_NE(none.why_not.find("calls"), std::string::npos) << none.why_not;
    const Quote least = usual.quote(book, params, kBaseFee, 2, fair);
    ASSERT_TRUE(least.price);
    EXPECT_EQ(*least.price, ledger::mul_div(fees, 11, 10)) << "ten segments, and the start";
    EXPECT_TRUE(asked.quote(book, params, kBaseFee, 1, poor).price) << "whoever names a price knows why";
    EXPECT_FALSE(usual.quote(book, params, kBaseFee * U256(100), 2, fair).price) << "while blocks are full";
}

TEST_F(AgentMemory, MetricsSayWhatIsTriedAgain) {
    AgentFigures figures;
    figures.role = "solver";
    figures.height = 70;
    MetricsFile file(folder.path());
    const auto text = [&] {
        std::ifstream in(folder.path() / "metrics.prom");
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    file.write(figures);
    EXPECT_NE(text().find("retrace_agent_height{role=\"solver\"} 70\n"), std::string::npos) << text();
    EXPECT_EQ(text().find("attempts"), std::string::npos);
    ++figures.height;
    figures.waiting.push_back({5, 1, "prepare", "nobody serves \"it\"\n", 3, 99, 700});
    file.write(figures);
    EXPECT_NE(text().find("retrace_agent_waiting_attempts{run=\"1\",task=\"5\",work=\"prepare\"} 3\n"),
              std::string::npos)
        << text();
    EXPECT_NE(text().find("retrace_agent_waiting_deadline_height{run=\"1\",task=\"5\",work=\"prepare\"} 700\n"),
              std::string::npos);
    EXPECT_EQ(text().find("serves"), std::string::npos) << "a reason is in the log";
    figures.height += 5;
    file.write(figures);
    EXPECT_EQ(text().find("} 76\n"), std::string::npos) << "not in every block";
}

}  // namespace
}  // namespace retrace::node
