// SPDX-License-Identifier: MIT
// A run that joined at a state which is proved wrong while it goes on. SPEC 13.7.1.
#include "tests/unit/contracts/reviews/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeState;
using market::RunState;

class StoppedRuns : public HostileReports {
protected:
    void raise(const std::string& who, std::uint8_t all) {
        const auto from = views::newest_finalised_state(state, task()).index;
        const U256 price = market::escrow_of_more(views::spec(state, 1).value(), params, from, 1).total();
        ASSERT_EQ(send("requester", RaiseReplicas{1, all}, price), Verdict::ok) << last.revert_reason;
        auction({{who, 300}});
    }
    void commit_at_deadline(const std::string& who, std::uint32_t index) {
        const market::Run now = run(index);
        if (now.state != RunState::running || now.next_state > 40 || height + 1 < now.deadline) return;
        ASSERT_EQ(checkpoint(who, now.next_state, index), Verdict::ok) << last.revert_reason;
    }
    /// Auditors of carol replay from the state that she started at, so they find what she found; the others find root().
    void check(std::uint64_t a) {
        for (const market::Seat& seat : audit(a).seats) {
            const std::string name = name_of(seat.auditor);
            const std::uint64_t end = audit(a).segment + 1;
            const Hash32 mine = audit(a).run == 2 ? wrong_root(end) : root(end), secret = word("verdict " + name);
            if (audit(a).phase == market::AuditPhase::collecting && seat.state == market::SeatState::drawn)
                send(name, CommitVerdict{a, solver::verdict_commitment(mine, secret, seat.auditor.bytes, a)});
            if (audit(a).phase == market::AuditPhase::verdicts && seat.state == market::SeatState::committed)
                send(name, RevealVerdict{a, mine, secret});
        }
    }
    /// One block: alice is fast until state 9, the others commit at their deadlines, and all serve and check.
    void step() {
        const market::Run a = run(0);
        if (a.state == RunState::running && (a.next_state <= 9 || height + 1 >= a.deadline)) {
            ASSERT_EQ(checkpoint("alice", a.next_state), Verdict::ok);
        }
        if (a.state == RunState::running && a.finalised > a.paid &&
            views::checkpoint(state, 1, 0, a.finalised)->keepers.empty()) {
            send("alice", RequestRetention{1, 0, a.finalised}, params.audit_fee);
            send("v1", AttestRetention{1, 0, a.finalised});
        }
        commit_at_deadline("bob", 1);
        serve("alice", 0), serve("bob", 1);
        if (joined) {
            if (!views::is_stopped(state, 1, 2)) commit_at_deadline("carol", 2);
            serve("carol", 2);
        }
        for (std::uint64_t id = 1; id <= views::audit_count(state); ++id) check(id);
        next_block();
    }
    /// alice forges state 6 and what follows, and is finalised up to state 8, because bob is slow; carol joins there.
    void join_at_a_forged_state() {
        auto wanted = small_params();
        wanted.checkpoint_blocks = 40;
        start(wanted, {"alice", "bob", "carol", "dave"});
        assign("alice", spec_of(40));
        wrong_from = 6;
        wrong_runs = {2};  // carol computes honestly from the forged state
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
        raise("bob", 2);
        ASSERT_EQ(send("bob", AcceptData{1}), Verdict::ok);
        for (int i = 0; i < 2'000 && run(0).finalised < 8 && views::dispute_count(state) == 0; ++i) step();
        ASSERT_EQ(views::dispute_count(state), 0u);
        ASSERT_GE(run(0).finalised, 8u);
        ASSERT_LT(run(1).next_state, 5u) << "bob is slow";
        raise("carol", 3);
        ASSERT_EQ(run(2).solver, party("carol"));
        ASSERT_EQ(send("carol", AcceptData{1}), Verdict::ok);
        ASSERT_EQ(checkpoint("carol", run(2).first_state, 2), Verdict::ok) << last.revert_reason;
        joined = true;
    }
    /// Until alice is convicted; a watcher challenges a segment of carol shortly before that. Its dispute is number 2.
    void challenge_carol_and_convict_alice() {
        for (int i = 0; i < 2'000 && views::dispute_count(state) == 0; ++i) step();
        ASSERT_EQ(dispute(1).segment, 5u);
        for (int i = 0; i < 200 && run(0).state == RunState::running; ++i) {
            ASSERT_EQ(checkpoint("carol", run(2).next_state, 2), Verdict::ok) << last.revert_reason;
            for (std::uint64_t s = run(2).first_state; views::dispute_count(state) < 2 && s < run(2).next_state; ++s) {
                const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
                send("v4", ChallengeSegment{1, 2, s, word("mine")}, bond);
            }
            step();
        }
        ASSERT_EQ(run(0).state, RunState::forfeited);
        ASSERT_EQ(views::dispute_count(state), 2u);
        ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
        ASSERT_EQ(dispute(2).solver, party("carol"));
    }
    bool joined = false;
};

/// A replica that joined at a forged state before the conviction goes on, and others start at its states.
TEST_F(StoppedRuns, AReplicaThatJoinedAtAForgedStateLeavesItToNobody) {
    join_at_a_forged_state();
    for (int i = 0; i < 2'000 && run(0).state == RunState::running; ++i) step();
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
    ASSERT_EQ(dispute(1).segment, 5u);
    const auto newest = views::newest_finalised_state(state, task());
    EXPECT_EQ(newest.root, root(newest.index))
        << "state " << newest.index << " of carol, which started at " << run(2).first_state;
    raise("dave", static_cast<std::uint8_t>(task().active.size() + 1));
    EXPECT_EQ(run(3).first_root, root(run(3).first_state)) << "dave starts at state " << run(3).first_state;
}

/// The run that joined is a forger too. It must not leave with its lock under its own dispute.
TEST_F(StoppedRuns, AForgerThatJoinedAtAForgedStateDoesNotLeaveWithItsLockUnderADispute) {
    join_at_a_forged_state();
    challenge_carol_and_convict_alice();
    ASSERT_EQ(dispute(2).state, DisputeState::open);
    const U256 lock = run(2).locked, stake = views::stake(state, party("carol")).bonded;
    const U256 before = ledger::balance_of(state, party("v4"));
    EXPECT_FALSE(lock.is_zero());
    for (int i = 0; i < 400 && run(2).state == RunState::running; ++i) step();
    EXPECT_EQ(dispute(2).state, DisputeState::solver_lost);
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(stake - views::stake(state, party("carol")).bonded, lock);
    EXPECT_GT(ledger::balance_of(state, party("v4")) - before, dispute(2).bond) << "the watcher gets the share";
}

/// An honest run that joined there waits for its dispute, and then leaves with its lock. Meanwhile it commits and earns
/// nothing, and the other run goes on without it.
TEST_F(StoppedRuns, AnHonestRunThatJoinedThereEndsAfterItsDispute) {
    join_at_a_forged_state();
    challenge_carol_and_convict_alice();
    ASSERT_EQ(run(2).state, RunState::running);
    ASSERT_TRUE(views::is_stopped(state, 1, 2));
    const std::uint64_t paid = run(2).paid, finalised = run(1).finalised;
    EXPECT_EQ(checkpoint("carol", run(2).next_state, 2), Verdict::too_late);
    const U256 stake = views::stake(state, party("carol")).bonded;
    bool went_on = false;
    for (int i = 0; i < 400 && run(2).state == RunState::running; ++i) {
        if (dispute(2).state == DisputeState::open &&
            dispute(2).mover == static_cast<std::uint8_t>(verifier::Side::solver) &&
            height + 1 >= dispute(2).deadline) {
            ASSERT_EQ(post_hashes("carol", 2), Verdict::ok) << last.revert_reason;
        }
        step();
        went_on = went_on || run(1).finalised > finalised;
    }
    EXPECT_EQ(dispute(2).state, DisputeState::challenger_lost);
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_EQ(run(2).paid, paid);
    EXPECT_EQ(views::stake(state, party("carol")).bonded, stake);
    EXPECT_TRUE(run(2).locked.is_zero());
    EXPECT_TRUE(went_on) << "bob is at " << run(1).next_state;
}

}  // namespace
}  // namespace retrace::contracts
