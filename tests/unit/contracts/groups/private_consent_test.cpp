// SPDX-License-Identifier: MIT
// To whom a member of a private group consents, and how a consent ends. SPEC 21.13.20 to 21.13.30.
#include "tests/unit/contracts/groups/private_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

TEST_F(PrivateGroups, ConsentIsBetweenTwo) {
    begin();
    EXPECT_EQ(send("alice", GiveConsent{1, 0, {}}), CallStatus::wrong_accounts);
    EXPECT_EQ(send("alice", GiveConsent{1, 0, {party("v1"), party("v1")}}), CallStatus::wrong_accounts);
    EXPECT_EQ(send("alice", GiveConsent{1, 1, accounts({"v1"})}), CallStatus::not_solver);
    EXPECT_EQ(send("alice", GiveConsent{1, 0, accounts({"alice"})}), CallStatus::own_run);
    EXPECT_EQ(send("alice", GiveConsent{1, 0, accounts({"requester"})}), CallStatus::own_task);
    std::vector<Address> many;
    for (int i = 0; i < 16; ++i) many.push_back(party("account " + std::to_string(i)));
    std::sort(many.begin(), many.end());
    ASSERT_EQ(send("bob", GiveConsent{1, 1, many}), CallStatus::ok);
    EXPECT_EQ(send("bob", GiveConsent{1, 1, accounts({"v1"})}), CallStatus::too_many_open);
    EXPECT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::no_consent);
    EXPECT_EQ(send("v1", AcceptConsent{1, 9}), CallStatus::unknown_run);
    EXPECT_EQ(send("v1", AcceptConsent{2, 0}), CallStatus::not_group);
    ASSERT_EQ(send("alice", GiveConsent{1, 0, accounts({"v1"})}), CallStatus::ok);
    EXPECT_EQ(send("alice", GiveConsent{1, 0, accounts({"v1"})}), CallStatus::already_committed);
    EXPECT_FALSE(views::has_consent(state, 1, 0, 0, party("v1"))) << "it may not have the data, and would lose bonds";
    ASSERT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::ok);
    EXPECT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::already_committed);
    EXPECT_TRUE(views::has_consent(state, 1, 0, 0, party("v1")));
    EXPECT_FALSE(views::has_consent(state, 1, 1, 0, party("v1")));
}

TEST_F(PrivateGroups, WhoWithdrawsAConsentThatIsNotThereChangesNothing) {
    begin();
    ASSERT_EQ(send("alice", GiveConsent{1, 0, accounts({"v1", "v2"})}), CallStatus::ok);
    ASSERT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::ok);
    const market::Consent before = views::consent(state, 1, 0);
    EXPECT_EQ(send("v1", WithdrawConsent{2, 0, party("v1")}), CallStatus::not_group);
    EXPECT_EQ(send("v1", WithdrawConsent{1, 9, party("v1")}), CallStatus::unknown_run);
    EXPECT_EQ(send("v2", WithdrawConsent{1, 0, party("v1")}), CallStatus::not_solver) << "another auditor";
    EXPECT_EQ(send("requester", WithdrawConsent{1, 0, party("v1")}), CallStatus::not_solver);
    EXPECT_EQ(send("bob", WithdrawConsent{1, 0, party("v1")}), CallStatus::not_solver) << "another member";
    EXPECT_EQ(send("v3", WithdrawConsent{1, 0, party("v3")}), CallStatus::no_consent);
    EXPECT_EQ(send("alice", WithdrawConsent{1, 0, party("v3")}), CallStatus::no_consent);
    EXPECT_EQ(views::consent(state, 1, 0), before);
    ASSERT_EQ(send("alice", WithdrawConsent{1, 0, party("v2")}), CallStatus::ok) << "it has not accepted";
    EXPECT_TRUE(views::consent(state, 1, 0).former.empty());
    EXPECT_EQ(send("v2", AcceptConsent{1, 0}), CallStatus::no_consent);
}

TEST_F(PrivateGroups, AnAuditorThatWithdrawsIsDrawnNoMore) {
    begin();
    consent(0, {"v2"});
    ASSERT_EQ(send("v2", WithdrawConsent{1, 0, party("v2")}), CallStatus::ok);
    ASSERT_EQ(all<ConsentWithdrawn>().size(), 1u);
    EXPECT_FALSE(all<ConsentWithdrawn>()[0].by_member);
    EXPECT_EQ(send("v2", WithdrawConsent{1, 0, party("v2")}), CallStatus::no_consent);
    EXPECT_EQ(send("v2", AcceptConsent{1, 0}), CallStatus::no_consent) << "the member has to name it again";
    play_all_rounds();
    for (std::uint64_t i = 0; i + 1 < run(0).next_state; ++i) {
        if (trains(0, i)) {
            EXPECT_EQ(segment(i, 0).state, SegmentState::unaudited) << i;
        }
    }
    EXPECT_TRUE(all<Slashed>().empty());
}

/// 21.13.34. It pays the fees of its reports, and ends no run: elsewhere most auditors would have to be unserved, and here
/// it may be the only one.
TEST_F(PrivateGroups, AnAuditorThatReportsTilesAndGivesNoVerdictEndsNoRun) {
    begin();
    consent(0, {"v2"});
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    spread({0, 1, 2});
    const auto audit = [&] { return views::audit(state, segment(0, 0).audit); };
    std::uint64_t reported = 0;
    ASSERT_TRUE(advance_until(
        [&] {
            for (const std::uint32_t index : {0u, 1u, 2u}) serve_member(index);
            const auto now = audit();
            if (!now || now->phase != AuditPhase::collecting || reported >= params.reports)
                return now.has_value() && now->phase == AuditPhase::closed;
            if (views::open_reports(state, 1).empty() &&
                send("v2", ReportUnavailable{1, 1, 0, 0, 0, reported}, params.report_fee) == CallStatus::ok) {
                answer_report(views::open_reports(state, 1).at(0), solver_of(0));
                ++reported;
            }
            return false;
        },
        400));
    EXPECT_EQ(reported, params.reports);
    EXPECT_EQ(audit()->seats.at(0).state, market::SeatState::released);
    EXPECT_EQ(run(0).state, RunState::running);
    EXPECT_EQ(segment(0, 0).state, SegmentState::unaudited);
    EXPECT_TRUE(all<Slashed>().empty());
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 1; }));
    EXPECT_FALSE(run(0).earned.is_zero());
}

TEST_F(PrivateGroups, AMemberThatCheatsDoesNotEndItsAuditByWithdrawing) {
    begin();
    consent(1, {"v3"});
    wrong_members = {1};
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_EQ(send("bob", WithdrawConsent{1, 1, party("v3")}), CallStatus::ok);
    EXPECT_TRUE(views::has_consent(state, 1, 1, 0, party("v3"))) << "it was committed to before";
    EXPECT_FALSE(views::has_consent(state, 1, 1, 1, party("v3")));
    // Nor by naming it once more, and withdrawing what was not accepted.
    ASSERT_EQ(send("bob", GiveConsent{1, 1, accounts({"v3"})}), CallStatus::ok);
    ASSERT_EQ(send("bob", WithdrawConsent{1, 1, party("v3")}), CallStatus::ok);
    EXPECT_TRUE(views::has_consent(state, 1, 1, 0, party("v3")));
    spread({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return run(1).state == RunState::forfeited; }));
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, run(1).solver);
}

TEST_F(PrivateGroups, WhatAMemberTookBackIsForgottenWhenItIsFinal) {
    begin();
    consent(0, {"v2"});
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_EQ(send("alice", WithdrawConsent{1, 0, party("v2")}), CallStatus::ok);
    std::vector<Address> many;
    for (int i = 0; i < 16; ++i) many.push_back(party("account " + std::to_string(i)));
    std::sort(many.begin(), many.end());
    EXPECT_EQ(send("alice", GiveConsent{1, 0, many}), CallStatus::too_many_open) << "v2 counts";
    spread({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 1; }));
    EXPECT_EQ(segment(0, 0).state, SegmentState::verified) << "v2 audited it";
    EXPECT_EQ(send("alice", GiveConsent{1, 0, many}), CallStatus::ok) << last.revert_reason;
    // The auditor may leave by itself whatever the member did.
    EXPECT_EQ(send("v2", WithdrawConsent{1, 0, party("v2")}), CallStatus::ok);
    EXPECT_TRUE(views::consent(state, 1, 0).former.empty());
}

TEST_F(PrivateGroups, ARunThatIsOverTakesNoConsent) {
    begin();
    consent(0, {"v2"});
    ASSERT_TRUE(advance_until([&] { return run(0).state != RunState::running || group().round > 9; }));
    ASSERT_NE(run(0).state, RunState::running);
    EXPECT_EQ(send("v2", WithdrawConsent{1, 0, party("v2")}), CallStatus::wrong_run_state);
    EXPECT_EQ(send("v3", AcceptConsent{1, 0}), CallStatus::wrong_run_state);
    EXPECT_EQ(send("alice", GiveConsent{1, 0, accounts({"v3"})}), CallStatus::wrong_run_state);
}

TEST_F(GroupTest, AGroupOnTheTasksDataHasNoConsent) {
    start_group(small_terms());
    begin_rounds();
    EXPECT_EQ(send("v1", WithdrawConsent{1, 0, party("v1")}), CallStatus::not_private);
}

}  // namespace
}  // namespace retrace::contracts
