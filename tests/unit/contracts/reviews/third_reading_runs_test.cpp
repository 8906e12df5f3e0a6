// SPDX-License-Identifier: MIT
// Third hostile reading: ends of runs, decisions to pay, successors. Each test fails on the rules of 5cc7da6.
#include "contracts/lifecycle/staking/backlog.hpp"
#include "market/draw.hpp"
#include "tests/unit/contracts/reviews/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;
using market::SegmentState;
using market::TaskState;

class ThirdReadingRuns : public HostileReports {
protected:
    /// Has alice win the task with a finishing height two blocks before an epoch ends; returns that height.
    std::uint64_t bid_before_a_draw(const TaskSpec& spec) {
        post(spec);
        const std::uint64_t end = task().reveal_end;
        std::uint64_t finish = end + 200;
        while (finish % params.epoch_blocks != params.epoch_blocks - 2) ++finish;
        const Hash32 bid = market::bid_commitment(1, task().round, U256(400), finish, word("alice"), party("alice"));
        EXPECT_EQ(send("alice", CommitBid{1, bid}, params.bid_deposit), Verdict::ok);
        while (height < task().bid_end) next_block();
        EXPECT_EQ(send("alice", RevealBid{1, U256(400), finish, word("alice")}), Verdict::ok);
        while (height < end) next_block();
        EXPECT_EQ(send("alice", AcceptData{1}), Verdict::ok);
        return finish;
    }
    /// What everybody knows once all members have revealed in this epoch: whether the segment will be drawn.
    bool will_be_drawn(std::uint64_t id, std::uint64_t index) const {
        std::vector<market::Reveal> reveals;
        for (const Address& member : views::verifiers(state)) {
            const auto info = views::verifier(state, member).value();
            EXPECT_EQ(info.revealed_epoch, views::epoch_of(params, height));
            reveals.push_back({member, info.head, info.next_weight});
        }
        return market::is_drawn(reveals, id, 0, index, views::spec(state, id)->audit_bp);
    }
};

/// (a) 13.5: a forger commits so that its finishing height lies between the reveals and the draw that they decide; when
/// it is drawn it falls silent and loses a tenth of its lock instead of all.
TEST_F(ThirdReadingRuns, AForgerThatSeesThatItWillBeDrawnLosesItsWholeLock) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(24);
    spec.audit_bp = 2'500;
    const std::uint64_t finish = bid_before_a_draw(spec);
    verify_first(1);
    wrong_from = 2;
    while (height < finish - 3) next_block(), check_audits();
    ASSERT_TRUE(open_audit_ids(1, 0).empty());
    for (std::uint64_t i = 2; i <= 23; ++i) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);  // the last one is left
    while (height < finish) next_block();
    ASSERT_EQ(run().finish_height, finish);
    std::uint64_t drawn = 0;
    for (std::uint64_t i = 1; i < 23; ++i) {
        ASSERT_EQ(segment(i).state, SegmentState::waiting_draw);
        drawn += will_be_drawn(1, i);
    }
    ASSERT_GT(drawn, 0u) << "all members have revealed, so alice knows that she is drawn, and does not commit any more";
    const U256 lock = run().locked, before = views::stake(state, party("alice")).bonded;
    for (int i = 0; i < 60 && run().state == RunState::running; ++i) next_block(), serve("alice"), check_audits();
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(before - views::stake(state, party("alice")).bonded, lock) << drawn << " forged segments were drawn";
}

/// (b) 13.5.1: a vulture challenges a run that is late and waits for its draws; the run loses what a late run loses.
TEST_F(ThirdReadingRuns, AChallengeOfALateRunCostsItNoMoreThanItProves) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(24);
    spec.audit_bp = 1;
    const std::uint64_t finish = bid_before_a_draw(spec);
    verify_first(1);
    while (height + 25 < finish) next_block(), serve("alice");
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    while (height + 2 < finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 4), Verdict::ok);
    const std::string vulture = accomplice(0);
    const U256 lock = run().locked, before = balance(vulture), bonded = views::stake(state, party("alice")).bonded;
    while (height <= finish) next_block(), serve("alice");
    ASSERT_EQ(run().state, RunState::running);
    ASSERT_TRUE(challenge(vulture, 1, 2) == Verdict::ok || challenge(vulture, 1, 1) == Verdict::ok);
    for (int i = 0; i < 400 && run().state == RunState::running; ++i) {
        if (height + 1 < dispute(1).deadline || dispute(1).mover != static_cast<std::uint8_t>(verifier::Side::solver)) {
            next_block(), serve("alice");
            continue;
        }
        ASSERT_EQ(post_hashes("alice", 1), Verdict::ok) << last.revert_reason;
    }
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(dispute(1).state, market::DisputeState::challenger_lost);
    EXPECT_EQ(bonded - views::stake(state, party("alice")).bonded,
              market::split(lock, params.silence_penalty_bp).share);
    EXPECT_LT(balance(vulture), before);
}

/// (a) 14.12.4: a decision to pay outlives the wait that it was about, and pays for what waits later.
TEST_F(ThirdReadingRuns, ADecisionToPayIsAboutWhatWaitsNow) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    begin(wanted);
    add_solver("alice");
    advance(9);
    const std::uint64_t id = assign("alice", spec_of(4));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    const std::uint64_t since = run().unaudited_since;
    while (height + 12 < since + params.unaudited_blocks) next_block();
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    ASSERT_TRUE(advance_until([&] { return seated(0) != 0 && height >= since + params.unaudited_blocks; }));
    const std::uint64_t a = seated(0);
    ASSERT_EQ(audit(a).phase, AuditPhase::collecting);
    ASSERT_EQ(commit_verdict("v1", a), Verdict::ok);
    ASSERT_EQ(send("requester", DecideUnaudited{id, 0, true}), Verdict::ok) << last.revert_reason;
    ASSERT_EQ(commit_verdict("v2", a), Verdict::ok);  // later in the same block
    ASSERT_EQ(run().unaudited_since, 0u);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).state == SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2"}) {
        ASSERT_TRUE(advance_until([&] { return send(name, RetireVerifier{}) == Verdict::ok; }));
    }
    wrong_from = 2;  // nobody is left to look
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    const std::uint64_t again = run().unaudited_since;
    for (int i = 0; i < 200 && height < again + params.unaudited_blocks - 1; ++i) next_block(), serve("alice");
    EXPECT_EQ(all<UnauditedDecided>().size(), 1u);
    EXPECT_NE(segment(3).state, SegmentState::unaudited) << "the requester was not asked about segment 3";
    EXPECT_EQ(task().state, TaskState::running) << "earned " << run().earned.low64() / 400 << " of 4 segments";
}

/// (b) threat 24b: the requester ends the run while the windows of what it has been shown still run.
TEST_F(ThirdReadingRuns, WhatIsOpenIsPaidForWhenItsWindowOutlastsTheWait) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 12;  // as the defaults: unaudited_blocks (600) is five times challenge_blocks (120)
    wanted.unaudited_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4, 2, 60));
    verify_first(id);
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), Verdict::ok);
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice"), run().unaudited_since != 0 && segment(2).window_end != 0; }));
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(views::checkpoint(state, id, 0, i)->opened);
    while (height < run().unaudited_since + params.unaudited_blocks) next_block();
    for (int i = 0; i < 100 && run().state == RunState::running; ++i) {
        send("requester", DecideUnaudited{id, 0, false});
        if (run().state == RunState::running) next_block();
    }
    EXPECT_EQ(run().earned, run().price * U256(3)) << "states 1 to 3 were opened to the requester";
}

/// (b) 14.12.5: of a replica that joined, only 1,024 / `runs` of the finalised segments are paid when its run ends.
TEST_F(ThirdReadingRuns, AJoinedReplicaIsPaidForAllThatIsFinalWhenItsRunEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob"});
    const std::uint64_t id = assign("alice", spec_of(200));
    const auto raise_to = [&](std::uint8_t all, const std::map<std::string, std::uint64_t>& bids) {
        const auto more = static_cast<std::uint8_t>(all - task().active.size());
        const U256 price = market::escrow_of_more(views::spec(state, id).value(), params, 0, more).total();
        ASSERT_EQ(send("requester", RaiseReplicas{id, all}, price), Verdict::ok) << last.revert_reason;
        auction(bids);
    };
    for (int r = 0; r < 6; ++r) {  // accounts of the requester, which win and decline
        std::map<std::string, std::uint64_t> bids;
        for (int i = 0; i < 4; ++i) bids[accomplice(4 * r + i)] = 300;
        for (const auto& [name, price] : bids) {
            ASSERT_EQ(send(name, Deposit{}, U256(20) * kCoin), Verdict::ok);
            ASSERT_EQ(send(name, RegisterSolver{"http://solver", 1}), Verdict::ok);
        }
        raise_to(5, bids);
        for (const auto& [name, price] : bids)
            ASSERT_EQ(send(name, DeclineTask{id}), Verdict::ok) << last.revert_reason;
    }
    raise_to(2, {{"bob", 300}});
    const std::uint32_t b = task().active.back();
    ASSERT_EQ(run(b).solver, party("bob"));
    ASSERT_EQ(send("bob", AcceptData{id}), Verdict::ok);
    const auto both = [&] { serve("alice", 0), serve("bob", b); };
    const auto commit = [&](std::uint64_t i) {
        ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
        ASSERT_EQ(checkpoint("bob", i, b), Verdict::ok);
    };
    for (const std::uint64_t i : {0, 1}) commit(i);
    ASSERT_TRUE(advance_until([&] {
        both(), check_audits();
        return segment(0).state == SegmentState::verified && segment(0, b).state == SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), Verdict::ok);
    for (std::uint64_t i = 2; i <= 200; ++i) commit(i);
    ASSERT_TRUE(advance_until([&] {
        both();
        return run(b).unaudited_since != 0 && segment(198, b).window_end != 0 && segment(198).window_end != 0;
    }));
    while (height < segment(198, b).window_end || height < run(b).unaudited_since + params.unaudited_blocks)
        next_block();
    ASSERT_EQ(send("requester", DecideUnaudited{id, b, false}), Verdict::too_early) << "payments lag";
    ASSERT_TRUE(advance_until([&] { return send("requester", DecideUnaudited{id, b, false}) == Verdict::ok; }, 900));
    EXPECT_EQ(run(b).earned, run(b).price * U256(199)) << run(b).finalised << " of 199 segments whose windows are over";
}

/// (a) 14.12.5: a run that waits for auditors ends with its lock while a watcher has its window, because windows that
/// are not held open, only long, are not waited for.
TEST_F(ThirdReadingRuns, AWatcherHasItsWindowBeforeARunThatWaitsEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 12;
    wanted.unaudited_blocks = 50;
    wanted.unbond_blocks = 2'000;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4, 2, 110));
    accomplice(0);
    wrong_from = 2;
    verify_first(id);
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), Verdict::ok);
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice"), run().unaudited_since != 0 && segment(1).window_end != 0; }));
    const std::uint64_t since = run().unaudited_since, end = segment(1).window_end;
    ASSERT_GT(end, since + 2 * params.unaudited_blocks);
    while (height + 1 < end) next_block();  // A replay is 110 blocks, and it has 122.
    EXPECT_EQ(challenge(accomplice(0), id, 1), Verdict::ok) << last.revert_reason;
    EXPECT_EQ(run().state, RunState::running);
}

/// (b) A requester's decision to pay is lost when all that waits has silent auditors at that moment.
TEST_F(ThirdReadingRuns, ADecisionToPayIsNotLostWhileSilentAuditorsSit) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.unaudited_blocks = 40;
    wanted.redraws = 0;
    begin(wanted);
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    TaskSpec spec = spec_of(4, 2, 20);
    const std::uint64_t id = assign("alice", spec);
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice", 0, id), run(0, id).unaudited_since != 0; }));
    const std::uint64_t a = segment(0, 0, id).audit;
    const std::uint64_t since = run(0, id).unaudited_since;
    ASSERT_TRUE(advance_until(
        [&] { return height >= since + params.unaudited_blocks && audit(a).phase != AuditPhase::no_auditors; }));
    ASSERT_EQ(send("requester", DecideUnaudited{id, 0, true}), Verdict::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until(
        [&] {
            serve("alice", 0, id);
            return market::is_over(run(0, id).state) || segment(0, 0, id).state == market::SegmentState::unaudited;
        },
        600));
    EXPECT_EQ(run(0, id).state, RunState::running) << "the requester has decided to pay";
}

/// (b) Row 61 for a replica that joined: of what is clear in the block in which its run ends, 1,024 / runs segments are
/// paid.
TEST_F(ThirdReadingRuns, AllThatIsFinalIsPaidWhenTheRunOfAReplicaThatJoinedEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob", "carol", "dave"});
    constexpr std::uint64_t kCount = 400;
    const TaskSpec spec = spec_of(kCount, 2, 0);
    const std::uint64_t id = assign("alice", spec);
    const U256 price = market::escrow_of_more(spec, params, 0, 1).total();
    for (const char* name : {"bob", "carol", "dave"}) {
        ASSERT_EQ(send("requester", RaiseReplicas{id, 2}, price), Verdict::ok) << last.revert_reason;
        auction({{name, 300}}, id);
        if (std::string(name) != "dave") {
            ASSERT_EQ(send(name, DeclineTask{id}), Verdict::ok);
        }
    }
    ASSERT_EQ(send("dave", AcceptData{id}), Verdict::ok);
    constexpr std::uint32_t kDave = 3;
    ASSERT_EQ(run(kDave, id).solver, party("dave"));
    const auto both = [&] { serve("alice", 0, id), serve("dave", kDave, id); };
    for (const std::uint64_t i : {0, 1})
        for (const std::uint32_t r : {0u, kDave}) ASSERT_EQ(checkpoint(r ? "dave" : "alice", i, r, id), Verdict::ok);
    ASSERT_TRUE(advance_until([&] {
        both(), check_audits();
        return segment(0, 0, id).state == market::SegmentState::verified &&
               segment(0, kDave, id).state == market::SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), Verdict::ok);
    for (std::uint64_t i = 2; i <= kCount; ++i)
        for (const std::uint32_t r : {0u, kDave}) ASSERT_EQ(checkpoint(r ? "dave" : "alice", i, r, id), Verdict::ok);
    ASSERT_TRUE(advance_until(
        [&] { return both(), run(kDave, id).unaudited_since != 0 && segment(kCount - 2, kDave, id).window_end != 0; }));
    std::map<std::uint64_t, int> ends;
    for (std::uint64_t i = 0; i < kCount - 1; ++i) ++ends[segment(i, kDave, id).window_end];
    const std::uint64_t end = ends.rbegin()->first;
    while (height < end) next_block();
    ASSERT_GE(height, run(kDave, id).unaudited_since + params.unaudited_blocks);
    ASSERT_EQ(send("requester", DecideUnaudited{id, kDave, false}), Verdict::too_early) << "payments lag";
    ASSERT_TRUE(advance_until([&] { return send("requester", DecideUnaudited{id, kDave, false}) == Verdict::ok; }));
    EXPECT_EQ(run(kDave, id).finalised, kCount - 1) << "segments with a verdict, a window that is over and no dispute";
    EXPECT_EQ(run(kDave, id).earned, run(kDave, id).price * U256(kCount - 1));
}

}  // namespace
}  // namespace retrace::contracts
