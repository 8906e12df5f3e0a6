// SPDX-License-Identifier: MIT
// To whom the reports of a seat are charged, and what they may move.
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;

using SeatReports = HostileReports;

/// The reports of a seat do not use up those of a challenge about the same run: its challenger may need a tile to win.
TEST_F(SeatReports, TheReportsOfASeatTakeNothingOfADispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 20));
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && segment(2, 0, id).window_end != 0; }));
    const std::uint64_t a = seated(0, id);
    const std::string v = name_of(audit(a).seats[0].auditor);
    ASSERT_EQ(challenge(v, id, 2), CallStatus::ok) << last.revert_reason;
    const std::uint64_t d = views::dispute_count(state);
    if (dispute(d).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
        ASSERT_EQ(post_hashes("alice", d), CallStatus::ok);
    }
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {  // Batches that segment 0 alone needs.
        ASSERT_EQ(say(v, 3, 0, tile, id), CallStatus::ok) << last.revert_reason;
        answer(views::report_count(state), "alice");
    }
    ASSERT_EQ(commit_verdict(v, a), CallStatus::ok);
    EXPECT_EQ(dispute(d).reports, 0u) << "one of an account's cases takes nothing of another's (19)";
    EXPECT_EQ(say(v, 3, 0, 100, id), CallStatus::ok) << "a batch of segment 2: " << last.revert_reason;
    EXPECT_EQ(say(v, 1, 2, 0, id), CallStatus::ok) << "a tile of state 2: " << last.revert_reason;
}

/// The same with two seats of one auditor.
TEST_F(SeatReports, TheReportsOfASeatTakeNothingOfAnotherSeat) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 100;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    add_solver("alice");
    advance(9);
    const std::uint64_t id = assign("alice", spec_of(4, 2, 20));
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && seated(3, id) != 0; }));
    const std::uint64_t a = seated(0, id), b = seated(3, id);
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {  // Batches that segment 0 alone needs.
        ASSERT_EQ(say("v1", 3, 0, tile, id), CallStatus::ok) << last.revert_reason;
        answer(views::report_count(state), "alice");
    }
    ASSERT_EQ(commit_verdict("v1", a), CallStatus::ok);
    ASSERT_EQ(audit(b).phase, AuditPhase::collecting);
    EXPECT_EQ(say("v1", 1, 3, 0, id), CallStatus::ok) << "a tile of state 3: " << last.revert_reason;
    EXPECT_EQ(say("v1", 3, 0, 100, id), CallStatus::ok) << "a batch of segment 3: " << last.revert_reason;
}

/// The reports that an auditor has for disputes move a seat that has used up its own no more than `reports` times.
TEST_F(SeatReports, AUsedUpSeatDoesNotHoldItsAuditByTheReportsOfADispute) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.challenge_blocks = 400;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(20, 2, 1));
    for (std::uint64_t i = 0; i <= 10; ++i) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(
        advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && segment(8, 0, id).window_end != 0; }));
    const std::uint64_t a = seated(0, id);
    const std::string v = name_of(audit(a).seats[0].auditor), honest = name_of(audit(a).seats[1].auditor);
    ASSERT_EQ(commit_verdict(honest, a), CallStatus::ok);
    const std::uint64_t from = height;
    const std::uint64_t each = params.verdict_blocks + params.answer_blocks + 2;
    std::uint64_t moved = 0, challenges = 0, tile = 0;
    for (int i = 0; i < 3'000 && audit(a).phase == AuditPhase::collecting; ++i) {
        if (height == audit(a).deadline) {
            CallStatus status = say(v, 2, 0, tile, id);
            if (status != CallStatus::ok && challenges < 4 && challenge(v, id, 2 + challenges) == CallStatus::ok) {
                ++challenges;
                status = say(v, 2, 0, tile, id);
            }
            if (status == CallStatus::ok) {
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
                ASSERT_EQ(post_hashes("alice", d), CallStatus::ok);
            }
    }
    EXPECT_LE(moved, 2 * params.reports) << "16.1.20: half of them charged to the seat, half to others";
    EXPECT_LE(height, from + (2 * params.reports + 1) * each) << moved << " moves, " << challenges << " challenges";
}

/// One of two auditors is the forger's, and the forger serves batches as answers on the ledger only. The honest one
/// uses up its reports for segment 0, and needs a tile of the forged segment.
class ForgerThatAnswersOnTheLedger : public SeatReports {
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
        for (std::uint64_t i = 0; i <= 4; ++i) EXPECT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
        EXPECT_TRUE(advance_until([&] { return serve("alice", 0, id), seated(0, id) != 0 && seated(3, id) != 0; }));
        const std::uint64_t a = seated(0, id), b = seated(3, id);
        for (std::uint64_t tile = 0; tile < batches; ++tile) {
            EXPECT_EQ(say("v1", 3, 0, tile, id), CallStatus::ok) << last.revert_reason;
            answer(views::report_count(state), "alice");
        }
        for (const char* name : {"v1", "v2"}) EXPECT_EQ(commit_verdict(name, a), CallStatus::ok);
        bool has_tile = false;
        for (int i = 0; i < 3'000 && run(0, id).state == RunState::running; ++i) {
            serve("alice", 0, id);
            for (const char* name : {"v1", "v2"})
                if (audit(a).phase == AuditPhase::verdicts)
                    send(name, RevealVerdict{a, root(1), word("verdict " + std::string(name))});
            if (audit(b).phase == AuditPhase::collecting && !has_tile && say("v1", 3, 0, 100, id) == CallStatus::ok) {
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

TEST_F(ForgerThatAnswersOnTheLedger, IsConvictedWhereItsAccompliceIsSilent) {
    ASSERT_EQ(ending(0), RunState::forfeited) << "with its reports, the honest auditor convicts it";
    EXPECT_EQ(ending(params.reports), RunState::forfeited) << "each seat has `reports` of its own (16.1, 19)";
    EXPECT_LT(views::stake(state, party("alice")).bonded, stake);
}

TEST_F(ForgerThatAnswersOnTheLedger, IsConvictedAndNotPaidWhereItsAccompliceSaysThatTheForgedSegmentMatches) {
    ASSERT_EQ(ending(0, true), RunState::forfeited) << "with its reports, the honest auditor convicts it";
    EXPECT_EQ(ending(params.reports, true), RunState::forfeited) << "each seat has `reports` of its own (16.1, 19)";
    EXPECT_TRUE(run().earned.is_zero()) << "the forged segment is the last of the four";
}

}  // namespace
}  // namespace retrace::contracts
