// SPDX-License-Identifier: MIT
// A keeper of a state has stake to lose until the task is over; and the cost of a state that was not kept. SPEC 16.3.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class Keepers : public MarketTest {
protected:
    /// alice's first segment is verified; the auditors that matched have not attested yet.
    void verify_a_segment(const TaskSpec& spec = small_spec()) {
        auto slow = small_params();
        slow.checkpoint_blocks = 300;
        begin(slow);
        start_run(spec);
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] {
            serve("alice");
            if (segment(0).state != market::SegmentState::verified) check_audits();
            return segment(0).state == market::SegmentState::verified && run().finalised == 1;
        }));
        const market::Audit audit = views::audit(state, 1).value();
        keeper = name_of(audit.seats.at(0).auditor);
        second = name_of(audit.seats.at(1).auditor);
    }
    /// Leaves the beacon and withdraws everything possible; it is not drawn in the next epochs.
    void leave(const std::string& name) {
        ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
        advance(3 * params.epoch_blocks);
        ASSERT_FALSE(views::verifier(state, party(name))->member);
        const U256 free = views::free_stake(state, params, party(name));
        EXPECT_EQ(send(name, BeginUnbond{free + U256(1)}), CallStatus::stake_too_low);
        ASSERT_EQ(send(name, BeginUnbond{free}), CallStatus::ok) << last.revert_reason;
    }
    U256 bonded(const std::string& name) const { return views::stake(state, party(name)).bonded; }
    CallStatus attest(const std::string& name) { return send(name, AttestRetention{1, 0, 1}); }
    /// alice falls silent, and bob continues from state 1.
    void replace_alice() {
        ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 400));
        auction({{"bob", 500}});
        ASSERT_EQ(run(1).first_state, 1u);
    }
    std::string keeper, second;
};

TEST_F(Keepers, OneThatLeavesKeepsABondUntilTheTaskIsOver) {
    verify_a_segment();
    ASSERT_EQ(attest(keeper), CallStatus::ok) << last.revert_reason;
    leave(keeper);
    EXPECT_EQ(bonded(keeper), params.audit_bond);
    EXPECT_EQ(send(keeper, BeginUnbond{1}), CallStatus::stake_too_low);
    play("alice");
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    ASSERT_EQ(task().state, TaskState::settled);
    EXPECT_EQ(send(keeper, BeginUnbond{params.audit_bond}), CallStatus::ok) << last.revert_reason;
}

/// Otherwise a run's successor could increase its keepers' backlog permanently with each report (18.7).
TEST_F(Keepers, WhatIsAskedOfThemIsReturnedWithTheAnswer) {
    TaskSpec spec = small_spec();
    spec.replay_blocks = 20;
    verify_a_segment(spec);
    for (const std::string& name : {keeper, second}) ASSERT_EQ(attest(name), CallStatus::ok);
    replace_alice();
    const auto until = [&](const std::string& name) { return backlog(state, party(name)).until; };
    advance_until([&] { return until(keeper) <= height && until(second) <= height; });
    for (std::uint64_t tile = 0; tile < params.reports; ++tile) {
        ASSERT_EQ(send("bob", ReportUnavailable{5, 1, 0, 1, 0, tile}, params.report_fee), CallStatus::ok);
        for (const std::string& name : {keeper, second}) EXPECT_EQ(until(name), height + spec.replay_blocks);
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        close_report(fx, views::report_count(state), party(keeper));
        state.apply(next.diff());
        for (const std::string& name : {keeper, second}) EXPECT_LE(until(name), height);
    }
}

/// Nobody needs the state of a task that is over. Its keepers' agents do not answer then, so an open report would keep
/// them busy, and out of the draws, until its deadline.
TEST_F(Keepers, AReportOfATaskThatEndsIsClosedWithIt) {
    TaskSpec spec = small_spec();
    spec.replay_blocks = 20;
    verify_a_segment(spec);
    ASSERT_EQ(attest(keeper), CallStatus::ok);
    replace_alice();
    ASSERT_EQ(send("bob", ReportUnavailable{5, 1, 0, 1, 0, 0}, params.report_fee), CallStatus::ok)
        << last.revert_reason;
    ASSERT_EQ(backlog(state, party(keeper)).open, spec.replay_blocks);
    ASSERT_EQ(send("bob", DeclineTask{1}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(backlog(state, party(keeper)).open, spec.replay_blocks) << "another successor may need the state";
    const U256 bob = ledger::balance_of(state, party("bob")), bond = bonded(keeper);
    ASSERT_EQ(send("requester", CancelTask{1}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(views::report(state, 1)->state, market::ReportState::failed);
    EXPECT_THAT(views::open_reports(state, 1), ::testing::IsEmpty());
    EXPECT_EQ(backlog(state, party(keeper)).open, 0u);
    EXPECT_EQ(ledger::balance_of(state, party("bob")), bob + params.report_fee);
    EXPECT_EQ(send(keeper, AnswerUnavailable{1, {1}}), CallStatus::already_answered);
    advance(params.answer_blocks + spec.replay_blocks + 2);
    EXPECT_EQ(bonded(keeper), bond);
}

TEST_F(Keepers, OneThatLeftPaysForAStateThatIsGone) {
    verify_a_segment();
    ASSERT_EQ(attest(keeper), CallStatus::ok);
    leave(keeper);
    replace_alice();
    ASSERT_EQ(send("bob", ReportUnavailable{5, 1, 0, 1, 0, 0}, params.report_fee), CallStatus::ok)
        << last.revert_reason;
    advance(params.answer_blocks + 1);
    const Slashed penalty = all<Slashed>().back();
    EXPECT_EQ(penalty.reason, "not_kept");
    EXPECT_EQ(penalty.party, party(keeper));
    EXPECT_EQ(penalty.amount, params.audit_bond);
    EXPECT_TRUE(bonded(keeper).is_zero());
}

TEST_F(Keepers, AStateCostsOneBondHoweverManyOfItsTilesAreMissed) {
    verify_a_segment();
    ASSERT_EQ(attest(keeper), CallStatus::ok);
    const U256 before = bonded(keeper);
    replace_alice();
    for (std::uint64_t tile = 0; tile < params.reports; ++tile)
        ASSERT_EQ(send("bob", ReportUnavailable{5, 1, 0, 1, 0, tile}, params.report_fee), CallStatus::ok);
    advance(params.answer_blocks + 1);
    EXPECT_EQ(bonded(keeper) + params.audit_bond, before);
    EXPECT_EQ(send("bob", ReportUnavailable{5, 1, 0, 1, 0, 0}, params.report_fee), CallStatus::nothing_to_report);
}

TEST_F(Keepers, NobodyGivesItsWordWithoutABond) {
    verify_a_segment();
    leave(keeper);
    ASSERT_TRUE(bonded(keeper).is_zero()) << "it keeps nothing yet";
    EXPECT_EQ(attest(keeper), CallStatus::stake_too_low);
    ASSERT_EQ(send(keeper, Deposit{}, params.audit_bond), CallStatus::ok);
    EXPECT_EQ(attest(keeper), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(send(keeper, BeginUnbond{1}), CallStatus::stake_too_low);
}

TEST_F(Keepers, TheBondIsNotBidWith) {
    verify_a_segment();
    const U256 before = views::free_stake(state, params, party(keeper));
    ASSERT_EQ(attest(keeper), CallStatus::ok);
    EXPECT_EQ(views::free_stake(state, params, party(keeper)) + params.audit_bond, before);
    EXPECT_EQ(views::free_stake(state, params, party(second)), before) << "it has not attested";
}

TEST_F(Keepers, AStateThatNobodyKeptEndsTheTaskAndCostsWhatWasPaidForIt) {
    verify_a_segment();
    ASSERT_EQ(attest(keeper), CallStatus::ok);
    ASSERT_EQ(run().paid, 1u);
    const U256 paid = run().earned;
    const U256 requester = ledger::balance_of(state, party("requester")) + task().escrow + task().audit_budget;
    const U256 bob = bonded("bob");
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 400));
    while (task().state == TaskState::bidding) {
        for (const char* name : {"bob", "carol", "dave"})
            if (!views::solver(state, party(name))) add_solver(name);
        const std::string next = std::vector<std::string>{"bob", "carol", "dave"}.at(std::min(task().runs - 1u, 2u));
        auction({{next, 500}});
        if (task().state != TaskState::assigned) break;
        ASSERT_EQ(send(next, DeclineTask{1}), CallStatus::ok) << "it cannot get the state, and leaves free of charge";
        if (next == "dave") break;
    }
    advance_until([&] { return market::is_final(task().state); }, 400);
    EXPECT_TRUE(market::is_final(task().state));
    EXPECT_EQ(ledger::balance_of(state, party("requester")), requester) << "all that was not paid for work returns";
    EXPECT_EQ(run().earned, paid) << "a segment is paid once";
    EXPECT_EQ(bonded("bob"), bob);
    for (const char* name : {"bob", "carol", "dave"})
        EXPECT_TRUE(views::stake(state, party(name)).locked.is_zero()) << name;
}

}  // namespace
}  // namespace retrace::contracts
