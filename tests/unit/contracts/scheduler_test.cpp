// SPDX-License-Identifier: MIT
// Work of the scheduler per block, the cost of scheduling an item, and that one item of a kind is enough. SPEC 9.
#include "contracts/calls/gas.hpp"
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/effects.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;

/// A view that counts reads.
class MeteredView final : public ledger::StateView {
public:
    explicit MeteredView(const ledger::StateView& under) : under_(under) {}
    ledger::Account account(const Address& address) const override { return under_.account(address); }
    Bytes slot(const Address& contract, View key) const override {
        const Bytes found = under_.slot(contract, key);
        ++reads;
        bytes += found.size();
        return found;
    }
    mutable std::size_t reads = 0, bytes = 0;

private:
    const ledger::StateView& under_;
};

class Scheduler : public MarketTest {
protected:
    /// An item that needs no action: a challenge that a newer one has replaced.
    static ScheduledItem idle(std::uint64_t i) { return {ScheduledKind::challenge, 1'000'000 + i, 0, 0}; }
    template <class Write>
    void change(Write write) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        write(fx);
        state.apply(next.diff());
    }
    void fill(std::uint64_t at, std::uint64_t items) {
        change([&](Effects& fx) {
            for (std::uint64_t i = 0; i < items; ++i) schedule(fx, at, idle(i));
        });
    }
    std::uint64_t waiting(std::uint64_t at) const { return counter(state, keys::due_count(at)); }
    bool has_page(std::uint64_t at, std::uint64_t page) const {
        const keys::Key key = keys::due_page(at, page);
        return !state.slot(address_of(key.contract), key.bytes).empty();
    }
    bool is_late() const {
        const keys::Key key = keys::due_cursor();
        return !state.slot(address_of(key.contract), key.bytes).empty();
    }
};

TEST_F(Scheduler, WritingCostsTheSameHoweverMuchWaits) {
    const auto cost = [&] {
        const MeteredView counted(state);
        ledger::State next{static_cast<const ledger::StateView&>(counted)};
        Effects fx{next, params, height, {}};
        schedule(fx, height + 10, idle(0));
        EXPECT_LE(counted.bytes, 2'000u);
        return counted.reads;
    };
    const std::size_t alone = cost();
    fill(height + 10, 40 * kDueMax);
    EXPECT_EQ(cost(), alone) << "behind forty blocks' worth of items";
}

TEST_F(Scheduler, ABlockHandlesSoManyItemsInOrderAndTheNextGoesOn) {
    start_run();
    const std::uint64_t due = height + 2;
    fill(due, kDueMax + 3 * kDuePage);
    fill(due + 1, 5);
    next_block();
    ASSERT_FALSE(is_late());
    next_block();
    ASSERT_TRUE(is_late());
    EXPECT_FALSE(has_page(due, kDueMax / kDuePage - 1));
    EXPECT_TRUE(has_page(due, kDueMax / kDuePage));
    EXPECT_TRUE(has_page(due + 1, 0));
    next_block();
    EXPECT_FALSE(is_late()) << "the rest, and what this height had itself";
    for (const std::uint64_t at : {due, due + 1}) EXPECT_EQ(waiting(at), 0u);
    EXPECT_FALSE(has_page(due + 1, 0));
}

TEST_F(Scheduler, WhatIsLateHappensAllTheSame) {
    start_run();
    const std::uint64_t deadline = run().deadline;
    fill(deadline, 2 * kDueMax);  // handled at the deadline and in the next block
    while (height <= deadline + 1) {
        EXPECT_EQ(run().state, RunState::running) << height;
        next_block();
    }
    EXPECT_EQ(run().state, RunState::forfeited) << "alice has committed nothing; two blocks late, she is told";
    EXPECT_FALSE(is_late());
}

TEST_F(Scheduler, OfOneKindTheEarliestItemCountsAndNoOther) {
    start_run();
    const std::uint64_t at = height + 8;
    const ScheduledItem late{ScheduledKind::payment, 1, 0, at}, early{ScheduledKind::payment, 1, 0, at - 3};
    change([&](Effects& fx) {
        for (int i = 0; i < 100; ++i)
            schedule_single(fx, at + static_cast<std::uint64_t>(i / 10), ScheduledKind::payment, 1, 0);
    });
    EXPECT_EQ(waiting(at), 1u);
    change([&](Effects& fx) { schedule_single(fx, at - 3, ScheduledKind::payment, 1, 0); });
    EXPECT_EQ(waiting(at - 3), 1u);
    change([&](Effects& fx) {
        EXPECT_FALSE(take_scheduled_item(fx, late)) << "an earlier one has replaced it";
        EXPECT_TRUE(take_scheduled_item(fx, early));
        EXPECT_FALSE(take_scheduled_item(fx, early)) << "it is used up";
    });
}

TEST_F(Scheduler, ARunThatCommitsAndOpensMuchHasOneItemOfEachKind) {
    auto slow = small_params();
    slow.open_blocks = slow.checkpoint_blocks = 100;
    begin(slow);
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    TaskSpec spec = small_spec();
    spec.steps = 500;
    spec.audit_bp = 1;
    spec.price_ceiling = U256(1000);
    post(spec);
    auction({{"alice", 400}});
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    const std::uint64_t deadline = run().deadline;
    for (std::uint64_t i = 0; i <= 40; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    EXPECT_EQ(waiting(deadline + 1), 1u) << "forty-one checkpoints of one run";
    ASSERT_TRUE(advance_until([&] { return views::checkpoint(state, 1, 0, 20)->open_deadline != 0; }));
    std::vector<Hash32> salts, roots;
    for (std::uint64_t i = 3; i <= 20; ++i) salts.push_back(salt(0, i)), roots.push_back(root(i));
    ASSERT_EQ(send("alice", OpenRoots{1, 0, 3, salts, roots}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(segment(10).window_end, height + params.challenge_blocks);
    EXPECT_LE(waiting(height + 1) + waiting(segment(10).window_end), 2u)
        << "eighteen states, one scheduled item of payment";
}

/// Each auditor of each audit can make eight reports at will, and each report once moved two deadlines.
TEST_F(Scheduler, AReportPaysForWhatItAndItsAnswerWrite) {
    auto slow = small_params();
    slow.checkpoint_blocks = 300;
    begin(slow);
    start_run();
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice");
    const std::string who = name_of(views::audit(state, 1)->seats.at(0).auditor);
    const auto items = [&] {
        std::uint64_t sum = 0;
        for (std::uint64_t at = height + 1; at < height + 1'000; ++at) sum += waiting(at);
        return sum;
    };
    const std::uint64_t before = items();
    std::uint64_t gas = 0;
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {
        ASSERT_EQ(send(who, ReportUnavailable{1, 1, 0, 0, 0, tile}, params.report_fee), CallStatus::ok);
        gas += last.gas_used;
        if (tile % 2 == 1) {
            change([&](Effects& fx) {
                close_report(fx, tile + 1, party("alice"));
                resume_after_answer(fx, views::report(fx.state, tile + 1).value());
            });
        }
    }
    EXPECT_GE(items() - before, params.reports) << "each has a deadline of its own";
    EXPECT_LE((items() - before) * kGasScheduledItem, gas);
}

TEST_F(Scheduler, AnOpeningRemindsOfOnePaymentHoweverManyReplicasThereAre) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
    advance(9);
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    post(spec);
    auction({{"alice", 400}, {"bob", 500}, {"carol", 600}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (const std::uint64_t i : {0, 1})
        for (const std::uint32_t r : {0u, 1u}) ASSERT_EQ(checkpoint(r == 0 ? "alice" : "bob", i, r), CallStatus::ok);
    const auto payments = [&] {
        std::size_t found = 0;
        for (const ScheduledItem& item : list<ScheduledItem>(state, keys::due_page(height + 1, 0)))
            found += item.kind == ScheduledKind::payment;
        return found;
    };
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0);
        serve("bob", 1);
        return payments() != 0;
    }));
    EXPECT_EQ(payments(), 1u);
}

/// All bids are returned at once, as the auction's end would have done.
TEST_F(Scheduler, ACancelledTaskPaysAsTheEndOfItsAuctionDoes) {
    for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
    advance(9);
    post(small_spec());
    ASSERT_EQ(send("requester", CancelTask{1}), CallStatus::ok);
    EXPECT_GE(last.gas_used, kGasScheduledItem);
}

TEST_F(Scheduler, AMoveThatCanDecidePaysAsAScheduledItemDoes) {
    const auto gas = [&](const verifier::Move& move) {
        const Bytes data = calldata(PlayMove{1, verifier::encode(move)});
        return executor.gas_of(address_of(Contract::disputes), data) - kGasCall - kGasByte * data.size();
    };
    for (const verifier::Move& move : {verifier::Move{verifier::PostHashes{}}, verifier::Move{verifier::Choose{}},
                                       verifier::Move{verifier::NameElement{}}})
        EXPECT_EQ(gas(move), kGasMove);
    for (const verifier::Move& move : {verifier::Move{verifier::OpenState{}}, verifier::Move{verifier::OpenTrace{}},
                                       verifier::Move{verifier::OpenTensor{}}, verifier::Move{verifier::OpenTile{}},
                                       verifier::Move{verifier::ProveElement{}}})
        EXPECT_EQ(gas(move), kGasMove + kGasScheduledItem);
}

/// decisions/019: the most that the call may set off, at 300 gas a written record and 100 a read one.
TEST_F(Scheduler, ACallPaysForWhatItMaySetOffAtOnce) {
    const auto gas = [&](const auto& call) {
        const Bytes data = calldata(call);
        return executor.gas_of(address_of(std::remove_cvref_t<decltype(call)>::kContract), data);
    };
    EXPECT_GE(gas(OpenSegment{}), 490 * 300u) << "a wrong first state ends the run, with 64 bids for a replica";
    EXPECT_GE(gas(RevealSegment{}), 290 * 100u) << "five replicas";
    OpenRoots roots;
    for (const std::size_t count : {std::size_t{3}, kOpeningsMax, 2 * kOpeningsMax}) {
        roots.roots.resize(count);
        roots.salts.resize(count);
        EXPECT_EQ(gas(roots) - kGasCall - kGasByte * calldata(roots).size(),
                  std::min(count, kOpeningsMax) * kGasOpening);
    }
    EXPECT_GE(gas(AttestRetention{}), 1'050 * 300u) << "64 segments, 64 offers and 64 bids";
    EXPECT_GE(gas(RevealVerdict{}), 1'100 * 300u) << "the same, and the audit's seats";
    EXPECT_GE(gas(AnswerUnavailable{}), 1'100 * 100u) << "45 seats of the reporter";
    EXPECT_GE(gas(AcceptModel{}), 6'700 * 300u) << "the seats of 256 audits";
}

TEST_F(Scheduler, WhatFillsItPaysForIt) {
    start_run();
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    EXPECT_GE(last.gas_used, kCheckpointItems * kGasScheduledItem);
    // The maximum number of items per block costs more gas than a block has.
    EXPECT_GE(kDueMax * kGasScheduledItem, 400'000'000u);
}

}  // namespace
}  // namespace retrace::contracts
