// SPDX-License-Identifier: MIT
// What changes a solver's standing. SPEC 13.11.
#include "contracts/records/standing.hpp"

#include "contracts/records/methods.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class StandingOfSolvers : public MarketTest {
protected:
    market::Standing standing(std::string_view name) const { return views::standing(state, party(name)); }
    U256 fees_paid() const {
        U256 sum;
        for (const AuditPaid& paid : all<AuditPaid>()) sum += paid.amount;
        return sum;
    }
};

TEST_F(StandingOfSolvers, GrowsByTheFeesOfAuditorsThatGotTheSameBits) {
    start_run();
    play("alice");
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_GT(fees_paid(), 0);
    EXPECT_EQ(standing("alice").verified, fees_paid());
    EXPECT_EQ(standing("alice").lost, 0);
    EXPECT_EQ(standing("v1"), market::Standing{}) << "auditors have none";
    const auto answer = answer_view(Contract::staking, calldata(ReadStanding{party("alice")}), state);
    ASSERT_TRUE(answer);
    EXPECT_EQ(decode_answer<ReadStanding>(answer->output), standing("alice"));
}

TEST_F(StandingOfSolvers, ASolverThatStopsLosesHalfOfItAndItsStakeIsNoted) {
    start_run();
    note_verified(state, party("alice"), U256(8) * kCoin, height);
    ASSERT_TRUE(advance_until([&] { return market::is_over(run().state); }));
    EXPECT_EQ(standing("alice").verified, U256(4) * kCoin);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(standing("alice").lost, slashed[0].amount);
}

TEST_F(StandingOfSolvers, AForgerThatFallsSilentUnderADisputeIsConvicted) {
    start_run();
    note_verified(state, party("alice"), U256(8) * kCoin, height);
    wrong_from = 1;
    for (int i = 0; i < 200 && run().open_disputes == 0; ++i) {
        if (run().next_state <= 2) {
            ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        check_audits();
        next_block();
    }
    ASSERT_NE(run().open_disputes, 0u);
    for (int i = 0; i < 200 && run().state == market::RunState::running; ++i) {
        // It opens nothing more, which ends it before its clock of the dispute does.
        if (run().next_state <= 3) static_cast<void>(checkpoint("alice", run().next_state));
        check_audits();
        next_block();
    }
    EXPECT_EQ(all<Slashed>().back().reason, "not_opened");
    const auto record = views::solver(state, party("alice"))->reputation;
    EXPECT_EQ(record.faults, 1u);
    EXPECT_EQ(record.silences, 0u);
    EXPECT_TRUE(standing("alice").verified.is_zero());
}

}  // namespace
}  // namespace retrace::contracts
