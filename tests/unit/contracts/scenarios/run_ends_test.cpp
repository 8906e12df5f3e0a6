// SPDX-License-Identifier: MIT
// When a run that is late, or that waits for auditors, ends, and what is paid then. SPEC 13.5.1, 14.12.
#include "contracts/lifecycle/staking/backlog.hpp"
#include "market/draw.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;
using market::SegmentState;
using market::TaskState;

class RunEnds : public HostileReports {
protected:
    /// Has alice win the task with a finishing height two blocks before an epoch ends; returns that height.
    std::uint64_t bid_before_a_draw(const TaskSpec& spec) {
        post(spec);
        const std::uint64_t end = task().reveal_end;
        std::uint64_t finish = end + 200;
        while (finish % params.epoch_blocks != params.epoch_blocks - 2) ++finish;
        const Hash32 bid = market::bid_commitment(1, task().round, U256(400), finish, word("alice"), party("alice"));
        EXPECT_EQ(send("alice", CommitBid{1, bid}, params.bid_deposit), CallStatus::ok);
        while (height < task().bid_end) next_block();
        EXPECT_EQ(send("alice", RevealBid{1, U256(400), finish, word("alice")}), CallStatus::ok);
        while (height < end) next_block();
        EXPECT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        return finish;
    }
    /// Whether the segment will be drawn, which is known once all members have revealed in this epoch.
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

/// 13.5.1: a forger whose finishing height lies between the reveals and the draw that they decide does not end before
/// the draw. It falls silent when it is drawn, and loses its whole lock.
TEST_F(RunEnds, AForgerThatSeesThatItWillBeDrawnLosesItsWholeLock) {
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
    for (std::uint64_t i = 2; i <= 23; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);  // the last one is left
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

/// 13.5.1: a run that is late and waits for its draws is challenged, and loses no more than a late run.
TEST_F(RunEnds, AChallengeOfALateRunCostsItNoMoreThanItProves) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(24);
    spec.audit_bp = 1;
    const std::uint64_t finish = bid_before_a_draw(spec);
    verify_first(1);
    while (height + 25 < finish) next_block(), serve("alice");
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    while (height + 2 < finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok);
    const std::string challenger = accomplice(0);
    const U256 lock = run().locked, before = balance(challenger), bonded = views::stake(state, party("alice")).bonded;
    while (height <= finish) next_block(), serve("alice");
    ASSERT_EQ(run().state, RunState::running);
    ASSERT_TRUE(challenge(challenger, 1, 2) == CallStatus::ok || challenge(challenger, 1, 1) == CallStatus::ok);
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
    EXPECT_LT(balance(challenger), before);
}

/// 14.12.4: a decision to pay covers only the audits that wait in its block.
TEST_F(RunEnds, ADecisionToPayIsAboutWhatWaitsNow) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    begin(wanted);
    add_solver("alice");
    advance(9);
    const std::uint64_t id = assign("alice", spec_of(4));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    const std::uint64_t since = run().unaudited_since;
    while (height + 12 < since + params.unaudited_blocks) next_block();
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    ASSERT_TRUE(advance_until([&] { return seated(0) != 0 && height >= since + params.unaudited_blocks; }));
    const std::uint64_t a = seated(0);
    ASSERT_EQ(audit(a).phase, AuditPhase::collecting);
    ASSERT_EQ(commit_verdict("v1", a), CallStatus::ok);
    ASSERT_EQ(send("requester", DecideUnaudited{id, 0, true}), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(commit_verdict("v2", a), CallStatus::ok);  // later in the same block
    ASSERT_EQ(run().unaudited_since, 0u);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).state == SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2"}) {
        ASSERT_TRUE(advance_until([&] { return send(name, RetireVerifier{}) == CallStatus::ok; }));
    }
    wrong_from = 2;  // nobody is left to look
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    const std::uint64_t again = run().unaudited_since;
    for (int i = 0; i < 200 && height < again + params.unaudited_blocks - 1; ++i) next_block(), serve("alice");
    EXPECT_EQ(all<UnauditedDecided>().size(), 1u);
    EXPECT_NE(segment(3).state, SegmentState::unaudited) << "the requester was not asked about segment 3";
    EXPECT_EQ(task().state, TaskState::running) << "earned " << run().earned.low64() / 400 << " of 4 segments";
}

/// 14.12.5: a run does not end while its windows are open, so the requester pays for the states that it was shown.
TEST_F(RunEnds, WhatIsOpenIsPaidForWhenItsWindowOutlastsTheWait) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 12;  // as the defaults: unaudited_blocks (600) is five times challenge_blocks (120)
    wanted.unaudited_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4, 2, 60));
    verify_first(id);
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
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

/// 14.12.17: the run of a replica that joined does not end while another of its segments can be finalised. A block
/// finalises few of them, because the task has had many runs.
TEST_F(RunEnds, AJoinedReplicaIsPaidForAllThatIsFinalisedWhenItsRunEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob"});
    const std::uint64_t id = assign("alice", spec_of(200));
    const auto raise_to = [&](std::uint8_t all, const std::map<std::string, std::uint64_t>& bids) {
        const auto more = static_cast<std::uint8_t>(all - task().active.size());
        const U256 price = market::escrow_of_more(views::spec(state, id).value(), params, 0, more).total();
        ASSERT_EQ(send("requester", RaiseReplicas{id, all}, price), CallStatus::ok) << last.revert_reason;
        auction(bids);
    };
    for (int r = 0; r < 6; ++r) {  // accounts of the requester, which win and decline
        std::map<std::string, std::uint64_t> bids;
        for (int i = 0; i < 4; ++i) bids[accomplice(4 * r + i)] = 300;
        for (const auto& [name, price] : bids) {
            ASSERT_EQ(send(name, Deposit{}, U256(20) * kCoin), CallStatus::ok);
            ASSERT_EQ(send(name, RegisterSolver{"http://solver", 1}), CallStatus::ok);
        }
        raise_to(5, bids);
        for (const auto& [name, price] : bids)
            ASSERT_EQ(send(name, DeclineTask{id}), CallStatus::ok) << last.revert_reason;
    }
    raise_to(2, {{"bob", 300}});
    const std::uint32_t b = task().active.back();
    ASSERT_EQ(run(b).solver, party("bob"));
    ASSERT_EQ(send("bob", AcceptData{id}), CallStatus::ok);
    const auto both = [&] { serve("alice", 0), serve("bob", b); };
    const auto commit = [&](std::uint64_t i) {
        ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_EQ(checkpoint("bob", i, b), CallStatus::ok);
    };
    for (const std::uint64_t i : {0, 1}) commit(i);
    ASSERT_TRUE(advance_until([&] {
        both(), check_audits();
        return segment(0).state == SegmentState::verified && segment(0, b).state == SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    for (std::uint64_t i = 2; i <= 200; ++i) commit(i);
    ASSERT_TRUE(advance_until([&] {
        both();
        return run(b).unaudited_since != 0 && segment(198, b).window_end != 0 && segment(198).window_end != 0;
    }));
    while (height < segment(198, b).window_end || height < run(b).unaudited_since + params.unaudited_blocks)
        next_block();
    ASSERT_EQ(send("requester", DecideUnaudited{id, b, false}), CallStatus::too_early) << "payments lag";
    ASSERT_TRUE(advance_until([&] { return send("requester", DecideUnaudited{id, b, false}) == CallStatus::ok; }, 900));
    EXPECT_EQ(run(b).earned, run(b).price * U256(199)) << run(b).finalised << " of 199 segments whose windows are over";
}

/// 14.12.5: a run that waits for auditors does not end before a watcher's window does, however long the window is.
TEST_F(RunEnds, AWatcherHasItsWindowBeforeARunThatWaitsEnds) {
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
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice"), run().unaudited_since != 0 && segment(1).window_end != 0; }));
    const std::uint64_t since = run().unaudited_since, end = segment(1).window_end;
    ASSERT_GT(end, since + 2 * params.unaudited_blocks);
    while (height + 1 < end) next_block();  // A replay is 110 blocks, and it has 122.
    EXPECT_EQ(challenge(accomplice(0), id, 1), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run().state, RunState::running);
}

/// 14.12.4: a decision to pay also covers an audit that has auditors at that moment and would wait again, because they
/// stay silent.
TEST_F(RunEnds, ADecisionToPayIsNotLostWhileSilentAuditorsSit) {
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
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice", 0, id), run(0, id).unaudited_since != 0; }));
    const std::uint64_t a = segment(0, 0, id).audit;
    const std::uint64_t since = run(0, id).unaudited_since;
    ASSERT_TRUE(advance_until(
        [&] { return height >= since + params.unaudited_blocks && audit(a).phase != AuditPhase::no_auditors; }));
    ASSERT_EQ(send("requester", DecideUnaudited{id, 0, true}), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until(
        [&] {
            serve("alice", 0, id);
            return market::is_over(run(0, id).state) || segment(0, 0, id).state == market::SegmentState::unaudited;
        },
        600));
    EXPECT_EQ(run(0, id).state, RunState::running) << "the requester has decided to pay";
}

/// 14.12.17: the same for many segments whose windows end in one block.
TEST_F(RunEnds, AllThatIsFinalisedIsPaidWhenTheRunOfAReplicaThatJoinedEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob", "carol", "dave"});
    constexpr std::uint64_t kCount = 400;
    const TaskSpec spec = spec_of(kCount, 2, 0);
    const std::uint64_t id = assign("alice", spec);
    const U256 price = market::escrow_of_more(spec, params, 0, 1).total();
    for (const char* name : {"bob", "carol", "dave"}) {
        ASSERT_EQ(send("requester", RaiseReplicas{id, 2}, price), CallStatus::ok) << last.revert_reason;
        auction({{name, 300}}, id);
        if (std::string(name) != "dave") {
            ASSERT_EQ(send(name, DeclineTask{id}), CallStatus::ok);
        }
    }
    ASSERT_EQ(send("dave", AcceptData{id}), CallStatus::ok);
    constexpr std::uint32_t kDave = 3;
    ASSERT_EQ(run(kDave, id).solver, party("dave"));
    const auto both = [&] { serve("alice", 0, id), serve("dave", kDave, id); };
    for (const std::uint64_t i : {0, 1})
        for (const std::uint32_t r : {0u, kDave}) ASSERT_EQ(checkpoint(r ? "dave" : "alice", i, r, id), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        both(), check_audits();
        return segment(0, 0, id).state == market::SegmentState::verified &&
               segment(0, kDave, id).state == market::SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    for (std::uint64_t i = 2; i <= kCount; ++i)
        for (const std::uint32_t r : {0u, kDave}) ASSERT_EQ(checkpoint(r ? "dave" : "alice", i, r, id), CallStatus::ok);
    ASSERT_TRUE(advance_until(
        [&] { return both(), run(kDave, id).unaudited_since != 0 && segment(kCount - 2, kDave, id).window_end != 0; }));
    std::map<std::uint64_t, int> ends;
    for (std::uint64_t i = 0; i < kCount - 1; ++i) ++ends[segment(i, kDave, id).window_end];
    const std::uint64_t end = ends.rbegin()->first;
    while (height < end) next_block();
    ASSERT_GE(height, run(kDave, id).unaudited_since + params.unaudited_blocks);
    ASSERT_EQ(send("requester", DecideUnaudited{id, kDave, false}), CallStatus::too_early) << "payments lag";
    ASSERT_TRUE(advance_until([&] { return send("requester", DecideUnaudited{id, kDave, false}) == CallStatus::ok; }));
    EXPECT_EQ(run(kDave, id).finalised, kCount - 1) << "segments with a verdict, a window that is over and no dispute";
    EXPECT_EQ(run(kDave, id).earned, run(kDave, id).price * U256(kCount - 1));
}

}  // namespace
}  // namespace retrace::contracts
