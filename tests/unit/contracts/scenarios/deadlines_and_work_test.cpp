// SPDX-License-Identifier: MIT
// Deadlines that assigned work moves, and audits that a run waits for. SPEC 14.10, 14.12, 16.1, 18.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;

class DeadlinesAndWork : public HostileReports {};

/// 18.7: a deadline is not shortened by work that returns and had moved only an earlier deadline.
TEST_F(DeadlinesAndWork, WhatReturnedOfWorkIsNotTakenOffALaterCheckpointsDeadline) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    start(wanted, {"alice"});
    assign("alice", spec_of(20, 1, 30));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::string auditor = name_of(audit(seated(0)).seats[0].auditor);
    // Shown in the block after it was asked for; a checkpoint in between.
    ASSERT_EQ(say(auditor, 1, 0, 0), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(checkpoint("alice", 2), CallStatus::ok);
    EXPECT_EQ(run().deadline, height + 30 + 40);
    next_block();
    answer(1, "alice");
    ASSERT_EQ(checkpoint("alice", 3), CallStatus::ok);
    const std::uint64_t begun = height;
    EXPECT_EQ(run().deadline, begun + 40) << "nothing is left to do";
    // Now a tree that takes the whole allowance moves the deadline by all of it.
    ASSERT_EQ(say(auditor, 1, 0, 1), CallStatus::ok);
    const std::uint64_t due = report(2).deadline;
    EXPECT_EQ(due, height + 30 + params.answer_blocks);
    for (int i = 0; i < 30; ++i) next_block(), serve("alice");
    answer(2, "alice");
    while (height < begun + 40 + 30) next_block(), serve("alice");
    EXPECT_EQ(checkpoint("alice", 4), CallStatus::ok);
    EXPECT_TRUE(all<Slashed>().empty());
}

/// 16.1.19: a keeper that answers ends only its own work; the other keepers keep their time to load the state.
TEST_F(DeadlinesAndWork, AKeeperThatAnswersLeavesTheOthersTheirTime) {
    auto slow = small_params();
    slow.checkpoint_blocks = 300;
    begin(slow);
    TaskSpec spec = small_spec();
    spec.replay_blocks = 30;
    start_run(spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        if (segment(0).state != market::SegmentState::verified) check_audits();
        return segment(0).state == market::SegmentState::verified && run().finalised == 1;
    }));
    const std::string bad = name_of(audit(1).seats.at(0).auditor), good = name_of(audit(1).seats.at(1).auditor);
    for (const std::string& name : {bad, good}) ASSERT_EQ(send(name, AttestRetention{1, 0, 1}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});  // of one owner with `bad`
    ASSERT_EQ(run(1).first_state, 1u);
    while (busy_until(state, party(good), height) > height) next_block();
    const std::uint64_t from = height;
    for (const std::uint64_t tile : {0, 1}) ASSERT_EQ(say("bob", 5, 1, tile), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(report(1).deadline, from + 30 + params.answer_blocks);
    answer(1, bad);
    ASSERT_EQ(say("bob", 5, 1, 2), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(report(3).deadline, from + 30 + params.answer_blocks) << "a state takes 30 blocks to load and hash";
    EXPECT_EQ(busy_until(state, party(bad), height), height) << "it has shown that the state is ready";
    EXPECT_EQ(busy_until(state, party(good), height), from + 30);
    for (const std::uint64_t id : {2, 3}) answer(id, good);
    EXPECT_EQ(busy_until(state, party(good), height), height);
}

/// 14.12.5: a run that waits for auditors does not end before an audit whose auditors are within their time.
TEST_F(DeadlinesAndWork, AnAuditThatEndsByItselfIsWaitedForHoweverLongAnotherOneWaits) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 3'000;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);  // v2 is alice's
    add_solver("alice");
    advance(9);
    TaskSpec spec = spec_of(4, 2, 95);
    spec.finish_blocks = 10'000;
    assign("alice", spec);
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t a = seated(0);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), send("v2", RetireVerifier{}) == CallStatus::ok; }));
    ASSERT_EQ(audit(a).seats.size(), 2u);
    std::uint64_t reports = 0, served_at = 0, waits_since = 0;
    bool committed = false;
    for (int i = 0; i < 3'000 && run().state == RunState::running; ++i) {
        if (run().next_state <= 4) {
            ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        if (run().unaudited_since != 0 && waits_since == 0) waits_since = run().unaudited_since;
        // v1, honest: reports what it is not served, one after the other, and replays.
        const bool open = reports != 0 && report(reports).state == market::ReportState::open;
        if (audit(a).phase == AuditPhase::collecting && !open && reports < params.reports) {
            ASSERT_EQ(say("v1", 1, 0, reports), CallStatus::ok) << last.revert_reason;
            ++reports;
        } else if (open && height == report(reports).deadline) {
            answer(reports, "alice");
            served_at = height;
        } else if (!open && reports == params.reports && height >= served_at + 95 && !committed) {
            ASSERT_EQ(commit_verdict("v1", a), CallStatus::ok);
            committed = true;
        }
        if (committed) break;
        next_block();
    }
    EXPECT_TRUE(committed);
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_GT(height, waits_since + 2 * params.unaudited_blocks + params.unbond_blocks);
}

/// 14.10: after 256 draws of one audit, the run does not end before another audit that ends by itself.
TEST_F(DeadlinesAndWork, AnAuditThatEndsByItselfIsWaitedForHoweverOftenAnotherOneIsDrawn) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 9'000;
    wanted.unbond_blocks = 3'000;
    begin(wanted);
    for (const std::string name : {"v1", "v2", "v3", "v4"}) {
        ASSERT_EQ(send(name, Deposit{}, U256(name == "v1" ? 900 : 20) * kCoin), CallStatus::ok);
        ASSERT_EQ(send(name, RegisterVerifier{"http://verifier", link(name, 2'000)}), CallStatus::ok);
        chains[name] = 2'000;
    }
    add_solver("alice");
    advance(9);
    TaskSpec spec = spec_of(4, 2, 500);
    spec.finish_blocks = 50'000;
    assign("alice", spec);
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t x = seated(0);
    bool sits = false;
    for (const market::Seat& seat : audit(x).seats) sits |= seat.auditor == party("v1");
    ASSERT_TRUE(sits);
    std::map<std::uint64_t, std::uint64_t> said, at;  // audit -> reports, open report
    bool committed = false;
    std::uint64_t served_at = 0, y = 0;
    for (int i = 0; i < 6'000 && run().state == RunState::running; ++i) {
        if (run().next_state <= 4) {
            ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        if (y == 0) y = seated(3);
        for (const std::uint64_t a : {x, y}) {
            if (a == 0 || audit(a).phase != AuditPhase::collecting) continue;
            bool owes = false;
            for (const market::Seat& seat : audit(a).seats)
                owes |= seat.auditor == party("v1") && seat.state == SeatState::drawn;
            const bool open = at[a] != 0 && report(at[a]).state == market::ReportState::open;
            if (open && (a == y || height == report(at[a]).deadline)) {
                answer(at[a], "alice");
                if (a == x) served_at = height;
            } else if (owes && !open && said[a] < params.reports) {
                ASSERT_EQ(say("v1", 1, audit(a).segment, said[a]), CallStatus::ok) << last.revert_reason;
                at[a] = views::report_count(state);
                ++said[a];
            } else if (a == x && owes && !open && height >= served_at + 500 && !committed) {
                committed = commit_verdict("v1", a) == CallStatus::ok;
            }
        }
        if (committed) break;
        next_block();
    }
    EXPECT_TRUE(committed);
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_EQ(audit(y).redraws, kRedrawsMax);
}

/// 18.4: work that was assigned between the bid and the start of the run, and has returned, keeps no later work from
/// moving the finishing height.
TEST_F(DeadlinesAndWork, TheFinishingHeightCountsFromTheBid) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.answer_blocks = 30;
    start(wanted, {"alice"});
    assign("alice", spec_of(20, 1, 30));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::string auditor = name_of(audit(seated(0)).seats[0].auditor);
    const std::uint64_t id = post(spec_of(20, 1, 30));
    ASSERT_EQ(commit_bid("alice", 400, id), CallStatus::ok);
    next_block();
    ASSERT_EQ(say(auditor, 1, 0, 0), CallStatus::ok) << "when its bid is there";
    while (height < task(id).bid_end) next_block();
    ASSERT_EQ(reveal_bid("alice", 400, id), CallStatus::ok);
    const std::uint64_t close = task(id).reveal_end;
    while (height < close) next_block();
    answer(1, "alice");
    ASSERT_EQ(send("alice", AcceptData{id}), CallStatus::ok);
    const std::uint64_t finish = run(0, id).finish_height, total = backlog(state, party("alice")).total;
    ASSERT_EQ(say(auditor, 1, 0, 1), CallStatus::ok);
    for (int i = 0; i < 30; ++i) next_block(), serve("alice");
    answer(2, "alice");
    EXPECT_EQ(backlog(state, party("alice")).total, total + 30) << "all of it was needed";
    ASSERT_EQ(checkpoint("alice", 0, 0, id), CallStatus::ok);
    EXPECT_GE(run(0, id).finish_height, finish + 30);
}

/// 16.1.13: a seat that was drawn while its auditor waited for a record of the program gets a new place in the order of
/// work after the answer, as the auditor's other seats do.
TEST_F(DeadlinesAndWork, ASeatDrawnDuringAReportIsGivenAnewWithTheOthers) {
    constexpr std::uint64_t R = 30;
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.answer_blocks = 100;
    begin(wanted);
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    TaskSpec spec = spec_of(4, 3, R);
    assign("alice", spec);
    assign("bob", spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t first = seated(0);
    ASSERT_EQ(say("v1", 2, 0, 0), CallStatus::ok) << last.revert_reason;
    const std::uint64_t until = report(1).deadline;
    for (const std::uint64_t i : {2, 3, 4}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(3) != 0; }));
    const std::uint64_t second = seated(3);
    for (const char* name : {"v2", "v3"})
        for (const std::uint64_t a : {first, second}) ASSERT_EQ(commit_verdict(name, a), CallStatus::ok);
    while (height + 20 < until) next_block();
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("bob", i, 0, 2), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("bob", 0, 2), seated(0, 2) != 0; }));
    const std::uint64_t other = seated(0, 2), began = height;
    while (height < until) next_block();
    answer(1, "alice");
    advance(R - (height - began));  // v1 ends what it began meanwhile (16.1.13), whose place is the next
    ASSERT_EQ(commit_verdict("v1", other), CallStatus::ok);
    advance(R);
    EXPECT_EQ(commit_verdict("v1", first), CallStatus::ok);
    for (std::uint64_t i = 0; i < R; ++i) {
        next_block();
        serve("alice");
        for (const char* name : {"v1", "v2", "v3"})
            if (audit(first).phase == AuditPhase::verdicts)
                send(name, RevealVerdict{first, root(1), word(std::string("verdict ") + name)});
    }
    EXPECT_EQ(commit_verdict("v1", second), CallStatus::ok);
    for (const Slashed& slashed : all<Slashed>()) EXPECT_NE(slashed.party, party("v1")) << slashed.reason;
}

/// 14.12.14: a round that found too few members does not count, so the audit is drawn when there are enough.
TEST_F(DeadlinesAndWork, WithoutRedrawsAnAuditIsDrawnWhenThereAreMembers) {
    auto wanted = small_params();
    wanted.redraws = 0;
    wanted.unaudited_blocks = 1'000;
    begin(wanted);
    add_solver("alice");
    advance(9);
    assign("alice", spec_of(4, 2, 0));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (int i = 0; i < 400; ++i) next_block(), serve("alice"), check_audits();
    EXPECT_FALSE(all<AuditorsDrawn>().empty());
    EXPECT_EQ(segment(0).state, market::SegmentState::verified);
}

/// 14.12.14: a round in which no auditor committed to a verdict does not count.
TEST_F(DeadlinesAndWork, ALastRoundThatNobodySpokeInIsDrawnAnew) {
    auto wanted = small_params();
    wanted.unaudited_blocks = 1'000;
    wanted.checkpoint_blocks = 2'000;
    wanted.redraws = 1;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);  // of one owner
    add_solver("alice");
    advance(9);
    assign("alice", spec_of(4, 1, 0));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    hiding = {"v1", "v2"};
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).audit != 0 && audit(segment(0).audit).phase == AuditPhase::closed;
    }));
    lazy = {"v1", "v2"};
    ASSERT_TRUE(advance_until([&] { return serve("alice"), check_audits(), run().unaudited_since != 0; }, 400));
    hiding = lazy = {};
    for (const char* name : {"v3", "v4"}) add_verifier(name);
    const std::size_t drawn = all<AuditorsDrawn>().size();
    for (int i = 0; i < 400; ++i) next_block(), serve("alice"), check_audits();
    EXPECT_GT(all<AuditorsDrawn>().size(), drawn);
    EXPECT_EQ(segment(0).audits, 2u);
    EXPECT_EQ(segment(0).state, market::SegmentState::verified);
}

/// 18.4: disputes about a run of another task move an acceptance by at most `unbond_blocks` / 4.
TEST_F(DeadlinesAndWork, AWinnerHoldsATaskThatItDoesNotAcceptForABoundedTime) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 20'000;
    wanted.challenge_blocks = 2'000;
    wanted.unbond_blocks = 4'000;
    start(wanted, {"alice"});
    TaskSpec own = spec_of(20, 1, 700);
    assign("alice", own);
    open_segments("alice", 1, 8);
    const std::uint64_t id = post(spec_of(20, 1, 1));
    auction({{"alice", 400}}, id);
    ASSERT_EQ(task(id).state, market::TaskState::assigned);
    const std::uint64_t from = height;
    ASSERT_EQ(challenge(accomplice(0), 1, 0), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return task(id).state != market::TaskState::assigned; }, 2'000));
    EXPECT_LE(height, from + params.accept_blocks + params.unbond_blocks / 4 + 1);
}

/// 18.6: a watcher that has one long challenge of its own open may open another one.
TEST_F(DeadlinesAndWork, AWatcherThatWasBaitedIntoOneChallengeIsHeard) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob"});
    const std::uint64_t bait = assign("alice", spec_of(20, 2, 60)), fraud = assign("bob", spec_of(20, 2, 1));
    const std::string watcher = accomplice(0);
    open_segments("alice", bait, 3);
    ASSERT_EQ(challenge(watcher, bait, 1), CallStatus::ok) << "it is forged";
    open_segments("bob", fraud, 3);
    ASSERT_NE(segment(1, 0, fraud).window_end, 0u);
    EXPECT_EQ(challenge(watcher, fraud, 1), CallStatus::ok) << last.revert_reason;
}

}  // namespace
}  // namespace retrace::contracts
