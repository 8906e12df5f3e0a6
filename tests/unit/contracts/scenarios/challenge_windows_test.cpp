// SPDX-License-Identifier: MIT
// Challenge windows at the end of a run, and the clocks that reports move. SPEC 14.12.5, 15.2.6, 16.1, 16.4.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;

class ChallengeWindows : public HostileReports {
protected:
    /// Segment 0 of a task of `count` segments is verified, three of four members retire, the last segment waits.
    void last_waits(std::uint64_t id, std::uint64_t count) {
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] {
            serve("alice", 0, id);
            check_audits();
            return segment(0, 0, id).state == market::SegmentState::verified;
        }));
        for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
        for (std::uint64_t i = 2; i <= count; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] {
            serve("alice", 0, id);
            return run(0, id).unaudited_since != 0 && segment(count - 2, 0, id).window_end != 0;
        }));
    }
};

/// 14.12.5: a reveal that waits for a replica's audit holds the run while that audit ends by itself. alice forges, bob
/// computes honestly.
TEST_F(ChallengeWindows, AForgedRunIsForfeitedThoughItsRevealWaitsForAnotherAudit) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 3'000;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);  // v2 is alice's
    add_solver("alice");
    add_solver("bob");  // bob is alice's, too, and computes honestly
    advance(9);
    TaskSpec spec = spec_of(4, 2, 95);
    spec.finish_blocks = 10'000;
    spec.replicas = 2;
    post(spec);
    auction({{"alice", 400}, {"bob", 500}});
    ASSERT_EQ(run(0).solver, party("alice"));
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    wrong_run = 0;
    wrong_from = 1;
    const U256 stake = views::stake(state, party("alice")).bonded;
    for (const std::uint64_t i : {0, 1})
        for (const std::uint32_t r : {0, 1}) ASSERT_EQ(checkpoint(r ? "bob" : "alice", i, r), CallStatus::ok);
    const auto both = [&] { serve("alice", 0), serve("bob", 1); };
    ASSERT_TRUE(advance_until([&] { return both(), seated(0) != 0 && seated(0, 1, 1) != 0; }));
    const std::uint64_t y = seated(0), m = seated(0, 1, 1);
    for (const char* name : {"v1", "v2"}) ASSERT_EQ(commit_verdict(name, y), CallStatus::ok);
    ASSERT_EQ(commit_verdict("v1", m), CallStatus::ok);
    ASSERT_EQ(audit(y).phase, AuditPhase::revealing);
    ASSERT_EQ(audit(y).deadline, 0u);
    std::uint64_t reports = 0;
    bool retired = false;
    for (int i = 0; i < 2'000 && run(0).state == RunState::running; ++i) {
        if (!retired) retired = send("v2", RetireVerifier{}) == CallStatus::ok;
        for (const std::uint32_t r : {0, 1})
            if (retired && run(r).next_state <= 4) {
                ASSERT_EQ(checkpoint(r ? "bob" : "alice", run(r).next_state, r), CallStatus::ok);
            }
        both();
        const bool open = reports != 0 && report(reports).state == market::ReportState::open;
        if (audit(m).phase == AuditPhase::collecting && !open && reports < params.reports) {
            ASSERT_EQ(say("v2", 1, 0, reports, 1, 1), CallStatus::ok) << last.revert_reason;
            ++reports;
        } else if (open && height == report(reports).deadline) {
            answer(reports, "bob");
        }
        next_block();
    }
    EXPECT_EQ(run(0).state, RunState::forfeited) << "v1 has committed to what convicts it";
    EXPECT_LT(views::stake(state, party("alice")).bonded, stake);
}

/// 16.1.19: a keeper that attests while a report about the state is open has its whole time for later reports.
TEST_F(ChallengeWindows, AKeeperThatAttestsWhileAReportStaysOpenHasItsTime) {
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
    ASSERT_EQ(send(bad, AttestRetention{1, 0, 1}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    while (busy_until(state, party(good), height) > height) next_block();
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok) << last.revert_reason;
    while (height + 1 < report(1).deadline) next_block();
    ASSERT_EQ(send(good, AttestRetention{1, 0, 1}), CallStatus::ok);
    const std::uint64_t from = height;
    ASSERT_EQ(say("bob", 5, 1, 1), CallStatus::ok) << last.revert_reason;
    answer(1, bad);
    EXPECT_GE(report(2).deadline, from + 30 + params.answer_blocks) << "a state takes 30 blocks to load and hash";
    for (int i = 0; i < 34; ++i) next_block();
    for (const Slashed& slashed : all<Slashed>()) EXPECT_NE(slashed.party, party(good)) << slashed.reason;
}

/// 15.2.5: places for challenges are counted per run, so a challenge about another run of the solver keeps no window of
/// this run open. `earned` returns the pay of a run that ends after a wait, with such a challenge if `freeze`.
class FrozenWindows : public ChallengeWindows {
protected:
    U256 earned(bool freeze) {
        auto wanted = small_params();
        wanted.checkpoint_blocks = 900;
        wanted.challenge_blocks = 100;
        wanted.unaudited_blocks = 200;
        start(wanted, {"alice"});
        const std::uint64_t decoy = assign("alice", spec_of(20, 2, 60)), id = assign("alice", spec_of(4, 2, 1));
        open_segments("alice", decoy, 3);
        last_waits(id, 4);
        std::uint64_t d = 0;
        if (freeze) {
            EXPECT_EQ(challenge(accomplice(0), decoy, 1), CallStatus::ok) << last.revert_reason;
            d = views::dispute_count(state);
        }
        const std::uint64_t since = run(0, id).unaudited_since;
        while (height < since + params.unaudited_blocks) {
            next_block();
            serve("alice", 0, id);
            if (d != 0 && dispute(d).state == market::DisputeState::open &&
                dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
                EXPECT_EQ(post_hashes("alice", d), CallStatus::ok);
            }
        }
        while (send("requester", DecideUnaudited{id, 0, false}) == CallStatus::dispute_open &&
               height < since + 2 * params.unaudited_blocks)
            next_block(), serve("alice", 0, id);
        return run(0, id).earned;
    }
};
TEST_F(FrozenWindows, AChallengeAboutAnotherRunTakesNoPay) {
    const U256 usual = earned(false);
    ASSERT_EQ(usual, U256(3 * 1'000));
    const U256 frozen = earned(true);
    EXPECT_EQ(frozen, usual) << "segments 0 to 2 are open, and their windows are over";
}

/// 15.2.6: while the work of the forger's own challenge refuses a watcher, the run does not end; the watcher has a
/// window afterwards.
TEST_F(ChallengeWindows, AWatcherThatWasRefusedHasAWindowBeforeTheRunEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice", "bob"});
    const std::uint64_t decoy = assign("bob", spec_of(20, 2, 60)), id = assign("alice", spec_of(4, 2, 1));
    open_segments("bob", decoy, 3);
    wrong_from = 2;
    accomplice(0);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        check_audits();
        return segment(0, 0, id).state == market::SegmentState::verified;
    }));
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    const U256 bond = market::challenge_bond(params, views::spec(state, decoy).value());
    ASSERT_EQ(send("alice", ChallengeSegment{decoy, 0, 1, word("mine")}, bond), CallStatus::ok) << last.revert_reason;
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    std::uint64_t refused = 0;
    for (int i = 0; i < 400 && run(0, id).state == RunState::running; ++i) {
        next_block();
        serve("alice", 0, id);
        if (views::segment(state, id, 0, 1)->window_end != 0 && run(0, id).state == RunState::running) {
            const CallStatus status = challenge(accomplice(0), id, 1);
            if (status == CallStatus::ok) break;
            ASSERT_EQ(static_cast<CallStatus>(decode_refusal(last.output)->code), CallStatus::too_many_open);
            ++refused;
        }
    }
    EXPECT_GT(refused, 10u);
    EXPECT_EQ(run(0, id).state, RunState::running) << "the watcher has a window before the run ends";
    EXPECT_EQ(run(0, id).challenges, 1u);
}

/// 15.2.6: whoever opens and ends a challenge of its own in every block would have the payments of all its runs looked
/// at in every block.
TEST_F(ChallengeWindows, PaymentsNoteTheEndOfRefusalsInOneBlockOfSixteen) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice", "bob"});
    const std::uint64_t decoy = assign("bob", spec_of(20, 2, 60)), id = assign("alice", spec_of(4, 2, 1));
    open_segments("bob", decoy, 3);
    ASSERT_EQ(checkpoint("alice", 0, 0, id), CallStatus::ok);
    const auto payment_height = [&] {
        return counter(state, keys::scheduled_height(static_cast<std::uint8_t>(ScheduledKind::payment), id, 0));
    };
    const auto accepted_since = [&] { return backlog(state, party("alice")).challenges_accepted_since; };
    const U256 bond = market::challenge_bond(params, views::spec(state, decoy).value());
    ASSERT_EQ(send("alice", ChallengeSegment{decoy, 0, 1, word("mine")}, bond), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until([&] { return accepted_since() != 0; }, 2'000));
    ASSERT_EQ(accepted_since(), height);
    ASSERT_NE(height % 16, 15u) << "otherwise the next block is the one of sixteen anyway";
    EXPECT_EQ(payment_height(), height - height % 16 + 16);
}

/// 16.1.13: a successor's deadline waits only until its report is answered, although another keeper, its accomplice, is
/// busy.
TEST_F(ChallengeWindows, AReportThatIsAnsweredAtOnceHoldsNoTask) {
    auto slow = small_params();
    slow.checkpoint_blocks = 400;
    slow.challenge_blocks = 100;
    begin(slow);
    TaskSpec spec = small_spec();
    spec.replay_blocks = 1;
    start_run(spec);
    add_solver("carol");
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until(
        [&] {
            serve("alice");
            if (segment(0).state != market::SegmentState::verified) check_audits();
            return segment(0).state == market::SegmentState::verified && run().finalised == 1;
        },
        300));
    const std::string bad = name_of(audit(1).seats.at(0).auditor), good = name_of(audit(1).seats.at(1).auditor);
    for (const std::string& name : {bad, good}) ASSERT_EQ(send(name, AttestRetention{1, 0, 1}), CallStatus::ok);
    while (height + 60 < run().deadline) next_block();
    const std::uint64_t decoy = assign("carol", spec_of(20, 2, 95));
    open_segments("carol", decoy, 3);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, 1u);
    const std::uint64_t from = height;
    std::uint64_t tile = 0, d = 0;
    for (int i = 0; i < 900 && task().state == market::TaskState::assigned; ++i) {
        if (d == 0 || dispute(d).state != market::DisputeState::open) {
            if (tile == 3) break;
            ASSERT_EQ(challenge(bad, decoy, 1 + tile % 2), CallStatus::ok) << last.revert_reason;
            d = views::dispute_count(state);
            ASSERT_EQ(say("bob", 5, 1, tile++), CallStatus::ok) << last.revert_reason;
            answer(views::report_count(state), good);
        }
        if (dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("carol", d), CallStatus::ok) << last.revert_reason;
        }
        next_block();
        serve("carol", 0, decoy);
    }
    EXPECT_LE(height, from + 2 * params.accept_blocks + params.unbond_blocks / 4 + 1);
}

/// 16.1.13: an answer shortens a deadline only by the blocks by which the report had moved it.
TEST_F(ChallengeWindows, AnAnswerTakesNothingOffADeadlineThatDidNotWaitForIt) {
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
    const std::string keeper = name_of(audit(1).seats.at(0).auditor);
    ASSERT_EQ(send(keeper, AttestRetention{1, 0, 1}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 600));
    auction({{"bob", 500}});
    ASSERT_EQ(say("bob", 5, 1, 0), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    const std::uint64_t deadline = run(1).deadline;
    ASSERT_GT(report(1).deadline, height + 1);
    next_block();
    answer(1, keeper);
    EXPECT_EQ(run(1).deadline, deadline);
}

/// 16.1.20, 16.4: the report of a challenger that also has a seat about the run moves the seat and the dispute's clock.
TEST_F(ChallengeWindows, AChallengersClockWaitsThoughItHasASeatAsWell) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice", "bob"});
    const std::uint64_t decoy = assign("bob", spec_of(20, 2, 60)), id = assign("alice", spec_of(20, 2, 60));
    open_segments("bob", decoy, 3);
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && segment(2, 0, id).window_end != 0; }));
    const std::string v = name_of(audit(seated(0, id)).seats[0].auditor);
    ASSERT_EQ(challenge(v, id, 2), CallStatus::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state);
    const U256 bond = market::challenge_bond(params, views::spec(state, decoy).value());
    ASSERT_EQ(send("alice", ChallengeSegment{decoy, 0, 1, word("mine")}, bond), CallStatus::ok) << last.revert_reason;
    if (dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
        ASSERT_EQ(post_hashes("alice", d), CallStatus::ok);
    }
    ASSERT_EQ(dispute(d).mover, static_cast<std::uint8_t>(verifier::Side::challenger));
    const std::uint64_t before = dispute(d).deadline;
    ASSERT_EQ(say(v, 2, 0, 0, id), CallStatus::ok) << last.revert_reason;
    const std::uint64_t r = views::report_count(state);
    EXPECT_GT(dispute(d).deadline, before);
    while (height < report(r).deadline && dispute(d).state == market::DisputeState::open) {
        next_block();
        serve("alice", 0, id);
    }
    EXPECT_EQ(dispute(d).state, market::DisputeState::open) << "it waits for what it needs";
    EXPECT_EQ(report(r).state, market::ReportState::open);
}

/// 16.1.20: the report of a program's record moves the clocks of both disputes that its challenger has about the run.
TEST_F(ChallengeWindows, BothClocksOfAChallengerWait) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 10));
    open_segments("alice", id, 3);
    const std::string v = accomplice(0);
    std::vector<std::uint64_t> disputes, before;
    for (const std::uint64_t i : {1, 2}) {
        ASSERT_EQ(challenge(v, id, i), CallStatus::ok) << last.revert_reason;
        disputes.push_back(views::dispute_count(state));
        if (dispute(disputes.back()).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("alice", disputes.back()), CallStatus::ok);
        }
        before.push_back(dispute(disputes.back()).deadline);
    }
    for (const std::uint64_t tile : {0, 1}) ASSERT_EQ(say(v, 2, 0, tile, id), CallStatus::ok) << last.revert_reason;
    for (const std::size_t i : {0u, 1u}) EXPECT_GT(dispute(disputes[i]).deadline, before[i]) << i;
}

/// 14.12.5: all finalised segments are paid when the run ends, although a block pays only 64 of a run that goes on.
TEST_F(ChallengeWindows, AllThatIsFinalisedIsPaidWhenARunEnds) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(200, 2, 0));
    last_waits(id, 200);
    std::map<std::uint64_t, int> ends;
    for (std::uint64_t i = 0; i < 199; ++i) ++ends[segment(i, 0, id).window_end];
    const std::uint64_t end = ends.rbegin()->first;
    while (height < end) next_block();
    ASSERT_GE(height, run(0, id).unaudited_since + params.unaudited_blocks);
    ASSERT_EQ(send("requester", DecideUnaudited{id, 0, false}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(0, id).earned, run(0, id).price * U256(199)) << run(0, id).finalised;
}

}  // namespace
}  // namespace retrace::contracts
