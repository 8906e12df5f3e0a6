// SPDX-License-Identifier: MIT
// A party is one machine: work that the ledger assigns to it has a place in one order, and each deadline counts from
// that place. SPEC 18.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;

constexpr std::uint64_t kReplay = 30;  // allowance of a segment; the windows around it are 5 to 8 blocks

class MachineTime : public MarketTest {
protected:
    /// Posts a task whose segments take `kReplay` blocks; alice wins and accepts it.
    void start(const std::vector<std::string>& verifiers, std::uint8_t auditors, std::uint64_t checkpoints = 1'000) {
        market::Params wanted = small_params();
        wanted.checkpoint_blocks = checkpoints;
        if (deliver_blocks != 0) wanted.deliver_blocks = deliver_blocks;
        begin(wanted);
        for (const std::string& name : verifiers) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol", "dave"}) add_solver(name);
        advance(9);
        start_task("alice", auditors);
    }
    void start_task(const std::string& solver, std::uint8_t auditors) {
        TaskSpec spec = small_spec();
        spec.replay_blocks = kReplay;
        spec.auditors = auditors;
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1'000);
        spec.finish_blocks = 5'000;
        const std::uint64_t id = post(spec);
        auction({{solver, 400}}, id);
        ASSERT_EQ(send(solver, AcceptData{id}), CallStatus::ok);
    }
    /// Seats auditors for segment 0 of each task, which is always audited; the solvers open the required states.
    void seat_all(const std::vector<std::string>& solvers) {
        for (std::uint64_t id = 1; id <= solvers.size(); ++id)
            for (const std::uint64_t i : {0, 1})
                ASSERT_EQ(checkpoint(solvers[id - 1], i, 0, id), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(advance_until([&] {
            for (std::uint64_t id = 1; id <= solvers.size(); ++id) serve(solvers[id - 1], 0, id);
            std::size_t seated = 0;
            for (std::uint64_t id = 1; id <= views::audit_count(state); ++id) seated += !audit(id).seats.empty();
            return seated == solvers.size();
        }));
    }
    std::uint64_t deliver_blocks = 0;  ///< Of the chain; 0: as in small_params().
    market::Audit audit(std::uint64_t id = 1) const { return views::audit(state, id).value(); }
    /// Whether the start is open, and the beacon that may draw has come.
    bool audit_is_queued() const {
        if (views::audit_count(state) == 0 || audit().phase != AuditPhase::drawing) return false;
        const auto start = views::checkpoint(state, 1, 0, 0).value();
        return height >= (start.open_height / params.epoch_blocks + 2) * params.epoch_blocks;
    }
    market::Report report(std::uint64_t id) const { return views::report(state, id).value(); }
    CallStatus say(const std::string& who, std::uint8_t kind, std::uint64_t index, std::uint64_t tile,
                   std::uint64_t id = 1) {
        return send(who, ReportUnavailable{kind, id, 0, index, 0, tile}, params.report_fee);
    }
    void give(const std::string& who, std::uint64_t blocks) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        give_work(fx, party(who), blocks);
        state.apply(next.diff());
    }
    std::uint64_t given(const std::string& who) const { return backlog(state, party(who)).total; }
};

/// A machine that needs the whole allowance for each replay and runs them one after the other.
class SlowMachine {
public:
    /// Adds new audits; returns the audit whose replay ends at this height, if any.
    std::optional<std::uint64_t> pass(std::uint64_t height, const std::vector<std::uint64_t>& owed) {
        for (const std::uint64_t id : owed)
            if (std::find(order_.begin(), order_.end(), id) == order_.end()) order_.push_back(id);
        if (done_ < order_.size() && began_ == 0) began_ = height;
        if (began_ == 0 || height < began_ + kReplay) return std::nullopt;
        began_ = done_ + 1 < order_.size() ? height : 0;
        return order_[done_++];
    }

private:
    std::vector<std::uint64_t> order_;
    std::size_t done_ = 0;
    std::uint64_t began_ = 0;
};

TEST_F(MachineTime, AVerifierThatIsDrawnForFourAuditsAtOnceAndTakesAllItsTimeMissesNone) {
    const std::vector<std::string> solvers = {"alice", "bob", "carol", "dave"};
    start({"v1"}, 1);
    for (std::size_t i = 1; i < solvers.size(); ++i) start_task(solvers[i], 1);
    seat_all(solvers);
    SlowMachine machine;
    for (int i = 0; i < 300; ++i) {
        for (std::uint64_t id = 1; id <= solvers.size(); ++id) serve(solvers[id - 1], 0, id);
        std::vector<std::uint64_t> owed;
        for (std::uint64_t id = 1; id <= views::audit_count(state); ++id) {
            const market::Audit now = audit(id);
            for (const market::Seat& seat : now.seats) {
                if (now.phase == AuditPhase::collecting && seat.state == SeatState::drawn) owed.push_back(id);
                if (now.phase == AuditPhase::verdicts && seat.state == SeatState::committed) {
                    EXPECT_EQ(send("v1", RevealVerdict{id, root(now.segment + 1), word("verdict v1")}), CallStatus::ok);
                }
            }
        }
        if (i == 0) {
            ASSERT_EQ(owed.size(), 4u) << "more than one machine does at a time";
        }
        if (const auto done = machine.pass(height, owed)) {
            const Hash32 blind = solver::verdict_commitment(root(1), word("verdict v1"), party("v1").bytes, *done);
            EXPECT_EQ(send("v1", CommitVerdict{*done, blind}), CallStatus::ok)
                << "audit " << *done << " at height " << height << ": " << last.revert_reason;
        }
        next_block();
    }
    for (std::uint64_t id = 1; id <= solvers.size(); ++id)
        EXPECT_EQ(segment(0, 0, id).state, market::SegmentState::verified) << id;
    EXPECT_EQ(views::verifier(state, party("v1"))->missed, 0u);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(MachineTime, VerdictsAreDueWhenTheLastOfTheAuditorsHasDoneWhatItWasGivenBefore) {
    start({"v1", "v2"}, 2);
    give("v2", 100);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    const std::uint64_t before = height;
    seat_auditors("alice");
    ASSERT_EQ(audit().seats.size(), 2u);
    for (const market::Seat& seat : audit().seats)
        EXPECT_EQ(seat.due, name_of(seat.auditor) == "v2" ? before + 100 + kReplay : height + kReplay);
    EXPECT_EQ(audit().deadline, before + 100 + kReplay + params.verdict_blocks);
}

TEST_F(MachineTime, AnAuditorThatWaitedForATileHasAPlaceAnewWhenItIsShown) {
    start({"v1"}, 1);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice");
    ASSERT_EQ(say("v1", 1, 0, 0), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(audit().deadline, report(1).deadline + kReplay + params.verdict_blocks);
    advance(kReplay);
    give("v1", 50);  // which it starts meanwhile
    const std::uint64_t until = backlog(state, party("v1")).until;
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    close_report(fx, 1, party("alice"));
    resume_after_answer(fx, views::report(next, 1).value());
    state.apply(next.diff());
    EXPECT_EQ(audit().seats.at(0).due, until + kReplay);
    EXPECT_EQ(audit().deadline, until + kReplay + params.verdict_blocks);
    EXPECT_EQ(given("v1"), 2 * kReplay + 50);
    EXPECT_EQ(backlog(state, party("v1")).open, kReplay + 50) << "the replay once";
}

/// Otherwise a quick verifier that is drawn often would seem ever busier, and parties that wait for it would wait
/// longer.
TEST_F(MachineTime, WhatIsDoneEarlyIsNotWaitedFor) {
    start({"v1"}, 1);
    seat_all({"alice"});
    EXPECT_EQ(backlog(state, party("v1")).until, height + kReplay);
    next_block();
    check_audits();
    EXPECT_LE(backlog(state, party("v1")).until, height) << "its verdict is committed";
    give("v1", 100);
    EXPECT_EQ(backlog(state, party("v1")).until, height + 100);
    EXPECT_EQ(given("v1"), 1 + 100) << "the block that its replay took, and this";
}

/// Work done before its turn returns no more than is left of the order. Otherwise a place given later would not cover
/// the work still to do (found by the composed simulation).
TEST_F(MachineTime, WhatIsDoneOutOfOrderLeavesRoomForWhatIsNot) {
    start({"v1"}, 1);
    for (int i = 0; i < 4; ++i) give("v1", 20);
    const auto done = [&] {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        end_work(fx, party("v1"), 20);
        state.apply(next.diff());
    };
    // The second, third and fourth are done in half of their time each; the first is still to do.
    for (int i = 0; i < 3; ++i) {
        advance(10);
        done();
        EXPECT_EQ(busy_until(state, party("v1"), height), height + 20 * (3 - i)) << i;
    }
    give("v1", 20);
    EXPECT_EQ(backlog(state, party("v1")).until, height + 20 + 20);
    EXPECT_EQ(given("v1"), 3 * 10 + 20 + 20);
}

TEST_F(MachineTime, WhatATreeTookLessIsNotWaitedForEither) {
    start({"v1", "v2"}, 2);
    seat_all({"alice"});
    for (const char* name : {"v1", "v2"}) ASSERT_EQ(say(name, 1, 0, 0), CallStatus::ok);
    give("alice", 10);
    next_block();
    const auto answer = [&](std::uint64_t id) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        close_report(fx, id, party("alice"));
        state.apply(next.diff());
    };
    const std::uint64_t until = backlog(state, party("alice")).until;
    EXPECT_EQ(until, height - 1 + kReplay + 10);
    answer(1);
    EXPECT_EQ(backlog(state, party("alice")).until, height + 10);
    answer(2);
    EXPECT_EQ(backlog(state, party("alice")).until, height + 10) << "one tree";
}

TEST_F(MachineTime, AnAuditThatIsOverFreesWhoHadNotBegunIt) {
    start({"v1", "v2"}, 2);
    seat_all({"alice"});
    give("v1", 50);
    next_block();
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    forfeit_silent_run(fx, 1, 0, SlashReason::not_served);
    state.apply(next.diff());
    EXPECT_EQ(backlog(state, party("v1")).until, height + 50);
    EXPECT_EQ(backlog(state, party("v2")).until, height);
}

TEST_F(MachineTime, WhoHasHalfAnUnbondingPeriodToDoIsNotDrawn) {
    start({"v1", "v2", "v3"}, 1);
    for (const char* name : {"v1", "v2"}) give(name, params.unbond_blocks / 2 + 40);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    const std::uint64_t from = height;
    ASSERT_TRUE(advance_until([&] { return serve("alice"), audit_is_queued(); }));
    EXPECT_TRUE(audit().seats.empty()) << "most of the stake is busy, so the draw waits";
    seat_auditors("alice");
    EXPECT_GE(height, from + 40);
}

TEST_F(MachineTime, AllReportsAboutOneStateAreAnsweredFromOneTreeAndOthersHaveTheirOwnTime) {
    start({"v1", "v2", "v3"}, 2);
    start_task("alice", 2);
    seat_all({"alice", "alice"});
    const auto auditor = [&](std::uint64_t task_id, std::size_t seat) {
        return name_of(audit(segment(0, 0, task_id).audit).seats.at(seat).auditor);
    };
    const std::uint64_t from = height, answer = params.answer_blocks;
    for (const std::size_t seat : {0u, 1u})
        for (std::uint64_t tile = 0; tile < 4; ++tile)
            ASSERT_EQ(say(auditor(1, seat), 1, 0, tile), CallStatus::ok) << last.revert_reason;
    for (std::uint64_t id = 1; id <= 8; ++id) EXPECT_EQ(report(id).deadline, from + kReplay + answer);
    ASSERT_EQ(say(auditor(2, 0), 1, 0, 0, 2), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(report(9).deadline, from + 2 * kReplay + answer) << "another state is another tree";
    ASSERT_EQ(say(auditor(1, 0), 2, 0, 0), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(report(10).deadline, from + 2 * kReplay + answer) << "a record of the program lies ready";
    EXPECT_EQ(given("alice"), 2 * kReplay);
    // Once no report is open any more, the tree may be deleted.
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    for (std::uint64_t id = 1; id <= 8; ++id) close_report(fx, id, party("alice"));
    state.apply(next.diff());
    ASSERT_EQ(say(auditor(1, 0), 1, 0, 5), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(report(11).deadline, from + 2 * kReplay + answer) << "the first one was built at once";
}

TEST_F(MachineTime, EveryKeeperOfAStateHasTheTimeToLoadItAndASuccessorWaitsForTheSlowest) {
    start({"v1", "v2", "v3"}, 2);
    wrong_from = 4;
    play("alice", 0, 1, 600);
    const std::uint64_t first = task().first_state;
    ASSERT_GE(first, 1u);
    auction({{"bob", 500}});
    const auto keepers = views::checkpoint(state, 1, 0, first)->keepers;
    ASSERT_FALSE(keepers.empty());
    const std::string slow = name_of(keepers.back());
    give(slow, 70);
    const std::uint64_t until = backlog(state, party(slow)).until, deadline = run(1).deadline;
    ASSERT_EQ(say("bob", 5, first, 0), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(report(1).deadline, until + kReplay + params.answer_blocks);
    for (const Address& keeper : keepers) EXPECT_GE(backlog(state, keeper).until, height + kReplay);
    EXPECT_EQ(run(1).deadline, deadline + report(1).deadline - height);
    ASSERT_EQ(say("bob", 5, first, 1), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(1).deadline, deadline + report(1).deadline - height) << "it waits for both at once";
    while (height < report(1).deadline) next_block();
    EXPECT_EQ(run(1).state, RunState::assigned);
    EXPECT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
}

TEST_F(MachineTime, ADeliveryLastsUntilWhatWasReportedInTimeIsAnswered) {
    start({"v1", "v2", "v3"}, 2);
    play("alice", 0, 1, 600);
    ASSERT_EQ(task().state, market::TaskState::delivering);
    ASSERT_EQ(say("requester", 4, 4, 0), CallStatus::ok) << last.revert_reason;
    const std::uint64_t due = report(1).deadline, end = task().deliver_end;
    ASSERT_GT(due, end) << "the answer takes longer than is left of the delivery";
    while (height <= end) next_block();
    EXPECT_EQ(say("requester", 4, 4, 1), CallStatus::too_late);
    while (height < due) next_block();
    EXPECT_EQ(task().state, market::TaskState::delivering);
    advance(2);
    EXPECT_EQ(run().state, RunState::forfeited) << "alice does not answer";
    EXPECT_EQ(task().state, market::TaskState::settled);
    ASSERT_FALSE(all<Slashed>().empty());
    EXPECT_EQ(all<Slashed>().back().reason, "not_served");
}

/// Both deadlines are noted in one block, that of the delivery first.
TEST_F(MachineTime, AReportThatIsDueWhenTheDeliveryEndsIsWaitedFor) {
    deliver_blocks = 100;
    start({"v1", "v2", "v3"}, 2);
    play("alice", 0, 1, 600);
    ASSERT_EQ(task().state, market::TaskState::delivering);
    const std::uint64_t end = task().deliver_end;
    while (height + kReplay + params.answer_blocks < end) next_block();
    ASSERT_EQ(say("requester", 4, 4, 0), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(report(1).deadline, end);
    while (height <= end + 2) next_block();
    EXPECT_EQ(run().state, RunState::forfeited) << "alice does not answer";
    EXPECT_EQ(task().state, market::TaskState::settled);
    ASSERT_FALSE(all<Slashed>().empty());
    EXPECT_EQ(all<Slashed>().back().reason, "not_served");
}

/// Reports that auditors and challengers of a replica's run have open must not leave the requester without one.
TEST_F(MachineTime, OnlyReportsOfTheModelCountAsTheRequesters) {
    start({"v1", "v2", "v3"}, 2);
    play("alice", 0, 1, 600);
    ASSERT_EQ(task().state, market::TaskState::delivering);
    std::vector<std::uint64_t> others;
    for (std::uint64_t id = 1'000; id < 1'064; ++id) {
        market::Report other;
        other.id = id;
        other.kind = market::ReportKind::state;
        other.state = market::ReportState::open;
        other.reporter = party("v1");
        other.task = 1;
        other.run = 1;
        store(state, keys::report(id), other);
        others.push_back(id);
    }
    store_list(state, keys::open_reports(1), others);
    for (std::uint64_t tile = 0; tile < 64; ++tile)
        ASSERT_EQ(say("requester", 4, 4, tile), CallStatus::ok) << tile << ": " << last.revert_reason;
    EXPECT_EQ(say("requester", 4, 4, 64), CallStatus::too_many_open);
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    close_report(fx, 1, party("alice"));
    state.apply(next.diff());
    EXPECT_EQ(say("requester", 4, 4, 64), CallStatus::ok) << last.revert_reason;
}

TEST_F(MachineTime, TrainingIsPostponedByWhatItsSolverIsGiven) {
    start({"v1"}, 1, 300);
    const std::uint64_t deadline = run().deadline, finish = run().finish_height;
    advance(10);
    give("alice", 200);
    while (height <= deadline + 1) next_block();
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_EQ(run().deadline, deadline + 200);
    EXPECT_EQ(run().finish_height, finish + 200);
    while (height < deadline + 200) next_block();
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok) << "in the last block";
    // Work that was assigned and not yet done still precedes the next one.
    give("alice", 300);
    ASSERT_EQ(checkpoint("alice", 1), CallStatus::ok);
    EXPECT_EQ(run().deadline, height + 300 + params.checkpoint_blocks);
    EXPECT_EQ(run().finish_height, finish + 500);
    EXPECT_LT(run().deadline, run().finish_height);
}

TEST_F(MachineTime, WhoIsSilentBeyondThatIsLate) {
    start({"v1"}, 1);
    const std::uint64_t deadline = run().deadline;
    give("alice", 200);
    while (height < deadline + 200) next_block();
    EXPECT_EQ(run().state, RunState::running);
    next_block();
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(all<Slashed>().back().reason, "not_checkpointed");
}

TEST_F(MachineTime, AnAcceptanceIsPostponedByWhatTheWinnerIsGiven) {
    for (const char* name : {"alice", "bob"}) add_solver(name);
    TaskSpec spec = small_spec();
    spec.replay_blocks = kReplay;
    post(spec);
    auction({{"alice", 400}, {"bob", 700}});
    const std::uint64_t deadline = run().deadline;
    give("alice", 40);
    while (height < deadline + 40) next_block();
    EXPECT_EQ(run().state, RunState::assigned) << "its last block";
    next_block();
    EXPECT_EQ(run().state, RunState::left);
}

TEST_F(MachineTime, AChallengeWindowHasRoomForAReplay) {
    start({"v1", "v2"}, 2);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).window_end != 0;
    }));
    EXPECT_EQ(segment(0).window_end, height + params.challenge_blocks + kReplay);
    advance(params.challenge_blocks + kReplay - 1);
    EXPECT_EQ(send("bob", ChallengeSegment{1, 0, 0, word("mine")}, params.challenge_bond), CallStatus::ok);
}

/// A challenger's clock waits only once for reports made at the same time.
TEST_F(MachineTime, AChallengersClockWaitsForAllItsReportsTogether) {
    start({"v1", "v2"}, 2);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).window_end != 0;
    }));
    ASSERT_EQ(send("bob", ChallengeSegment{1, 0, 0, word("mine")}, params.challenge_bond), CallStatus::ok);
    const std::uint64_t clock = views::dispute(state, 1)->challenger_clock;
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) ASSERT_EQ(say("bob", 1, 0, tile), CallStatus::ok);
    EXPECT_GE(report(1).deadline, height + kReplay + params.answer_blocks);
    EXPECT_EQ(views::dispute(state, 1)->challenger_clock, clock + report(1).deadline - height);
}

}  // namespace
}  // namespace retrace::contracts
