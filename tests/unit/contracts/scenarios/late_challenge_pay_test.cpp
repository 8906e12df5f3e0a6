// SPDX-License-Identifier: MIT
// Pay of challengers and auditors of a run that is late or lost. SPEC 13.5.1, 15.9, 15.10.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/standing.hpp"
#include "market/escrow.hpp"
#include "market/work.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SegmentState;

class LateChallengePay : public HostileReports {
protected:
    /// The solver makes no more calls, and a false challenge is made `after` blocks after its deadline (before it, if
    /// negative). Sets the challenger's gain and the run's lock.
    void challenge_near_deadline(std::int64_t after, U256& gain, U256& lost_of_lock, std::uint64_t replay = 20) {
        auto wanted = small_params();
        wanted.checkpoint_blocks = 120;
        wanted.challenge_blocks = 300;
        start(wanted, {"alice"});
        const std::uint64_t id = assign("alice", spec_of(4, 2, replay));
        verify_first(id);
        note_verified(state, party("alice"), kCoin, height);
        for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(2).window_end != 0; }));
        const std::string challenger = accomplice(0);
        const U256 before = balance(challenger), lock = run().locked;
        const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
        const std::uint64_t due = moved_deadline(state, params, run());
        while (static_cast<std::int64_t>(height) < static_cast<std::int64_t>(due) + after) next_block(), serve("alice");
        ASSERT_EQ(run().state, RunState::running);
        ASSERT_EQ(send(challenger, ChallengeSegment{id, 0, 2, word("anything")}, bond), CallStatus::ok)
            << last.revert_reason;
        for (int i = 0; i < 300 && run().state == RunState::running; ++i) next_block();  // nobody moves
        ASSERT_EQ(run().state, RunState::forfeited);
        RecordProperty("blocks after the deadline", static_cast<int>(height - due));
        gain = balance(challenger) - before;
        lost_of_lock = lock;
    }
};

/// 15.10.1: a challenge one block before the deadline is late, although its own work moves the deadline (18.4).
TEST_F(LateChallengePay, AChallengeOneBlockBeforeAMissedCheckpointEarnsNothing) {
    U256 gain, lock;
    challenge_near_deadline(-1, gain, lock);
    EXPECT_EQ(gain, U256());
    // 13.11: nothing was proved about a solver that only fell silent.
    const auto record = views::solver(state, party("alice"))->reputation;
    EXPECT_EQ(record.faults, 0u);
    EXPECT_EQ(record.silences, 1u);
    EXPECT_EQ(all<Slashed>().back().reason, "not_played");
    EXPECT_FALSE(views::standing(state, party("alice")).verified.is_zero()) << "it is halved";
}

/// 15.10.1: the same at the deadline itself.
TEST_F(LateChallengePay, AChallengeAtTheDeadlineEarnsNothing) {
    U256 gain, lock;
    challenge_near_deadline(0, gain, lock);
    EXPECT_EQ(gain, U256());
}

/// 15.10.1: an auditor's dispute is never late: a forger that reveals just before it misses a checkpoint still pays
/// share and fee.
TEST_F(LateChallengePay, AnAuditorWhoseDisputeOpensShortlyBeforeAMissedCheckpointIsPaid) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 60;
    wanted.reveal_segment_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t a = seated(0);
    const auto names = auditors_of(id);
    for (const std::string& name : names) ASSERT_EQ(commit_verdict(name, a), CallStatus::ok);
    ASSERT_EQ(audit(a).phase, AuditPhase::revealing);
    ASSERT_GT(audit(a).deadline, run().deadline);
    while (height + 1 < run().deadline) next_block();
    serve("alice");
    std::map<std::string, U256> before;
    for (const std::string& name : names) {
        before[name] = balance(name);
        ASSERT_EQ(send(name, RevealVerdict{a, root(1), word("verdict " + name)}), CallStatus::ok) << last.revert_reason;
    }
    ASSERT_EQ(dispute(1).challenger, party(names.at(0)));
    const U256 lock = run().locked, fee = market::audit_fee(params, views::spec(state, id).value());
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 30));
    ASSERT_EQ(dispute(1).state, market::DisputeState::withdrawn);
    EXPECT_GE(balance(names.at(0)) - before[names.at(0)], market::split(lock, params.challenger_share_bp).share);
    EXPECT_EQ(balance(names.at(1)) - before[names.at(1)], fee) << "who does not reveal is paid this (13.6)";
}

/// 13.6: auditors that committed to the same and have not revealed are paid their fee, too.
TEST_F(LateChallengePay, AnAuditorThatHasNotRevealedIsPaid) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 60;
    wanted.reveal_segment_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t a = seated(0);
    const auto names = auditors_of(id);
    for (const std::string& name : names) ASSERT_EQ(commit_verdict(name, a), CallStatus::ok);
    while (height + 1 < run().deadline) next_block();
    serve("alice");
    const U256 first = balance(names.at(0)), fee = market::audit_fee(params, views::spec(state, id).value());
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 30));
    EXPECT_EQ(balance(names.at(0)) - first, fee);
}

/// 15.9.1: a drawn accomplice and a challenger with the same root may take the share (threat model, open 27). The
/// honest auditor that plays is paid its fee.
TEST_F(LateChallengePay, TheAuditorThatPlaysIsPaidItsFeeThoughAnAccompliceTakesTheShare) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(0).audit != 0 && !audit_of(id).seats.empty(); }));
    const std::string honest = auditors_of(id).at(0), liar = auditors_of(id).at(1), friendly = accomplice(0);
    commit_verdicts("alice", id, {liar});
    ASSERT_EQ(reveal_verdict(honest, id, {liar}), CallStatus::ok);
    ASSERT_EQ(reveal_verdict(liar, id, {liar}), CallStatus::ok);
    ASSERT_EQ(dispute(1).challenger, party(honest));
    const market::TaskSpec spec = views::spec(state, id).value();
    const U256 bond = market::challenge_bond(params, spec), fee = market::audit_fee(params, spec), lock = run().locked;
    const U256 honests = balance(honest), liars = balance(liar);
    ASSERT_EQ(send(friendly, ChallengeSegment{id, 0, 0, verdict_of(liar, {liar})}, bond), CallStatus::ok);
    while (height < dispute(1).deadline) next_block();
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);  // She lets her accomplice win.
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    ASSERT_EQ(dispute(2).state, market::DisputeState::solver_lost);
    EXPECT_EQ(balance(honest) - honests, fee) << "it found the forgery first, and plays";
    EXPECT_EQ(balance(liar) - liars, market::split(lock, params.challenger_share_bp).share);
}

/// 15.9.1: auditors that found a forgery are paid their fee when the run is lost in a dispute about another segment.
TEST_F(LateChallengePay, AuditorsThatDifferArePaidTheirFeeWhenTheRunIsLostElsewhere) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.moves = 40;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    commit_verdicts("alice", id, {});
    const auto names = auditors_of(id);
    std::map<std::string, U256> before;
    for (const std::string& name : names) {
        before[name] = balance(name);
        ASSERT_EQ(reveal_verdict(name, id, {}), CallStatus::ok);
    }
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(1).window_end != 0; }, 40));
    const std::string friendly = accomplice(0);
    const U256 friends = balance(friendly);
    ASSERT_EQ(challenge(friendly, id, 1), CallStatus::ok) << last.revert_reason;
    while (height < dispute(1).deadline) next_block();
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    ASSERT_EQ(dispute(2).state, market::DisputeState::solver_lost);
    const U256 fee = market::audit_fee(params, views::spec(state, id).value());
    for (const std::string& name : names) EXPECT_GE(balance(name) - before[name], fee) << name;
    EXPECT_GT(balance(friendly), friends);
}

/// 13.5.1 as RunEnds.AChallengeOfALateRunCostsItNoMoreThanItProves, but a replay takes five blocks: the work of the
/// challenge does not move a deadline that has passed.
TEST_F(LateChallengePay, AChallengeOfALateRunCostsItNoMoreThanItProves) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(24, 2, 5);
    spec.audit_bp = 1;
    post(spec);
    const std::uint64_t end = task().reveal_end;
    std::uint64_t finish = end + 200;
    while (finish % params.epoch_blocks != params.epoch_blocks - 2) ++finish;
    const Hash32 bid = market::bid_commitment(1, task().round, U256(400), finish, word("alice"), party("alice"));
    ASSERT_EQ(send("alice", CommitBid{1, bid}, params.bid_deposit), CallStatus::ok);
    while (height < task().bid_end) next_block();
    ASSERT_EQ(send("alice", RevealBid{1, U256(400), finish, word("alice")}), CallStatus::ok);
    while (height < end) next_block();
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    verify_first(1);
    while (height + 25 < finish) next_block(), serve("alice");
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    while (height + 2 < finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok);
    const std::string challenger = accomplice(0);
    const U256 lock = run().locked, before = balance(challenger), bonded = views::stake(state, party("alice")).bonded;
    while (height <= finish) next_block(), serve("alice");
    ASSERT_EQ(run().state, RunState::running);
    ASSERT_GT(height, moved_deadline(state, params, run())) << "it is late";
    ASSERT_TRUE(challenge(challenger, 1, 2) == CallStatus::ok || challenge(challenger, 1, 1) == CallStatus::ok);
    EXPECT_GT(height, moved_deadline(state, params, run())) << "a deadline that has passed does not move";
    for (int i = 0; i < 400 && run().state == RunState::running; ++i) {
        if (height + 1 < dispute(1).deadline || dispute(1).mover != static_cast<std::uint8_t>(verifier::Side::solver)) {
            next_block(), serve("alice");
            continue;
        }
        ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok) << last.revert_reason;
    }
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(dispute(1).state, market::DisputeState::challenger_lost);
    EXPECT_EQ(bonded - views::stake(state, party("alice")).bonded,
              market::split(lock, params.silence_penalty_bp).share);
    EXPECT_LE(balance(challenger), before) << "a false challenge earns nothing";
}

/// 15.10.1: when the run commits its next state after all, the challenge is not late any more and gets its share.
TEST_F(LateChallengePay, AChallengeIsNotLateAfterTheNextCommitment) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 60;
    wanted.challenge_blocks = 80;
    start(wanted, {"alice"});
    assign("alice", spec_of(24));
    verify_first(1);
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), height + params.move_blocks >= run().deadline; }));
    ASSERT_NE(segment(2).window_end, 0u);
    const std::string watcher = accomplice(0);
    const U256 before = balance(watcher);
    ASSERT_EQ(challenge(watcher, 1, 2), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().state != RunState::running; }));
    EXPECT_EQ(dispute(1).state, market::DisputeState::solver_lost);
    EXPECT_GT(balance(watcher), before);
}

}  // namespace
}  // namespace retrace::contracts
