// SPDX-License-Identifier: MIT
// Sequences by which a hostile reading of 26098b7 broke the rules: each failed before the rule was mended.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/reviews/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;

class HostileReading : public HostileReports {};

/// What returned of work that moved an earlier checkpoint's deadline was taken off a later one (18.7).
TEST_F(HostileReading, WhatReturnedOfWorkIsNotTakenOffALaterCheckpointsDeadline) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    start(wanted, {"alice"});
    assign("alice", spec_of(20, 1, 30));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::string auditor = name_of(audit(seated(0)).seats[0].auditor);
    // Shown in the block after it was asked for; a checkpoint in between.
    ASSERT_EQ(say(auditor, 1, 0, 0), Verdict::ok) << last.revert_reason;
    ASSERT_EQ(checkpoint("alice", 2), Verdict::ok);
    EXPECT_EQ(run().deadline, height + 30 + 40);
    next_block();
    answer(1, "alice");
    ASSERT_EQ(checkpoint("alice", 3), Verdict::ok);
    const std::uint64_t begun = height;
    EXPECT_EQ(run().deadline, begun + 40) << "nothing is left to do";
    // Now a tree that takes the whole allowance moves the deadline by all of it.
    ASSERT_EQ(say(auditor, 1, 0, 1), Verdict::ok);
    const std::uint64_t due = report(2).deadline;
    EXPECT_EQ(due, height + 30 + params.answer_blocks);
    for (int i = 0; i < 30; ++i) next_block(), serve("alice");
    answer(2, "alice");
    while (height < begun + 40 + 30) next_block(), serve("alice");
    EXPECT_EQ(checkpoint("alice", 4), Verdict::ok);
    EXPECT_TRUE(all<Slashed>().empty());
}

/// A keeper that answered ended the work of all, and the next report gave the others no time for the state (16.1.19).
TEST_F(HostileReading, AKeeperThatAnswersLeavesTheOthersTheirTime) {
    auto slow = small_params();
    slow.checkpoint_blocks = 300;
    begin(slow);
    TaskSpec spec = small_spec();
    spec.replay_blocks = 30;
    start_run(spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        if (segment(0).state != market::SegmentState::verified) check_audits();
        return segment(0).state == market::SegmentState::verified && run().finalised == 1;
    }));
    const std::string bad = name_of(audit(1).seats.at(0).auditor), good = name_of(audit(1).seats.at(1).auditor);
    for (const std::string& name : {bad, good}) ASSERT_EQ(send(name, AttestRetention{1, 0, 1}), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});  // of one owner with `bad`
    ASSERT_EQ(run(1).first_state, 1u);
    while (busy_until(state, party(good), height) > height) next_block();
    const std::uint64_t from = height;
    for (const std::uint64_t tile : {0, 1}) ASSERT_EQ(say("bob", 5, 1, tile), Verdict::ok) << last.revert_reason;
    EXPECT_EQ(report(1).deadline, from + 30 + params.answer_blocks);
    answer(1, bad);
    ASSERT_EQ(say("bob", 5, 1, 2), Verdict::ok) << last.revert_reason;
    EXPECT_EQ(report(3).deadline, from + 30 + params.answer_blocks) << "a state takes 30 blocks to load and hash";
    EXPECT_EQ(busy_until(state, party(bad), height), height) << "it has shown that the state is ready";
    EXPECT_EQ(busy_until(state, party(good), height), from + 30);
    for (const std::uint64_t id : {2, 3}) answer(id, good);
    EXPECT_EQ(busy_until(state, party(good), height), height);
}

/// The wait of another audit ended the run before an audit with an honest auditor did, which was within its time
/// (14.12.5).
TEST_F(HostileReading, AnAuditThatEndsByItselfIsWaitedForHoweverLongAnotherOneWaits) {
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
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t a = seated(0);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), send("v2", RetireVerifier{}) == Verdict::ok; }));
    ASSERT_EQ(audit(a).seats.size(), 2u);
    std::uint64_t reports = 0, served_at = 0, waits_since = 0;
    bool committed = false;
    for (int i = 0; i < 3'000 && run().state == RunState::running; ++i) {
        if (run().next_state <= 4) {
            ASSERT_EQ(checkpoint("alice", run().next_state), Verdict::ok);
        }
        serve("alice");
        if (run().unaudited_since != 0 && waits_since == 0) waits_since = run().unaudited_since;
        // v1, honest: reports what it is not served, one after the other, and replays.
        const bool open = reports != 0 && report(reports).state == market::ReportState::open;
        if (audit(a).phase == AuditPhase::collecting && !open && reports < params.reports) {
            ASSERT_EQ(say("v1", 1, 0, reports), Verdict::ok) << last.revert_reason;
            ++reports;
        } else if (open && height == report(reports).deadline) {
            answer(reports, "alice");
            served_at = height;
        } else if (!open && reports == params.reports && height >= served_at + 95 && !committed) {
            ASSERT_EQ(commit_verdict("v1", a), Verdict::ok);
            committed = true;
        }
        if (committed) break;
        next_block();
    }
    EXPECT_TRUE(committed);
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_GT(height, waits_since + 2 * params.unaudited_blocks + params.unbond_blocks);
}

/// 256 draws of an audit that nobody was left for ended the run beside one with an honest auditor (14.10).
TEST_F(HostileReading, AnAuditThatEndsByItselfIsWaitedForHoweverOftenAnotherOneIsDrawn) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 9'000;
    wanted.unbond_blocks = 3'000;
    begin(wanted);
    for (const std::string name : {"v1", "v2", "v3", "v4"}) {
        ASSERT_EQ(send(name, Deposit{}, U256(name == "v1" ? 900 : 20) * kCoin), Verdict::ok);
        ASSERT_EQ(send(name, RegisterVerifier{"http://verifier", link(name, 2'000)}), Verdict::ok);
        chains[name] = 2'000;
    }
    add_solver("alice");
    advance(9);
    TaskSpec spec = spec_of(4, 2, 500);
    spec.finish_blocks = 50'000;
    assign("alice", spec);
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
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
            ASSERT_EQ(checkpoint("alice", run().next_state), Verdict::ok);
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
                ASSERT_EQ(say("v1", 1, audit(a).segment, said[a]), Verdict::ok) << last.revert_reason;
                at[a] = views::report_count(state);
                ++said[a];
            } else if (a == x && owes && !open && height >= served_at + 500 && !committed) {
                committed = commit_verdict("v1", a) == Verdict::ok;
            }
        }
        if (committed) break;
        next_block();
    }
    EXPECT_TRUE(committed);
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_EQ(audit(y).redraws, kRedrawsMax);
}

/// The finishing height was not moved by work that came after the bid and before the assignment, once that had
/// returned.
TEST_F(HostileReading, TheFinishingHeightCountsFromTheBid) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.answer_blocks = 30;
    start(wanted, {"alice"});
    assign("alice", spec_of(20, 1, 30));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::string auditor = name_of(audit(seated(0)).seats[0].auditor);
    const std::uint64_t id = post(spec_of(20, 1, 30));
    ASSERT_EQ(commit_bid("alice", 400, id), Verdict::ok);
    next_block();
    ASSERT_EQ(say(auditor, 1, 0, 0), Verdict::ok) << "when its bid is there";
    while (height < task(id).bid_end) next_block();
    ASSERT_EQ(reveal_bid("alice", 400, id), Verdict::ok);
    const std::uint64_t close = task(id).reveal_end;
    while (height < close) next_block();
    answer(1, "alice");
    ASSERT_EQ(send("alice", AcceptData{id}), Verdict::ok);
    const std::uint64_t finish = run(0, id).finish_height, total = backlog(state, party("alice")).total;
    ASSERT_EQ(say(auditor, 1, 0, 1), Verdict::ok);
    for (int i = 0; i < 30; ++i) next_block(), serve("alice");
    answer(2, "alice");
    EXPECT_EQ(backlog(state, party("alice")).total, total + 30) << "all of it was needed";
    ASSERT_EQ(checkpoint("alice", 0, 0, id), Verdict::ok);
    EXPECT_GE(run(0, id).finish_height, finish + 30);
}

/// A seat that was drawn while its auditor waited for a record of the program kept its place in the order of work,
/// which passed during the wait (16.1.13): whichever of two seats went first, the other was missed.
TEST_F(HostileReading, ASeatDrawnDuringAReportIsGivenAnewWithTheOthers) {
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
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t first = seated(0);
    ASSERT_EQ(say("v1", 2, 0, 0), Verdict::ok) << last.revert_reason;
    const std::uint64_t until = report(1).deadline;
    for (const std::uint64_t i : {2, 3, 4}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(3) != 0; }));
    const std::uint64_t second = seated(3);
    for (const char* name : {"v2", "v3"})
        for (const std::uint64_t a : {first, second}) ASSERT_EQ(commit_verdict(name, a), Verdict::ok);
    while (height + 20 < until) next_block();
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("bob", i, 0, 2), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("bob", 0, 2), seated(0, 2) != 0; }));
    const std::uint64_t other = seated(0, 2), began = height;
    while (height < until) next_block();
    answer(1, "alice");
    advance(R - (height - began));  // v1 ends what it began meanwhile (16.1.13), whose place is the next
    ASSERT_EQ(commit_verdict("v1", other), Verdict::ok);
    advance(R);
    EXPECT_EQ(commit_verdict("v1", first), Verdict::ok);
    for (std::uint64_t i = 0; i < R; ++i) {
        next_block();
        serve("alice");
        for (const char* name : {"v1", "v2", "v3"})
            if (audit(first).phase == AuditPhase::verdicts)
                send(name, RevealVerdict{first, root(1), word(std::string("verdict ") + name)});
    }
    EXPECT_EQ(commit_verdict("v1", second), Verdict::ok);
    for (const Slashed& slashed : all<Slashed>()) EXPECT_NE(slashed.party, party("v1")) << slashed.reason;
}

/// An audit that had found too few members counted as one that had had all of its rounds (14.12.14).
TEST_F(HostileReading, WithoutRedrawsAnAuditIsDrawnWhenThereAreMembers) {
    auto wanted = small_params();
    wanted.redraws = 0;
    wanted.unaudited_blocks = 1'000;
    begin(wanted);
    add_solver("alice");
    advance(9);
    assign("alice", spec_of(4, 2, 0));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (int i = 0; i < 400; ++i) next_block(), serve("alice"), check_audits();
    EXPECT_FALSE(all<AuditorsDrawn>().empty());
    EXPECT_EQ(segment(0).state, market::SegmentState::verified);
}

/// A last round in which nobody spoke was drawn no more (14.12.14).
TEST_F(HostileReading, ALastRoundThatNobodySpokeInIsDrawnAnew) {
    auto wanted = small_params();
    wanted.unaudited_blocks = 1'000;
    wanted.checkpoint_blocks = 2'000;
    wanted.redraws = 1;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);  // of one owner
    add_solver("alice");
    advance(9);
    assign("alice", spec_of(4, 1, 0));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
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

/// A winner that did not accept held a stranger's task by disputes about a task of its own (18.4).
TEST_F(HostileReading, AWinnerHoldsATaskThatItDoesNotAcceptForABoundedTime) {
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
    ASSERT_EQ(challenge(accomplice(0), 1, 0), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return task(id).state != market::TaskState::assigned; }, 2'000));
    EXPECT_LE(height, from + params.accept_blocks + params.unbond_blocks / 4 + 1);
}

/// A watcher without runs of its own was shut out by one challenge that it was baited into (18.6).
TEST_F(HostileReading, AWatcherThatWasBaitedIntoOneChallengeIsHeard) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob"});
    const std::uint64_t bait = assign("alice", spec_of(20, 2, 60)), fraud = assign("bob", spec_of(20, 2, 1));
    const std::string watcher = accomplice(0);
    open_segments("alice", bait, 3);
    ASSERT_EQ(challenge(watcher, bait, 1), Verdict::ok) << "it is forged";
    open_segments("bob", fraud, 3);
    ASSERT_NE(segment(1, 0, fraud).window_end, 0u);
    EXPECT_EQ(challenge(watcher, fraud, 1), Verdict::ok) << last.revert_reason;
}

}  // namespace
}  // namespace retrace::contracts
