// SPDX-License-Identifier: MIT
// The findings of the fifth hostile reading.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "market/escrow.hpp"
#include "tests/unit/contracts/limits_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::DisputeState;
using market::RunState;
using market::SegmentState;

class FifthReading : public Limits {
protected:
    market::Audit newest_audit(std::uint64_t task) {
        return views::audit(state, segment(0, 0, task).audit).value_or(market::Audit{});
    }
    U256 bonded(const std::string& name) const { return views::stake(state, party(name)).bonded; }
    bool paid(const market::Audit& audit, const std::string& name) const {
        return std::any_of(audit.seats.begin(), audit.seats.end(),
                           [&](const market::Seat& seat) { return seat.auditor == party(name) && seat.paid; });
    }
    /// Reports tiles of the start of segment 0 until no report is left; each one is answered at once.
    void use_up_reports(const Address& who, std::uint64_t task, const std::string& solver) {
        const std::string name = name_of(who);
        for (std::uint64_t tile = 0; tile < params.reports; ++tile) {
            ASSERT_EQ(send(name, ReportUnavailable{1, task, 0, 0, 0, tile}, params.report_fee), Verdict::ok);
            ledger::State next{static_cast<const ledger::StateView&>(state)};
            Effects fx{next, params, height, {}};
            const std::uint64_t report = views::report_count(state);
            close_report(fx, report, party(solver));
            resume_audit(fx, views::report(state, report).value());
            state.apply(next.diff());
        }
    }
};

/// 14.10: a liar that is drawn after the audit has waited for auditors is one of all that were drawn, not the only one.
TEST_F(FifthReading, ALiarAfterAWaitForAuditorsTakesNoStakeFromTheSolver) {
    start(small_params(), {"alice"});
    TaskSpec spec = spec_of(4, 1);
    spec.checkpoint_blocks = 2'000;
    spec.finish_blocks = 100'000;
    const std::uint64_t id = assign("alice", spec);
    const U256 before = bonded("alice");
    lazy = {"v1", "v2", "v3", "v4"};
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice", 0, id), run(0, id).unaudited_since != 0; }));
    ASSERT_TRUE(newest_audit(id).seats.empty());
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        return newest_audit(id).phase == AuditPhase::collecting && !newest_audit(id).seats.empty();
    }));
    use_up_reports(newest_audit(id).seats.at(0).auditor, id, "alice");
    ASSERT_TRUE(advance_until([&] { return serve("alice", 0, id), run(0, id).state != RunState::running; }));
    EXPECT_EQ(run(0, id).state, RunState::left);
    EXPECT_EQ(bonded("alice"), before);
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
}

/// 13.5.2: a run that stops behind its first segment, which is always audited, pays for the audit.
TEST_F(FifthReading, ARunThatStopsBehindAuditedSegmentsLosesTheFeesOfTheirAuditors) {
    auto wanted = small_params();
    wanted.audit_fee = wanted.audit_fee * U256(5);
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(4, 3);
    spec.audit_bp = 10'000;
    const std::uint64_t id = assign("alice", spec);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        check_audits();
        return segment(0, 0, id).state == SegmentState::verified;
    }));
    const U256 locked = run(0, id).locked;
    const U256 fees = market::audit_fee(params, views::spec(state, id).value()) * U256(3);
    const U256 tenth = market::split(locked, params.silence_penalty_bp).share;
    ASSERT_GT(fees, tenth) << "else the test shows nothing";
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].party, party("alice"));
    EXPECT_EQ(slashed[0].reason, "not_checkpointed");
    EXPECT_EQ(slashed[0].amount, ledger::min(fees, locked));
}

/// 15.9.1: the forger lets a drawn accomplice with a third root win. The honest auditors that wait behind it are paid.
TEST_F(FifthReading, AuditorsThatWaitBehindAnAccompliceArePaid) {
    start(slow_params(), {"alice"});
    wrong_from = 1;
    const std::uint64_t id = assign("alice", spec_of(4, 3));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), Verdict::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        return segment(0, 0, id).audit != 0 && !audit_of(id).seats.empty();
    }));
    const auto names = auditors_of(id);
    const std::set<std::string> wrong{names.at(0)};
    commit_verdicts("alice", id, wrong);
    for (const std::string& name : names) ASSERT_EQ(reveal_verdict(name, id, wrong), Verdict::ok);
    ASSERT_EQ(dispute(1).challenger, party(names[0]));
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
    for (const std::string& name : {names[1], names[2]}) EXPECT_TRUE(paid(audit_of(id), name)) << name;
    EXPECT_FALSE(paid(audit_of(id), names[0])) << "it has the share";
}

}  // namespace
}  // namespace retrace::contracts
