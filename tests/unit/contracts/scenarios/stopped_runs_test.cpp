// SPDX-License-Identifier: MIT
// A run that joined at a state which is proved wrong while it goes on. SPEC 13.7.1.
#include "tests/unit/contracts/scenarios/stopped_runs_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeState;
using market::RunState;

/// A replica that joined at a forged state before the conviction goes on, and others start at its states.
TEST_F(StoppedRuns, AReplicaThatJoinedAtAForgedStateLeavesItToNobody) {
    join_at_a_forged_state();
    step_until([&] { return is_over(0); });
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
    ASSERT_EQ(dispute(1).segment, 5u);
    const auto newest = views::newest_finalised_state(state, task());
    EXPECT_EQ(newest.root, root(newest.index))
        << "state " << newest.index << " of carol, which started at " << run(2).first_state;
    raise("dave");
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
    step_until([&] { return is_over(2); });
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
    EXPECT_EQ(checkpoint("carol", run(2).next_state, 2), CallStatus::too_late);
    const U256 stake = views::stake(state, party("carol")).bonded;
    bool went_on = false;
    step_until([&] { return play_carol(), went_on = went_on || run(1).finalised > finalised, is_over(2); });
    EXPECT_EQ(dispute(2).state, DisputeState::challenger_lost);
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_EQ(run(2).paid, paid);
    EXPECT_EQ(views::stake(state, party("carol")).bonded, stake);
    EXPECT_TRUE(run(2).locked.is_zero());
    EXPECT_TRUE(went_on) << "bob is at " << run(1).next_state;
}

/// 14.13: nothing of a stopped run will be finalised, so audits beyond its limit would be paid for nothing. The run does
/// not wait for them.
TEST_F(StoppedRuns, ARunThatStoppedHasNoAuditsBeyondItsLimit) {
    join_at_a_forged_state();
    step_until([&] { return counter(state, keys::audited_segments(1, 2)) == 1; });
    store(state, keys::audited_segments(1, 2), Counter{100});  // as if 99 more were audited
    fast_to[2] = segments;
    step_until([&] { return run(2).next_state > segments; });
    challenge_carol_and_convict_alice();
    ASSERT_TRUE(views::is_stopped(state, 1, 2));
    step_until([&] { return play_carol(), segment(segments - 1, 2).audit != 0; });
    const std::uint64_t last = segment(segments - 1, 2).audit;
    ASSERT_EQ(run(2).state, RunState::running);
    const U256 stake = views::stake(state, party("carol")).bonded;
    step_until([&] { return play_carol(), is_over(2); });
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_EQ(views::stake(state, party("carol")).bonded, stake);
    EXPECT_TRUE(audit(last).seats.empty());
}

/// A forger whose segments may still be challenged has not got away when the run that it joined from is convicted.
TEST_F(StoppedRuns, AChallengeWindowHoldsARunThatStopped) {
    join_at_a_forged_state(60);
    fast_to[2] = 12;
    step_until([&] { return is_over(0); });
    EXPECT_EQ(run(2).state, RunState::running);
    EXPECT_EQ(challenge_carol("v4"), CallStatus::ok) << last.revert_reason;
    step_until([&] { return is_over(2); });
    EXPECT_EQ(run(2).state, RunState::forfeited);
}

/// 13.5.1: a checkpoint that was missed before the stop stays missed.
TEST_F(StoppedRuns, AStopForgivesNoMissedCheckpoint) {
    join_at_a_forged_state(60);
    step_until([&] { return run(2).next_state >= 10; });
    gone = {2};
    const auto hold_carol = [&] {
        if (run(2).open_disputes == 0 && height + 1 >= run(2).deadline) challenge_carol("v4");
        play_carol();
    };
    step_until([&] { return hold_carol(), is_over(0); });
    ASSERT_TRUE(views::is_stopped(state, 1, 2));
    ASSERT_LT(run(2).deadline + 1, height) << "it was late before";
    const U256 lock = run(2).locked, stake = views::stake(state, party("carol")).bonded;
    step_until([&] { return play_carol(), is_over(2); });
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(stake - views::stake(state, party("carol")).bonded, market::split(lock, params.silence_penalty_bp).share);
}

/// 15.10.1: a run that was late when it stopped may be gone, so a stranger earns nothing from its silence.
TEST_F(StoppedRuns, AChallengeOfARunThatWasLateWhenItStoppedEarnsNothing) {
    join_at_a_forged_state(60);
    step_until([&] { return height >= 236; });
    commit(2);
    gone = {2};
    step_until([&] {
        if (run(2).open_disputes == 0 && height + 1 >= run(2).deadline) challenge_carol("v4");
        return play_carol(), is_over(0);
    });
    ASSERT_TRUE(views::is_stopped(state, 1, 2));
    ASSERT_EQ(run(2).state, RunState::running);
    ASSERT_LT(run(2).deadline + 1, height) << "it was late before";
    const U256 before = ledger::balance_of(state, party("v3"));
    ASSERT_EQ(challenge_carol("v3"), CallStatus::ok);
    const std::uint64_t id = views::dispute_count(state);
    step_until([&] {
        for (std::uint64_t d = 2; d < id; ++d) play_in(d);  // not in the stranger's dispute
        return is_over(2);
    });
    ASSERT_EQ(dispute(id).state, DisputeState::solver_lost);
    EXPECT_LE(ledger::balance_of(state, party("v3")), before);
    EXPECT_EQ(list<ConvictedSegment>(state, keys::convictions(1)).size(), 1u) << "carol's silence proves nothing";
}

/// A task in delivery resumes nowhere: when its model is not served it is settled, whatever its states follow from.
TEST_F(StoppedRuns, ADeliveryThatIsNotServedEndsTheTaskThoughItsStatesCountAsForged) {
    segments = 12;
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    begin_two(wanted);
    fast_to = {{0, segments}, {1, 2}};
    step_until([&] { return run(1).next_state > 2 && segment(0, 1).window_end != 0; });
    const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
    ASSERT_EQ(send("v4", ChallengeSegment{1, 1, 0, word("mine")}, bond), CallStatus::ok) << last.revert_reason;
    step_until([&] { return is_over(1); });  // bob is honest, and lets his clock run out.
    ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
    step_until([&] { return task().state == market::TaskState::delivering; });
    ASSERT_EQ(say("requester", 4, segments, 0), CallStatus::ok) << last.revert_reason;
    silent = {0};
    step_until([&] { return is_over(0); });
    EXPECT_EQ(run(0).state, RunState::forfeited);
    EXPECT_TRUE(run(0).locked.is_zero());
    EXPECT_EQ(task().state, market::TaskState::settled);
}

/// 14.12.13: a verdict about a run that stopped says nothing about the same segment of another run, because they did
/// not start at the same state.
TEST_F(StoppedRuns, AVerdictAboutAStoppedRunDecidesNoOtherRunsSegment) {
    segments = 24, checkpoint_blocks = 80;
    join_at_a_forged_state(60);
    fast_to[2] = segments;
    step_until([&] { return views::dispute_count(state) != 0; });
    int challenges = 0;
    const auto hold_carol = [&] {  // accomplices hold her in the task
        if (is_over(2)) return;
        if (run(2).open_disputes < 3) challenges += challenge_carol(accomplice(challenges)) == CallStatus::ok;
        play_carol();
    };
    step_until([&] { return hold_carol(), is_over(0); });
    ASSERT_TRUE(views::is_stopped(state, 1, 2));
    step_until([&] { return hold_carol(), segment(segments - 1, 2).state == market::SegmentState::verified; });
    ASSERT_LT(run(1).next_state, segments);
    fast_to[1] = segments, silent_about = 1;
    step_until([&] { return hold_carol(), run(1).state != RunState::running || run(1).unaudited_since != 0; });
    EXPECT_NE(run(1).unaudited_since, 0u);
    EXPECT_NE(segment(segments - 1, 1).state, market::SegmentState::unaudited);
    EXPECT_LT(run(1).paid, segments) << "paid without a verdict";
}

/// The run in the middle of the chain is over when the forger is convicted, and the task would resume at its state.
TEST_F(StoppedRuns, AChainOfRunsFromAForgedStateEndsAlthoughOneOfThemIsOver) {
    names = {"zed"};
    begin_task(8);
    ASSERT_EQ(checkpoint("zed", 0), CallStatus::ok);
    gone = {0};
    wrong_run = 1, wrong_runs = {3, 4};  // alice forges; carol and dave compute honestly from her states
    raise("alice"), fast_to[1] = 9;
    raise("bob");
    step_until([&] { return run(1).finalised >= 8; });
    raise("carol");
    fast_to[3] = 20;
    step_until([&] { return run(3).finalised >= 19; });
    raise("dave"), fast_to[4] = 22;
    ASSERT_EQ(run(4).first_root, wrong_root(run(4).first_state));
    gone = {0, 3};
    step_until([&] { return is_over(3); });
    step_until([&] { return is_over(1); });
    ASSERT_EQ(run(1).state, RunState::forfeited);
    EXPECT_TRUE(is_over(4) || views::is_stopped(state, 1, 4)) << "dave goes on from a forged state";
    const std::uint64_t paid = run(4).paid;
    for (int i = 0; i < 100; ++i) step();
    EXPECT_EQ(run(4).paid, paid);
    const auto newest = views::newest_finalised_state(state, task());
    EXPECT_EQ(newest.root, newest.index == 0 ? Hash32() : root(newest.index)) << newest.index;
}

/// 13.5.1: a deadline that passed in the block before the stop is missed, although the scheduler has not noted it.
TEST_F(StoppedRuns, AStopForgivesNoDeadlineThatHasJustPassed) {
    checkpoint_blocks = 45;
    join_at_a_forged_state(60);
    for (const std::uint64_t at : {226, 260, 275}) {  // The scheduler handles the last deadline after the conviction.
        step_until([&] { return height >= at; });
        commit(2);
    }
    gone = {2};
    const std::uint64_t deadline = run(2).deadline;
    step_until([&] { return is_over(0); });
    ASSERT_EQ(deadline + 1, height) << "it has passed, and the scheduler looks at it in this block";
    const U256 lock = run(2).locked, stake = views::stake(state, party("carol")).bonded;
    step_until([&] { return is_over(2); });
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(stake - views::stake(state, party("carol")).bonded, market::split(lock, params.silence_penalty_bp).share);
}

/// An opening that is due when the run stops stays due: a forger shows what it has committed, or loses its lock.
TEST_F(StoppedRuns, AStopForgivesNoOpening) {
    join_at_a_forged_state();
    const auto opening_is_due = [&] {
        const auto newest = views::checkpoint(state, 1, 2, run(2).next_state - 1);
        return newest->open_deadline != 0 && !newest->opened;
    };
    step_until([&] {
        if (height >= 285) silent = {2};
        return is_over(0);
    });
    ASSERT_TRUE(opening_is_due());
    ASSERT_EQ(views::pending_draws(state, 1, 2), 0u);
    ASSERT_TRUE(views::is_stopped(state, 1, 2));
    const U256 lock = run(2).locked, stake = views::stake(state, party("carol")).bonded;
    step_until([&] { return is_over(2); });
    EXPECT_EQ(all<RunEnded>().back().reason, "not_opened");
    EXPECT_EQ(stake - views::stake(state, party("carol")).bonded, lock);
}

/// An honest run opens it, and leaves with its lock when nobody can challenge it any more.
TEST_F(StoppedRuns, ARunThatStoppedOpensWhatIsDueAndLeaves) {
    join_at_a_forged_state();
    step_until([&] {
        if (height >= 285) silent = {2};
        return is_over(0);
    });
    ASSERT_EQ(run(2).state, RunState::running);
    silent = {};
    const U256 stake = views::stake(state, party("carol")).bonded;
    const std::uint64_t newest = run(2).next_state - 1;
    step_until([&] { return is_over(2); });
    EXPECT_TRUE(views::checkpoint(state, 1, 2, newest)->opened);
    EXPECT_GE(height, segment(newest - 1, 2).window_end);
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_EQ(views::stake(state, party("carol")).bonded, stake);
}

/// 12.7.9: alice ends when bob, who is slow and honest, owes the opening of the state that carol starts at. Nobody waits
/// for carol at a state that is public, so he may open it.
TEST_F(StoppedRuns, AnOpeningThatIsDueStaysLegalWhenTheRunAheadEnds) {
    names = {"alice"};
    fast_to[0] = 9;
    begin_task(8);
    wrong_run = ~0u;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    raise("bob");
    step_until([&] { return run(0).finalised >= 8; });
    const std::uint64_t start = run(0).finalised;
    commit(0);
    gone = {0};
    const std::uint64_t alice_due = run(0).deadline;
    raise("carol");
    gone = {0, 2};
    ASSERT_EQ(run(2).first_state, start);
    ASSERT_LT(run(1).next_state, start) << "bob is slow";
    ASSERT_GT(run(2).deadline, alice_due + 2);
    fast_to[1] = start - 1;
    const auto drawn_at = [&] { return (height / params.epoch_blocks + 2) * params.epoch_blocks; };
    step_until([&] { return run(1).next_state == start && drawn_at() + 4 >= alice_due; });
    silent = {1};
    commit(1);
    step_until([&] { return is_over(0); });
    const auto owed = views::checkpoint(state, 1, 1, start);
    ASSERT_NE(owed->open_deadline, 0u) << "it was due before alice ended";
    ASSERT_FALSE(owed->opened);
    ASSERT_EQ(run(2).next_state, start) << "carol has committed nothing";
    EXPECT_EQ(send("bob", OpenRoots{1, 1, start, {salt(1, start)}, {solver_root(start, 1)}}), CallStatus::ok)
        << last.revert_reason;
}

/// carol has finished when dave, who started as she did, opens another final state, and bob shows that alice forged.
TEST_F(StoppedRuns, AFinishedRunDoesNotLeaveWithItsLockUnderADispute) {
    segments = 16, checkpoint_blocks = 80;
    join_at_a_forged_state();
    wrong_runs = {0, 2, 3}, wrong_until[3] = segments;
    raise("dave");
    fast_to[0] = fast_to[2] = segments, fast_to[3] = segments - 2;
    step_until([&] { return height >= 190; });
    fast_to[3] = segments - 1;  // Its last state is not due before carol has finished.
    step_until([&] { return run(2).state == RunState::delivering; });
    ASSERT_EQ(views::dispute_count(state), 0u);
    fast_to[1] = 6, fast_to[3] = segments;
    step_until([&] { return is_over(0); });
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(dispute(2).run, 2u);
    ASSERT_EQ(dispute(3).segment, 5u);
    const U256 stake = views::stake(state, party("carol")).bonded, lock = run(2).locked;
    step_until([&] { return is_over(2); });
    EXPECT_EQ(dispute(2).state, DisputeState::solver_lost);
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(stake - views::stake(state, party("carol")).bonded, lock);
}

/// bob forges state 6 only and then opens the roots that alice, who is honest, has shown. He is convicted, and carol, who
/// joined at a state of alice, goes on: where a run started decides, not what is equal.
TEST_F(StoppedRuns, AForgerThatCopiesRootsStopsNobodyWhoJoinedElsewhere) {
    names = {"alice"};
    fast_to[0] = 9;
    begin_task(8);
    wrong_run = ~0u, wrong_runs = {1}, wrong_until[1] = 7;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    raise("bob");
    step_until([&] { return run(0).finalised >= 8; });
    raise("carol");
    commit(2);
    ASSERT_EQ(run(2).first_root, root(run(2).first_state));
    ASSERT_LT(run(1).next_state, 6u) << "bob is slow";
    fast_to = {{0, 14}, {1, 12}, {2, 14}};
    const auto play_alice = [&] {
        for (std::uint64_t id = 1; id <= views::dispute_count(state); ++id) {
            const market::Dispute now = dispute(id);
            const bool hers = now.run == 0 && now.mover == static_cast<std::uint8_t>(verifier::Side::solver);
            if (now.state != DisputeState::open || !hers || height + 1 < now.deadline) continue;
            ASSERT_EQ(post_hashes("alice", id), CallStatus::ok) << last.revert_reason;
        }
    };
    step_until([&] { return play_alice(), is_over(1); });
    ASSERT_EQ(run(1).state, RunState::forfeited);
    ASSERT_TRUE(views::checkpoint(state, 1, 1, run(2).first_state)->opened) << "he has copied the state";
    EXPECT_EQ(run(2).state, RunState::running);
    EXPECT_FALSE(views::is_stopped(state, 1, 2));
    EXPECT_EQ(counter(state, keys::paid_wrong(1)), 0u);
}

}  // namespace
}  // namespace retrace::contracts
