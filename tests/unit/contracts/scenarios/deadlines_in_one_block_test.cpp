// SPDX-License-Identifier: MIT
// Several deadlines that fall into one block: what the scheduler handles first decides nothing. SPEC 13.5.1, 13.7.1.
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;

class DeadlinesInOneBlock : public HostileReports {
protected:
    /// Every segment of alice's run is audited; auditors have more time than she has for a checkpoint.
    void begin_task(std::uint64_t window = 8, std::uint64_t moves = 10) {
        auto wanted = small_params();
        wanted.challenge_blocks = window;
        wanted.moves = moves;
        wanted.reports = 1;
        wanted.checkpoint_blocks = 24;
        wanted.verdict_blocks = 40;
        wanted.unbond_blocks = 2'000;
        start(wanted, {"alice"});
        TaskSpec spec = spec_of(60, 1);
        spec.audit_bp = 10'000;
        id = assign("alice", spec);
        verify_first(id);
        ASSERT_EQ(checkpoint("alice", 2, 0, id), CallStatus::ok);
    }
    market::Audit second() const { return audit(segment(1, 0, id).audit); }
    /// One block in which alice commits at the last moment, and serves.
    void step() {
        if (run(0, id).deadline != 0 && height + 1 >= run(0, id).deadline) commit();
        serve("alice", 0, id);
        next_block();
    }
    void commit() {
        ASSERT_EQ(checkpoint("alice", run(0, id).next_state, 0, id), CallStatus::ok) << last.revert_reason;
    }
    bool collects_for_the_last_time() const {
        return segment(1, 0, id).audit != 0 && second().phase == AuditPhase::collecting &&
               second().redraws == params.redraws;
    }
    /// Until the block before that in which the last audit round and the next checkpoint are due. The scheduler handles
    /// the audit first, because its scheduled item was written first.
    void before_both_are_due() {
        while (!collects_for_the_last_time() && !HasFatalFailure()) step();
        const std::uint64_t due = second().deadline;
        while (height + params.checkpoint_blocks < due && !HasFatalFailure()) step();
        commit();
        ASSERT_EQ(run(0, id).deadline, due);
        while (height + 1 < due) serve("alice", 0, id), next_block();
        ASSERT_EQ(second().phase, AuditPhase::collecting);
        ASSERT_EQ(run(0, id).unaudited_since, 0u);
        ASSERT_EQ(run(0, id).state, RunState::running);
    }
    std::uint64_t id = 0;
};

/// 13.5.1: nobody has noted yet that the checkpoint is missed when the audit begins to wait.
TEST_F(DeadlinesInOneBlock, AWaitForAuditorsForgivesNoDeadlineThatHasJustPassed) {
    begin_task();
    before_both_are_due();
    const U256 stake = bonded("alice"), lock = run(0, id).locked;
    advance(2);
    EXPECT_EQ(second().phase, AuditPhase::closed);
    EXPECT_EQ(run(0, id).state, RunState::forfeited);
    EXPECT_EQ(stake - bonded("alice"), lock) << all<RunEnded>().back().reason;  // Other audits are open (13.5).
}

/// 14.12.5: an accomplice's challenge holds the late run until the wait for auditors is over.
TEST_F(DeadlinesInOneBlock, ALateRunDoesNotLeaveWithItsLockWhenItsWaitForAuditorsEnds) {
    begin_task(250, 40);
    before_both_are_due();
    ASSERT_EQ(challenge(accomplice(0), id, 0), CallStatus::ok) << last.revert_reason;
    advance(2);
    ASSERT_EQ(second().phase, AuditPhase::no_auditors);
    EXPECT_EQ(checkpoint("alice", run(0, id).next_state, 0, id), CallStatus::too_late);
    const U256 stake = bonded("alice"), lock = run(0, id).locked;
    const std::uint64_t since = run(0, id).unaudited_since;
    ASSERT_NE(since, 0u);
    const auto play = [&] {
        const bool hers = dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver);
        if (dispute(1).state != market::DisputeState::open || !hers || height < dispute(1).deadline) return;
        ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok) << last.revert_reason;
    };
    ASSERT_TRUE(advance_until([&] { return play(), run(0, id).state != RunState::running; }, 400));
    ASSERT_EQ(dispute(1).state, market::DisputeState::challenger_lost);
    ASSERT_GT(height, since + 2 * params.unaudited_blocks);
    EXPECT_EQ(stake - bonded("alice"), lock) << all<RunEnded>().back().reason;  // Other audits are open (13.5).
}

/// 14.10: the audit ends the run unpaid, because one of its auditors has used up its reports and the others are silent.
TEST_F(DeadlinesInOneBlock, ALateRunThatAnAuditEndsUnpaidLosesItsLock) {
    begin_task();
    while (segment(1, 0, id).audit == 0 || second().phase != AuditPhase::collecting) step();
    ASSERT_EQ(say(name_of(second().seats.at(0).auditor), 1, 1, 0, id), CallStatus::ok) << last.revert_reason;
    answer(1, "alice");
    before_both_are_due();
    const U256 stake = bonded("alice"), lock = run(0, id).locked;
    advance(2);
    EXPECT_EQ(second().phase, AuditPhase::closed);
    EXPECT_EQ(second().seats.at(0).state, market::SeatState::released);
    EXPECT_EQ(stake - bonded("alice"), lock) << all<RunEnded>().back().reason;
}

}  // namespace
}  // namespace retrace::contracts
