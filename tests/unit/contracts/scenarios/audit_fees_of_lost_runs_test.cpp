// SPDX-License-Identifier: MIT
// Fees of auditors when a run is lost. SPEC 13.5.2, 15.9.1.
#include "market/escrow.hpp"
#include "tests/unit/contracts/limits_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeState;
using market::RunState;
using market::SegmentState;

class AuditFeesOfLostRuns : public Limits {
protected:
    bool paid(const market::Audit& audit, const std::string& name) const {
        return std::any_of(audit.seats.begin(), audit.seats.end(),
                           [&](const market::Seat& seat) { return seat.auditor == party(name) && seat.paid; });
    }
};

/// 13.5.2: a run that stops behind segments that were audited pays for the audits.
TEST_F(AuditFeesOfLostRuns, ARunThatStopsBehindAuditedSegmentsLosesTheFeesOfTheirAuditors) {
    auto wanted = small_params();
    wanted.audit_fee = wanted.audit_fee * U256(5);
    wanted.checkpoint_blocks = 80;
    wanted.challenge_blocks = 200;
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(4, 3);
    spec.audit_bp = 10'000;
    const std::uint64_t id = assign("alice", spec);
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        check_audits();
        return segment(1, 0, id).state == SegmentState::verified;
    }));
    const U256 locked = run(0, id).locked;
    const U256 fees = market::audit_fee(params, views::spec(state, id).value()) * U256(2 * 3);
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
TEST_F(AuditFeesOfLostRuns, AuditorsThatWaitBehindAnAccompliceArePaid) {
    start(slow_params(), {"alice"});
    wrong_from = 1;
    const std::uint64_t id = assign("alice", spec_of(4, 3));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        return segment(0, 0, id).audit != 0 && !audit_of(id).seats.empty();
    }));
    const auto names = auditors_of(id);
    const std::set<std::string> wrong{names.at(0)};
    commit_verdicts("alice", id, wrong);
    for (const std::string& name : names) ASSERT_EQ(reveal_verdict(name, id, wrong), CallStatus::ok);
    ASSERT_EQ(dispute(1).challenger, party(names[0]));
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
    for (const std::string& name : {names[1], names[2]}) EXPECT_TRUE(paid(audit_of(id), name)) << name;
    EXPECT_FALSE(paid(audit_of(id), names[0])) << "it has the share";
}

}  // namespace
}  // namespace retrace::contracts
