// SPDX-License-Identifier: MIT
// What reports of tiles may move, for whom, and for how long.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/reviews/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;

class ThirdReadingReports : public HostileReports {
protected:
    /// The state 1 of a run is kept by two keepers; alice is gone, and whoever is in `winners` has the task from there.
    void kept_state(const std::map<std::string, std::uint64_t>& winners, std::uint64_t replicas = 1,
                    std::uint64_t answer_blocks = 0) {
        auto slow = small_params();
        slow.checkpoint_blocks = 400;
        slow.challenge_blocks = 100;
        if (answer_blocks != 0) slow.answer_blocks = answer_blocks;
        begin(slow);
        TaskSpec spec = small_spec();
        spec.replay_blocks = 1;
        spec.replicas = static_cast<std::uint8_t>(replicas);
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol", "dave", "v4"}) add_solver(name);
        advance(9);
        post(spec);
        auction(replicas == 1 ? std::map<std::string, std::uint64_t>{{"alice", 400}, {"bob", 700}}
                              : std::map<std::string, std::uint64_t>{{"alice", 400}, {"dave", 500}});
        ASSERT_EQ(run().solver, party("alice"));
        const auto both = [&](auto what) {
            what("alice", 0u);
            if (replicas == 2) what("dave", 1u);
        };
        both([&](const char* name, std::uint32_t) { ASSERT_EQ(send(name, AcceptData{1}), Verdict::ok); });
        for (const std::uint64_t i : {0, 1})
            both([&](const char* name, std::uint32_t r) { ASSERT_EQ(checkpoint(name, i, r), Verdict::ok); });
        keeping = false;
        ASSERT_TRUE(advance_until(
            [&] {
                both([&](const char* name, std::uint32_t r) { serve(name, r); });
                check_audits();
                return run().finalised == 1 && (replicas == 1 || run(1).finalised == 1);
            },
            300));
        const auto first = audit(segment(0).audit);
        for (const market::Seat& seat : first.seats)
            if (seat.state == SeatState::matched) keepers.push_back(name_of(seat.auditor));
        ASSERT_EQ(keepers.size(), 2u);
        for (const std::string& name : keepers) ASSERT_EQ(send(name, AttestRetention{1, 0, 1}), Verdict::ok);
        if (replicas == 2) {
            const auto second = audit(segment(0, 1).audit);
            for (const market::Seat& seat : second.seats)
                if (seat.state == SeatState::matched) send(name_of(seat.auditor), AttestRetention{1, 1, 1});
        }
        while (height + 60 < run().deadline) next_block();
        decoy = assign(replicas == 1 ? "carol" : "v4", spec_of(20, 2, 95));
        (void)winners;
    }
    std::vector<std::string> keepers;
    std::uint64_t decoy = 0;
};

/// As AReportThatIsAnsweredAtOnceHoldsNoTask, but the keeper answers in the block after the report: the reminder of
/// the acceptance was written for the longer deadline, and none is written for the one that the answer leaves.
TEST_F(ThirdReadingReports, AnAnswerOneBlockLaterLeavesTheTaskHeld) {
    kept_state({});
    const std::string bad = keepers[0], good = keepers[1];
    open_segments("carol", decoy, 3);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    ASSERT_EQ(challenge(bad, decoy, 1), Verdict::ok) << last.revert_reason;
    while (height < run(1).deadline) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), Verdict::ok) << last.revert_reason;
    const std::uint64_t due = report(1).deadline;
    next_block();  // The keeper sees the report and answers.
    answer(1, good);
    const std::uint64_t from = height, deadline = run(1).deadline;
    EXPECT_LE(deadline, from + 1);
    for (int i = 0; i < 900 && task().state == market::TaskState::assigned; ++i) {
        next_block();
        const auto d = dispute(1);
        if (d.state == market::DisputeState::open && d.mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("carol", 1), Verdict::ok);
        }
        serve("carol", 0, decoy);
    }
    EXPECT_LE(height, deadline + 1) << "its deadline was " << deadline << ", the report was due " << due;
}

/// The acceptance moves by `unbond_blocks` / 4 for each report that is answered at once, not once.
TEST_F(ThirdReadingReports, EachReportThatIsAnsweredAtOnceMovesTheLimitOfAnAcceptance) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 640;
    wanted.challenge_blocks = 500;
    wanted.unbond_blocks = 400;
    start(wanted, {"alice", "bob"});
    TaskSpec spec = small_spec();
    spec.replay_blocks = 1;
    spec.finish_blocks = 9'000;
    const std::uint64_t id = assign("alice", spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    keeping = false;
    ASSERT_TRUE(advance_until(
        [&] {
            serve("alice", 0, id);
            check_audits();
            return segment(0, 0, id).state == market::SegmentState::verified;
        },
        100));
    std::string keeper;
    for (const market::Seat& seat : audit(segment(0, 0, id).audit).seats)
        if (seat.state == SeatState::matched) keeper = name_of(seat.auditor);
    ASSERT_EQ(send(keeper, AttestRetention{id, 0, 1}), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return run(0, id).finalised == 1; }, 1'400));
    while (height + 60 < run(0, id).deadline) next_block();
    TaskSpec own = spec_of(20, 1, 17);
    own.checkpoint_blocks = 6'000;
    own.finish_blocks = 9'000;
    const std::uint64_t busy = assign("bob", own);
    open_segments("bob", busy, 8);
    ASSERT_TRUE(advance_until([&] { return serve("bob", 0, busy), run(0, id).state == RunState::forfeited; }, 600));
    auction({{"bob", 400}}, id);
    ASSERT_EQ(task(id).state, market::TaskState::assigned);
    ASSERT_EQ(run(1, id).first_state, 1u);
    const std::uint64_t from = height;
    std::uint64_t tile = 0, bonds = 0;
    std::set<std::uint64_t> open;
    for (int i = 0; i < 3'000 && task(id).state == market::TaskState::assigned; ++i) {
        if (height + 1 >= moved_deadline(state, params, run(1, id))) {
            if (tile < params.reports) {
                ASSERT_EQ(say("bob", 5, 1, tile++, id), Verdict::ok) << last.revert_reason;
                answer(views::report_count(state), keeper);  // at once, in the block of the report
            }
            for (std::uint64_t s = 1; s < 8; ++s)  // Accomplices challenge bob's other run, and lose a bond each.
                if (views::segment(state, busy, 0, s)->window_end != 0 &&
                    challenge(accomplice(static_cast<int>(bonds)), busy, s) == Verdict::ok)
                    open.insert(views::dispute_count(state)), ++bonds;
        }
        for (const std::uint64_t d : open)
            if (dispute(d).state == market::DisputeState::open &&
                dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
                ASSERT_EQ(post_hashes("bob", d), Verdict::ok);
            }
        next_block();
        serve("bob", 0, busy);
    }
    EXPECT_LE(height, from + params.accept_blocks + params.unbond_blocks / 4 + params.reports + 1)
        << bonds << " challenges, " << tile << " reports, " << height - from << " blocks; run is "
        << static_cast<int>(run(0, busy).state);
}

/// The reports of a seat use up those of a challenge about the same run: a challenger that may need a tile to win is
/// refused it.
TEST_F(ThirdReadingReports, TheReportsOfASeatTakeNothingOfADispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 20));
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && segment(2, 0, id).window_end != 0; }));
    const std::uint64_t a = seated(0, id);
    const std::string v = name_of(audit(a).seats[0].auditor);
    ASSERT_EQ(challenge(v, id, 2), Verdict::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state);
    if (dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
        ASSERT_EQ(post_hashes("alice", d), Verdict::ok);
    }
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {  // Batches that segment 0 alone needs.
        ASSERT_EQ(say(v, 3, 0, tile, id), Verdict::ok) << last.revert_reason;
        answer(views::report_count(state), "alice");
    }
    ASSERT_EQ(commit_verdict(v, a), Verdict::ok);
    EXPECT_EQ(dispute(d).reports, 0u) << "one of an account's cases takes nothing of another's (19)";
    EXPECT_EQ(say(v, 3, 0, 100, id), Verdict::ok) << "a batch of segment 2: " << last.revert_reason;
    EXPECT_EQ(say(v, 1, 2, 0, id), Verdict::ok) << "a tile of state 2: " << last.revert_reason;
}

/// The same with two seats: what an auditor reported for the one is not left for the other.
TEST_F(ThirdReadingReports, TheReportsOfASeatTakeNothingOfAnotherSeat) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    const std::uint64_t id = assign("alice", spec_of(4, 2, 20));
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && seated(3, id) != 0; }));
    const std::uint64_t a = seated(0, id), b = seated(3, id);
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {  // Batches that segment 0 alone needs.
        ASSERT_EQ(say("v1", 3, 0, tile, id), Verdict::ok) << last.revert_reason;
        answer(views::report_count(state), "alice");
    }
    ASSERT_EQ(commit_verdict("v1", a), Verdict::ok);
    ASSERT_EQ(audit(b).phase, AuditPhase::collecting);
    EXPECT_EQ(say("v1", 1, 3, 0, id), Verdict::ok) << "a tile of state 3: " << last.revert_reason;
    EXPECT_EQ(say("v1", 3, 0, 100, id), Verdict::ok) << "a batch of segment 3: " << last.revert_reason;
}

/// A seat that has used up its reports is moved again by those that its auditor has for a dispute.
TEST_F(ThirdReadingReports, AUsedUpSeatDoesNotHoldItsAuditByTheReportsOfADispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 400;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 1));
    for (std::uint64_t i = 0; i <= 10; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && segment(8, 0, id).window_end != 0; }));
    const std::uint64_t a = seated(0, id);
    const std::string v = name_of(audit(a).seats[0].auditor), honest = name_of(audit(a).seats[1].auditor);
    ASSERT_EQ(commit_verdict(honest, a), Verdict::ok);
    const std::uint64_t from = height;
    const std::uint64_t each = params.verdict_blocks + params.answer_blocks + 2;
    std::uint64_t moved = 0, challenges = 0, tile = 0;
    for (int i = 0; i < 3'000 && audit(a).phase == AuditPhase::collecting; ++i) {
        if (height == audit(a).deadline) {
            Verdict verdict = say(v, 2, 0, tile, id);
            if (verdict != Verdict::ok && challenges < 4 && challenge(v, id, 2 + challenges) == Verdict::ok) {
                ++challenges;
                verdict = say(v, 2, 0, tile, id);
            }
            if (verdict == Verdict::ok) {
                moved += audit(a).deadline > height;
                ++tile;
                answer(views::report_count(state), "alice");
            }
        }
        next_block();
        serve("alice", 0, id);
        for (std::uint64_t d = 1; d <= views::dispute_count(state); ++d)
            if (dispute(d).state == market::DisputeState::open &&
                dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
                ASSERT_EQ(post_hashes("alice", d), Verdict::ok);
            }
    }
    EXPECT_LE(moved, 2 * params.reports) << "16.1.20: half of them charged to the seat, half to others";
    EXPECT_LE(height, from + (2 * params.reports + 1) * each) << moved << " moves, " << challenges << " challenges";
}

/// Two successors of one owner: the answer to the one does not end its wait while the other's report is open, and
/// the answer to the other ends only the other's.
TEST_F(ThirdReadingReports, AnAnswerEndsTheWaitOfItsReporterThoughAnotherWaits) {
    kept_state({}, 2);
    const std::string bad = keepers[0], good = keepers[1];
    open_segments("v4", decoy, 3);
    ASSERT_TRUE(advance_until([&] { return task().state == market::TaskState::bidding; }, 900));
    auction({{"bob", 500}, {"carol", 550}});
    ASSERT_EQ(task().active.size(), 2u);
    std::uint32_t mine = task().active[0];
    if (run(mine).solver != party("bob")) mine = task().active[1];
    ASSERT_EQ(run(mine).first_state, 1u);
    ASSERT_EQ(challenge(bad, decoy, 1), Verdict::ok) << last.revert_reason;
    while (height < run(mine).deadline) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), Verdict::ok) << last.revert_reason;
    ASSERT_EQ(say("carol", 5, 1, 0), Verdict::ok) << last.revert_reason;
    for (const std::uint64_t r : {1, 2}) answer(r, good);
    const std::uint64_t answered = height;
    EXPECT_LE(run(mine).deadline, answered + 1);
    ASSERT_TRUE(advance_until([&] { return run(mine).state != RunState::assigned; }, 600));
    EXPECT_LE(height, answered + 2) << "both answers came in the block of the reports";
}

/// A challenger's clock keeps what it was given for answers that came at once: one bond holds a run for longer than
/// `unbond_blocks`, which are twice the longest case of a task (12.1.15, 18.5).
TEST_F(ThirdReadingReports, ReportsThatAreAnsweredAtOnceDoNotStretchADispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    wanted.unbond_blocks = 140;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 20));  // 2 * (46 + 20) < 140
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    ASSERT_EQ(challenge(v, id, 1), Verdict::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state), from = height;
    std::uint64_t said = 0;
    for (int i = 0; i < 4'000 && dispute(d).state == market::DisputeState::open; ++i) {
        if (dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("alice", d), Verdict::ok);  // at once
        } else if (height == dispute(d).deadline && said < params.reports) {
            ASSERT_EQ(say(v, 1, 1, said++, id), Verdict::ok) << last.revert_reason;
            answer(views::report_count(state), "alice");  // at once
        }
        next_block();
        serve("alice", 0, id);
        if (run(0, id).state != RunState::running) break;
    }
    EXPECT_LE(height, from + params.unbond_blocks) << said << " reports; run " << static_cast<int>(run(0, id).state)
                                                   << " dispute " << static_cast<int>(dispute(d).state);
}

/// An auditor attests, to be paid, one block before the deadline of a report that it was never asked by, and loses
/// a bond because the keeper that was asked is silent.
TEST_F(ThirdReadingReports, AKeeperThatAttestsLateIsNotPunishedForAReportThatItWasNotAskedBy) {
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
    ASSERT_EQ(send(bad, AttestRetention{1, 0, 1}), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    while (busy_until(state, party(good), height) > height) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), Verdict::ok) << last.revert_reason;
    while (height < report(1).deadline) next_block();
    const U256 before = views::stake(state, party(good)).bonded;
    ASSERT_EQ(send(good, AttestRetention{1, 0, 1}), Verdict::ok);
    advance(3);
    ASSERT_EQ(report(1).state, market::ReportState::failed);
    EXPECT_EQ(views::stake(state, party(good)).bonded, before) << "a state takes 30 blocks to load and hash";
    EXPECT_EQ(views::checkpoint(state, 1, 0, 1)->keepers, std::vector<Address>{party(good)}) << "bad keeps it no more";
    ASSERT_EQ(say("bob", 5, 1, 0), Verdict::ok) << "good is asked now: " << last.revert_reason;
    while (height <= report(2).deadline) next_block();
    EXPECT_EQ(before - views::stake(state, party(good)).bonded, params.audit_bond);
}

/// A successor's checkpoint deadline moves by the wait for its first state, its finishing height does not: what the
/// keepers take is taken from the time that it bid for its work.
TEST_F(ThirdReadingReports, TheFinishingHeightMovesByTheWaitForAFirstState) {
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
    const std::string keeper = name_of(audit(1).seats.at(0).auditor);
    ASSERT_EQ(send(keeper, AttestRetention{1, 0, 1}), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    constexpr std::uint64_t kWork = 60;  // three segments of 15 blocks, and a quarter on top
    const std::uint64_t finish = task().reveal_end + kWork;
    const Hash32 bid = market::bid_commitment(1, task().round, 500, finish, word("bob"), party("bob"));
    ASSERT_EQ(send("bob", CommitBid{1, bid}, params.bid_deposit), Verdict::ok);
    while (height < task().bid_end) next_block();
    ASSERT_EQ(send("bob", RevealBid{1, 500, finish, word("bob")}), Verdict::ok);
    const std::uint64_t close = task().reveal_end;
    while (height < close) next_block();
    ASSERT_EQ(run(1).solver, party("bob"));
    ASSERT_EQ(send("bob", AcceptData{1}), Verdict::ok);
    ASSERT_EQ(say("bob", 5, 1, 0), Verdict::ok) << last.revert_reason;  // a tile of its first state is gone (16.1.15)
    while (height < report(1).deadline) next_block();
    answer(1, keeper);  // in the last block
    const std::uint64_t from = height;
    const U256 stake = views::stake(state, party("bob")).bonded;
    for (std::uint64_t i = 1; i <= 4 && run(1).state == RunState::running; ++i) {
        for (int b = 0; i > 1 && b < 15; ++b) next_block(), serve("bob", 1), check_audits();
        if (run(1).state == RunState::running) {
            ASSERT_EQ(checkpoint("bob", i, 1), Verdict::ok);
        }
    }
    EXPECT_EQ(run(1).state, RunState::running) << "bob has worked for " << height - from << " of " << kWork;
    EXPECT_EQ(views::stake(state, party("bob")).bonded, stake);
}

/// Two auditors, one of them silent: the forger serves batches by answers on the ledger only. What the honest one
/// needed for segment 0 leaves it none for the forged segment, and it is released: the run ends with its lock.
class ThirdReadingReportsShared : public ThirdReadingReports {
protected:
    /// v1 reports `batches` for segment 0, and needs one tile for segment 3, which is forged. Returns how the run ends.
    RunState ending(std::uint64_t batches, bool match = false) {
        auto wanted = small_params();
        wanted.checkpoint_blocks = 2'000;
        wanted.challenge_blocks = 100;
        begin(wanted);
        for (const char* name : {"v1", "v2"}) add_verifier(name);  // v2 is alice's
        add_solver("alice");
        advance(9);
        const std::uint64_t id = assign("alice", spec_of(4, 2, 20));
        wrong_from = 4;
        stake = views::stake(state, party("alice")).bonded;
        for (std::uint64_t i = 0; i <= 4; ++i) EXPECT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
        EXPECT_TRUE(advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && seated(3, id) != 0; }));
        const std::uint64_t a = seated(0, id), b = seated(3, id);
        for (std::uint64_t tile = 0; tile < batches; ++tile) {
            EXPECT_EQ(say("v1", 3, 0, tile, id), Verdict::ok) << last.revert_reason;
            answer(views::report_count(state), "alice");
        }
        for (const char* name : {"v1", "v2"}) EXPECT_EQ(commit_verdict(name, a), Verdict::ok);
        bool has_tile = false;
        for (int i = 0; i < 3'000 && run(0, id).state == RunState::running; ++i) {
            serve("alice", 0, id);
            for (const char* name : {"v1", "v2"})
                if (audit(a).phase == AuditPhase::verdicts)
                    send(name, RevealVerdict{a, root(1), word("verdict " + std::string(name))});
            if (audit(b).phase == AuditPhase::collecting && !has_tile && say("v1", 3, 0, 100, id) == Verdict::ok) {
                answer(views::report_count(state), "alice");
                has_tile = true;
            }
            if (audit(b).phase == AuditPhase::collecting && has_tile) commit_verdict("v1", b);
            const Hash32 secret = word("verdict v2");
            if (match && audit(b).phase == AuditPhase::collecting)
                send("v2", CommitVerdict{b, solver::verdict_commitment(solver_root(4), secret, party("v2").bytes, b)});
            if (match && audit(b).phase == AuditPhase::verdicts) send("v2", RevealVerdict{b, solver_root(4), secret});
            if (audit(b).phase == AuditPhase::verdicts) send("v1", RevealVerdict{b, root(4), word("verdict v1")});
            next_block();
        }
        return run(0, id).state;
    }
    U256 stake;
};
TEST_F(ThirdReadingReportsShared, AForgerLeavesBecauseItsAuditorUsedItsReportsForAnotherSeat) {
    ASSERT_EQ(ending(0), RunState::forfeited) << "with its reports, the honest auditor convicts it";
    EXPECT_EQ(ending(params.reports), RunState::forfeited) << "each seat has `reports` of its own (16.1, 19)";
    EXPECT_LT(views::stake(state, party("alice")).bonded, stake);
}

/// The same where the accomplice says that the forged segment matches: it is verified, and paid.
TEST_F(ThirdReadingReportsShared, AForgedSegmentIsPaidBecauseItsAuditorUsedItsReportsForAnotherSeat) {
    ASSERT_EQ(ending(0, true), RunState::forfeited) << "with its reports, the honest auditor convicts it";
    EXPECT_EQ(ending(params.reports, true), RunState::forfeited) << "each seat has `reports` of its own (16.1, 19)";
    EXPECT_TRUE(run().earned.is_zero()) << "the forged segment is the last of the four";
}

/// 16.3: an auditor that attests while a report that was opened before is about to be due loses a bond.
TEST_F(ThirdReadingReports, AKeeperIsNotPenalisedForAReportThatDidNotAskIt) {
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
    ASSERT_EQ(send(bad, AttestRetention{1, 0, 1}), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    ASSERT_EQ(say("bob", 5, 1, 0), Verdict::ok) << last.revert_reason;
    while (height < report(1).deadline) next_block();
    ASSERT_EQ(send(good, AttestRetention{1, 0, 1}), Verdict::ok) << "to be paid for the segment that it matched";
    for (int i = 0; i < 3; ++i) next_block();
    for (const Slashed& slashed : all<Slashed>()) EXPECT_NE(slashed.party, party(good)) << slashed.reason;
}

/// 16.4: a false challenger reports, is answered at once, and its clock grows by the whole time of each answer.
TEST_F(ThirdReadingReports, AReportThatIsAnsweredAtOnceHoldsNoDispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.unbond_blocks = 4'000;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 50));
    open_segments("alice", id, 3);
    ASSERT_EQ(challenge(accomplice(0), id, 1), Verdict::ok) << last.revert_reason;
    ASSERT_EQ(post_hashes("alice", 1), Verdict::ok);
    ASSERT_EQ(dispute(1).mover, static_cast<std::uint8_t>(verifier::Side::challenger));
    const std::uint64_t from = height, before = dispute(1).deadline - from;
    const auto pass = [&] {
        next_block(), serve("alice");
        if (run().state == RunState::running && run().next_state <= 20 && height + 1 >= run().deadline) {
            ASSERT_EQ(checkpoint("alice", run().next_state), Verdict::ok);
        }
    };
    for (std::uint64_t tile = 0; tile < params.reports && dispute(1).state == market::DisputeState::open; ++tile) {
        while (height < dispute(1).waits_until) pass();
        ASSERT_EQ(say(accomplice(0), 1, 1, tile), Verdict::ok) << last.revert_reason;
        answer(views::report_count(state), "alice");
        pass();
    }
    while (dispute(1).state == market::DisputeState::open) pass();
    EXPECT_EQ(dispute(1).state, market::DisputeState::challenger_lost);
    EXPECT_LE(height - from, before + 3 * params.reports) << before << " without reports";
}

/// 16.4.1: the blocks that a challenger waited stay on its clock, and no more.
TEST_F(ThirdReadingReports, AChallengersClockKeepsTheBlocksThatItWaited) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 20));
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    ASSERT_EQ(challenge(v, id, 1), Verdict::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state);
    ASSERT_EQ(post_hashes("alice", d), Verdict::ok);
    ASSERT_EQ(dispute(d).mover, static_cast<std::uint8_t>(verifier::Side::challenger));
    const std::uint64_t deadline = dispute(d).deadline, clock = dispute(d).challenger_clock;
    for (const std::uint64_t tile : {0, 1}) ASSERT_EQ(say(v, 1, 1, tile), Verdict::ok) << last.revert_reason;
    const std::uint64_t waits_until = dispute(d).waits_until;
    for (int i = 0; i < 7; ++i) next_block();
    ASSERT_GT(waits_until, height + 1);
    answer(1, "alice");
    EXPECT_EQ(dispute(d).waits_until, waits_until) << "the other tile is still waited for";
    next_block();
    answer(2, "alice");
    EXPECT_EQ(dispute(d).deadline, deadline + 8);
    EXPECT_EQ(dispute(d).challenger_clock, clock + 8);
    while (height < deadline + 8) next_block();
    EXPECT_EQ(dispute(d).state, market::DisputeState::open);
    next_block();
    EXPECT_EQ(dispute(d).state, market::DisputeState::challenger_lost);
}

/// 19: one of a challenger's cases takes the reports of another.
TEST_F(ThirdReadingReports, ReportsAboutOneDisputeTakeNothingOfAnother) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 10));
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    for (const std::uint64_t i : {1, 2}) ASSERT_EQ(challenge(v, id, i), Verdict::ok) << last.revert_reason;
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {
        ASSERT_EQ(say(v, 3, 0, tile, id), Verdict::ok) << last.revert_reason;  // tiles of the batch of segment 1
        answer(views::report_count(state), "alice");
    }
    EXPECT_EQ(say(v, 1, 2, 0, id), Verdict::ok) << last.revert_reason << ": no tile of state 2 was reported yet";
}

}  // namespace
}  // namespace retrace::contracts
