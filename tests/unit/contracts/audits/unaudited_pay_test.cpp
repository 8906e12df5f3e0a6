// SPDX-License-Identifier: MIT
// Tasks that ask for more auditors than can be drawn. SPEC 14.12.
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/audits/waiting_audits.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/task_end.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::SegmentState;
using market::TaskState;

class UnauditedPay : public MarketTest {
protected:
    /// alice wins a task with two auditors on a chain with these verifiers.
    void start(const std::vector<const char*>& verifiers, const TaskSpec& spec = small_spec()) {
        for (const char* name : verifiers) add_verifier(name);
        add_solver("alice");
        add_solver("bob");
        advance(9);
        post(spec);
        auction({{"alice", 400}, {"bob", 700}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        before = ledger::balance_of(state, party("alice"));
    }
    /// Passes one block: alice commits and opens due states, and all auditors audit.
    void block() {
        if (run().state == RunState::running && run().next_state <= 4) {
            ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        check_audits();
        next_block();
    }
    U256 before;
};

TEST_F(UnauditedPay, NothingIsPaidWhereNobodyCanBeDrawn) {
    start({});
    wrong_from = 1;  // alice skips all work, and there is no auditor to detect it
    for (int i = 0; i < 200; ++i) block();
    EXPECT_TRUE(run().earned.is_zero());
    EXPECT_EQ(ledger::balance_of(state, party("alice")), before);
    EXPECT_TRUE(all<Slashed>().empty()) << "whoever waits for auditors has done nothing wrong";
}

TEST_F(UnauditedPay, OneVerifierIsNotTakenForTwoAuditors) {
    start({"v1"});
    for (int i = 0; i < 200; ++i) block();
    EXPECT_TRUE(run().earned.is_zero());
    EXPECT_TRUE(all<AuditorsDrawn>().empty()) << "an audit of two auditors is not an audit of one";
}

TEST_F(UnauditedPay, SilentAuditorsAreNotTakenForAnAudit) {
    start({"v1", "v2", "v3"});
    lazy = {"v1", "v2", "v3"};
    for (int i = 0; i < 400 && !market::is_final(task().state); ++i) block();
    EXPECT_TRUE(run().earned.is_zero());
}

TEST_F(UnauditedPay, ATaskThatAllowsItIsPaid) {
    TaskSpec spec = small_spec();
    spec.allow_unaudited = true;
    start({}, spec);
    for (int i = 0; i < 200 && task().state == TaskState::running; ++i) block();
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(run().earned, run().price * U256(4));
}

TEST_F(UnauditedPay, NothingBeyondTheSegmentThatWaitsIsShown) {
    start({});
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        return run().unaudited_since != 0;
    }));
    for (int i = 0; i < 30; ++i) block();
    ASSERT_EQ(run().next_state, 5u) << "she goes on, blind";
    EXPECT_EQ(run().unaudited_from, 0u);
    EXPECT_EQ(views::audit(state, segment(0).audit)->phase, market::AuditPhase::no_auditors);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        EXPECT_FALSE(views::checkpoint(state, 1, 0, i)->opened) << i;
        EXPECT_EQ(send("alice", OpenRoots{1, 0, i, {salt(0, i)}, {root(i)}}), CallStatus::would_leak);
    }
}

TEST_F(UnauditedPay, NoCheckpointIsDueMeanwhile) {
    start({});
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 1), CallStatus::ok);
    const std::uint64_t finish = run().finish_height;
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        return run().unaudited_since != 0;
    }));
    EXPECT_EQ(run().deadline, 0u);
    const std::uint64_t since = run().unaudited_since;
    advance(params.checkpoint_blocks + 2);
    ASSERT_EQ(run().state, RunState::running);
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    ASSERT_TRUE(advance_until([&] {
        check_audits();
        return run().unaudited_since == 0;
    }));
    EXPECT_EQ(run().finish_height, finish + height - since) << "the wait was not the solver's";
    EXPECT_GT(run().deadline, height);
    play("alice");
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_TRUE(all<Slashed>().empty());
    EXPECT_EQ(run().earned, run().price * U256(4));
}

TEST_F(UnauditedPay, TheRequesterMayPayForWhatWaits) {
    start({});
    int decisions = 0;
    for (int i = 0; i < 600 && task().state == TaskState::running; ++i) {
        block();
        if (run().unaudited_since == 0) continue;
        const CallStatus status = send("requester", DecideUnaudited{1, 0, true});
        if (height < run().unaudited_since + params.unaudited_blocks && run().unaudited_since != 0) {
            EXPECT_EQ(status, CallStatus::too_early);
        }
        decisions += status == CallStatus::ok;
    }
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_GE(decisions, 1);
    EXPECT_EQ(run().earned, run().price * U256(4));
    EXPECT_EQ(all<UnauditedDecided>().size(), static_cast<std::size_t>(decisions));
}

/// The verifiers leave when the first segments are finalised, so only the last one waits.
TEST_F(UnauditedPay, WhoDoesNotPayPaysForWhatIsFinalAndGetsNoMore) {
    start({"v1", "v2", "v3"});
    keeping = false;  // no state is kept, so nothing is paid yet
    for (std::uint64_t i = 0; i <= 3; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        if (run().state == RunState::running && run().deadline == height + 1) {
            EXPECT_EQ(checkpoint("alice", 4), CallStatus::ok);
        }
        return run().finalised == 3;
    }));
    for (const char* name : {"v1", "v2", "v3"}) {
        if (views::audit_count(state) != 0 && open_audit_ids(1, 0).empty()) {
            EXPECT_EQ(send(name, RetireVerifier{}), CallStatus::ok) << last.revert_reason;
        }
    }
    if (run().next_state == 4) {
        ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok);
    }
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        return run().unaudited_since != 0;
    }));
    EXPECT_EQ(run().unaudited_from, 3u);
    ASSERT_TRUE(run().earned.is_zero());
    EXPECT_EQ(send("requester", DecideUnaudited{1, 0, false}), CallStatus::too_early);
    advance(params.unaudited_blocks);
    ASSERT_EQ(send("requester", DecideUnaudited{1, 0, false}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run().earned, run().price * U256(3)) << "though nobody keeps a state of them";
    EXPECT_EQ(run().state, RunState::left);
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(views::task_end(state, 1), TaskEnd::not_audited);
    EXPECT_TRUE(task().escrow.is_zero()) << "what is left is the requester's again";
    EXPECT_FALSE(views::checkpoint(state, 1, 0, 4)->opened) << "it never saw what it did not pay for";
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(UnauditedPay, ARequesterThatSaysNothingDoesNotPay) {
    start({});
    ASSERT_TRUE(advance_until([&] {
        if (run().next_state <= 4) {
            EXPECT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        return run().unaudited_since != 0;
    }));
    const std::uint64_t since = run().unaudited_since;
    ASSERT_TRUE(advance_until([&] { return market::is_final(task().state); }));
    EXPECT_EQ(height, since + 2 * params.unaudited_blocks + 1);
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_TRUE(run().earned.is_zero());
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
    EXPECT_TRUE(all<Slashed>().empty());
    EXPECT_FALSE(all<UnauditedDecided>().at(0).pay);
}

TEST_F(UnauditedPay, ReplicasThatWaitEndOneByOne) {
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    add_solver("alice");
    add_solver("bob");
    post(spec);
    auction({{"alice", 400}, {"bob", 700}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    play_all(1, 300);
    EXPECT_EQ(task().state, TaskState::expired);
    for (const std::uint32_t index : {0u, 1u}) {
        EXPECT_EQ(run(index).state, RunState::left);
        EXPECT_TRUE(run(index).earned.is_zero());
    }
    EXPECT_TRUE(all<Slashed>().empty());
}

/// 14.12.13: two replicas of one owner may forge a segment alike that is drawn in one of them only. When all verifiers
/// are gone, the audit waits.
TEST_F(UnauditedPay, ASegmentThatWasNotDrawnInAReplicaClosesNoAuditThatFindsNobody) {
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    spec.checkpoint_blocks = 2'000;
    spec.finish_blocks = 100'000;
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    post(spec);
    auction({{"alice", 400}, {"bob", 700}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    const auto serve_both = [&] { serve("alice"), serve("bob", 1); };
    for (const std::uint64_t i : {0, 1}) {
        ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok);
    }
    ASSERT_TRUE(advance_until([&] {
        serve_both();
        return segment(0).audit != 0 && views::audit(state, segment(0).audit)->phase == market::AuditPhase::drawing;
    }));
    const std::uint64_t id = segment(0).audit;
    for (const char* name : {"v1", "v2"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until([&] { return serve_both(), views::verifiers(state).empty(); }));
    ASSERT_EQ(views::audit(state, id)->phase, market::AuditPhase::drawing);
    ASSERT_TRUE(views::audit(state, id)->seats.empty());
    ASSERT_TRUE(advance_until([&] {
        serve_both();
        auto other = segment(0, 1);
        other.state = SegmentState::unaudited;
        store(state, keys::segment(1, 1, 0), other);
        return views::audit(state, id)->phase != market::AuditPhase::drawing;
    }));
    ASSERT_EQ(run().state, RunState::running);
    ASSERT_TRUE(views::audit(state, id)->seats.empty());
    EXPECT_EQ(views::audit(state, id)->phase, market::AuditPhase::no_auditors);
    EXPECT_NE(segment(0).state, SegmentState::unaudited);
}

/// The forger of a drawn segment cannot undo the draw by an accomplice that leaves.
TEST_F(UnauditedPay, AMemberThatRetiresAfterTheDrawLeavesItToTheOthers) {
    start({"v1", "v2"});
    wrong_run = 0;
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        return views::audit_count(state) != 0 && views::audit(state, 1)->phase == market::AuditPhase::drawing;
    }));
    ASSERT_TRUE(views::audit(state, 1)->seats.empty());
    ASSERT_EQ(send("v2", RetireVerifier{}), CallStatus::ok) << last.revert_reason;
    for (int i = 0; i < 100 && views::dispute_count(state) == 0; ++i) block();
    ASSERT_EQ(views::dispute_count(state), 1u) << "v1 alone audits, and finds it";
    EXPECT_EQ(views::dispute(state, 1)->challenger, party("v1"));
}

/// A run does not leave while it owes an opening that may show its forgery.
TEST_F(UnauditedPay, ARunDoesNotEndBeforeItOpensWhatIsDue) {
    auto wanted = small_params();
    wanted.open_blocks = 150;
    wanted.checkpoint_blocks = 500;
    begin(wanted);
    start({"v1", "v2", "v3"});
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice"), check_audits();
        return segment(0).state == SegmentState::verified;
    }));
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return segment(2).state == SegmentState::unaudited; }));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return segment(3).state == SegmentState::auditing; }));
    ASSERT_EQ(send("alice", OpenSegment{1, 0, 3, salt(0, 3), solver_root(3)}), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until([&] { return run().unaudited_since != 0; }));
    const auto due = views::checkpoint(state, 1, 0, 2);
    ASSERT_FALSE(due->opened);
    ASSERT_LT(run().unaudited_since + 2 * params.unaudited_blocks + params.epoch_blocks, due->open_deadline);
    advance(params.unaudited_blocks);
    EXPECT_EQ(send("requester", DecideUnaudited{1, 0, false}), CallStatus::too_early);
    ASSERT_TRUE(advance_until([&] { return run().state != RunState::running; }));
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(all<RunEnded>().back().reason, "not_opened");
}

/// The requester's decision closes 16 audits a block; what they withheld is woken once a block, not once an audit.
TEST_F(UnauditedPay, AuditsThatAreClosedInOneBlockWakeOnce) {
    TaskSpec spec = small_spec();
    spec.steps = 400;
    spec.audit_bp = 3'000;
    auto wanted = small_params();
    wanted.checkpoint_blocks = 500;
    begin(wanted);
    start({"v1", "v2", "v3"}, spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice"), check_audits();
        return segment(0).state == SegmentState::verified;
    }));
    for (std::uint64_t i = 2; i <= 40; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    lazy = {"v1", "v2", "v3"};
    const auto waiting = [&] { return list<std::uint64_t>(state, keys::waiting_audits(1, 0)).size(); };
    ASSERT_TRUE(advance_until([&] { return serve("alice"), waiting() >= 4; }, 400));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return height >= run().unaudited_since + params.unaudited_blocks; }));
    const std::size_t before_it = waiting();
    ASSERT_EQ(send("requester", DecideUnaudited{1, 0, true}), CallStatus::ok) << last.revert_reason;
    next_block();
    ASSERT_LT(waiting() + 3, before_it + 1) << "several are closed";
    std::size_t wakes = 0;
    for (std::uint64_t page = 0; page * kDuePage < counter(state, keys::due_count(height + 1)); ++page)
        for (const ScheduledItem& item : list<ScheduledItem>(state, keys::due_page(height + 1, page)))
            wakes += item.kind == ScheduledKind::wake;
    EXPECT_EQ(wakes, 1u);
}

/// Nor can it by an audit of another segment that waits.
TEST_F(UnauditedPay, ARunDoesNotEndWhileAuditorsHaveSomethingToSay) {
    TaskSpec spec = small_spec();
    spec.audit_bp = 10'000;
    auto wanted = small_params();
    wanted.checkpoint_blocks = 1'000;
    wanted.reveal_verdict_blocks = 100;
    begin(wanted);
    start({"v1", "v2", "v3", "v4"}, spec);
    hiding = {"v1", "v2", "v3", "v4"};
    wrong_run = 0;
    wrong_from = 2;
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    const auto of_segment = [&](std::uint64_t index) { return views::audit(state, segment(index).audit); };
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        if (segment(1).audit != 0 && of_segment(1)->phase == market::AuditPhase::collecting) return true;
        check_audits();
        return false;
    }));
    ASSERT_EQ(of_segment(0)->phase, market::AuditPhase::verdicts);
    EXPECT_EQ(views::seated_audits(state, 1, 0), 2u);
    // As if its auditors had found no match and no further auditors could be drawn (14.12.14).
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    auto waits = of_segment(0).value();
    for (market::Seat& seat : waits.seats) free_seat(fx, waits, seat);
    wait_for_auditors(fx, waits);
    // No verifier can be drawn again.
    for (const char* name : {"v1", "v2", "v3", "v4"}) give_work(fx, party(name), params.unbond_blocks);
    state.apply(next.diff());
    EXPECT_EQ(views::seated_audits(state, 1, 0), 1u);
    check_audits();
    ASSERT_EQ(of_segment(1)->phase, market::AuditPhase::revealing);
    EXPECT_NE(of_segment(1)->deadline, 0u) << "what auditors have committed to is due";
    advance(params.unaudited_blocks);
    if (run().state == RunState::running) {
        EXPECT_EQ(send("requester", DecideUnaudited{1, 0, false}), CallStatus::too_early);
    }
    ASSERT_TRUE(advance_until([&] { return market::is_over(run().state); }));
    EXPECT_EQ(run().state, RunState::forfeited) << "she did not show what they would have found";
}

TEST_F(UnauditedPay, Refusals) {
    EXPECT_EQ(send("requester", DecideUnaudited{1, 0, true}), CallStatus::unknown_task);
    start({});
    EXPECT_EQ(send("bob", DecideUnaudited{1, 0, true}), CallStatus::not_requester);
    EXPECT_EQ(send("requester", DecideUnaudited{1, 1, true}), CallStatus::unknown_run);
    EXPECT_EQ(send("requester", DecideUnaudited{1, 0, true}), CallStatus::nothing_waits);
    for (int i = 0; i < 200 && run().state == RunState::running; ++i) block();
    EXPECT_EQ(send("requester", DecideUnaudited{1, 0, true}), CallStatus::wrong_run_state);
}

}  // namespace
}  // namespace retrace::contracts
