// SPDX-License-Identifier: MIT
// Groups whose members train on data of their own: who takes part, which segments everybody can check, and which only
// those can that have a member's data. SPEC 21.13.
#include "contracts/records/group_positions.hpp"
#include "market/escrow.hpp"
#include "tests/unit/contracts/groups/private_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

TEST_F(PrivateGroups, TermsOutOfRange) {
    using G = market::GroupSpec;
    const std::string range = "group_terms_out_of_range";
    EXPECT_EQ(posted([](TaskSpec&, G& g) { g.private_sets = 5; }), range);
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.data_roots = {word("data")}; }), range) << "members bring the data";
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.allow_unaudited = false; }), range) << "nobody may have the data";
    EXPECT_EQ(posted([](TaskSpec& s, G& g) { g.rounds = 500'000, s.steps = 500'001; }), range)
        << "a member has two segments a round";
    EXPECT_EQ(posted([](TaskSpec&, G&) {}), "ok");
}

TEST_F(PrivateGroups, OnlyAdmittedAccountsBidAndJoin) {
    post(1'000);
    EXPECT_EQ(send("requester", AdmitMembers{1, {}}), CallStatus::wrong_accounts);
    EXPECT_EQ(send("requester", AdmitMembers{1, {party("bob"), party("bob")}}), CallStatus::wrong_accounts);
    auto descending = accounts({"alice", "bob"});
    std::reverse(descending.begin(), descending.end());
    EXPECT_EQ(send("requester", AdmitMembers{1, descending}), CallStatus::wrong_accounts);
    const auto many = [](int first, int count) {
        std::vector<Address> out;
        for (int i = first; i < first + count; ++i) out.push_back(party("account " + std::to_string(i)));
        std::sort(out.begin(), out.end());
        return out;
    };
    EXPECT_EQ(send("requester", AdmitMembers{1, many(0, 65)}), CallStatus::wrong_accounts);
    EXPECT_EQ(send("alice", AdmitMembers{1, accounts({"alice"})}), CallStatus::not_requester);
    EXPECT_EQ(send("requester", AdmitMembers{2, accounts({"alice"})}), CallStatus::unknown_task);
    EXPECT_EQ(commit_bid("alice", 400), CallStatus::not_admitted);
    ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"alice", "bob"})}), CallStatus::ok);
    EXPECT_EQ(send("requester", AdmitMembers{1, accounts({"bob"})}), CallStatus::already_committed);
    EXPECT_EQ(views::admitted(state, 1), accounts({"alice", "bob"}));
    ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"bob", "dave"})}), CallStatus::ok) << "one of them is new";
    for (int i = 0; i < 7; ++i) ASSERT_EQ(send("requester", AdmitMembers{1, many(64 * i, 64)}), CallStatus::ok);
    EXPECT_EQ(send("requester", AdmitMembers{1, many(448, 63)}), CallStatus::too_many_open);
    EXPECT_EQ(commit_bid("carol", 400), CallStatus::not_admitted);
    auction({{"alice", 400}, {"bob", 410}});
    for (const std::uint32_t index : task().active) {
        ASSERT_EQ(send(solver_of(index), AcceptData{1}), CallStatus::ok);
        ASSERT_EQ(send(solver_of(index), CommitData{1, index, {data_of(index)}}), CallStatus::ok);
        ASSERT_EQ(commit_first(index), CallStatus::ok);
    }
    EXPECT_EQ(send("carol", JoinTask{1, 0, 0}), CallStatus::not_admitted);
    ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"carol"})}), CallStatus::ok);
    EXPECT_EQ(send("carol", JoinTask{1, 0, 0}), CallStatus::ok) << last.revert_reason;
}

TEST_F(PrivateGroups, AMembersDataAreFixedBeforeItsFirstState) {
    post(1'000);
    ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"alice", "bob"})}), CallStatus::ok);
    auction({{"alice", 400}, {"bob", 410}});
    EXPECT_EQ(send("alice", CommitData{1, 0, {data_of(0)}}), CallStatus::wrong_run_state);
    for (const std::uint32_t index : {0u, 1u}) ASSERT_EQ(send(solver_of(index), AcceptData{1}), CallStatus::ok);
    EXPECT_EQ(commit_first(0), CallStatus::data_missing);
    EXPECT_EQ(send("alice", CommitData{1, 0, {}}), CallStatus::wrong_data);
    EXPECT_EQ(send("alice", CommitData{1, 0, {Hash32()}}), CallStatus::wrong_data);
    EXPECT_EQ(send("alice", CommitData{1, 0, {data_of(0), data_of(1)}}), CallStatus::wrong_data);
    EXPECT_EQ(send("alice", CommitData{1, 1, {data_of(0)}}), CallStatus::not_solver);
    ASSERT_EQ(send("alice", CommitData{1, 0, {data_of(0)}}), CallStatus::ok);
    EXPECT_EQ(send("alice", CommitData{1, 0, {data_of(1)}}), CallStatus::already_committed);
    ASSERT_EQ(send("bob", CommitData{1, 1, {data_of(1)}}), CallStatus::ok);
    begin_rounds();
    ASSERT_EQ(train(0), CallStatus::ok);
    const auto facts = facts_of_position(state, 1, 0, 0, 0).value();
    EXPECT_EQ(facts.data_roots, std::vector<Hash32>{data_of(0)}) << "a dispute is about the member's own data";
}

TEST_F(PrivateGroups, ASegmentTakesInRecordsOrTrains) {
    begin();
    play_private_round({0, 1, 2});
    EXPECT_EQ(train(0), CallStatus::wrong_base) << "the record of round 0 comes first";
    ASSERT_EQ(send(solver_of(0), next_commit(0, 1, 0)), CallStatus::ok);
    ASSERT_EQ(train(0), CallStatus::ok);
    EXPECT_EQ(train(0), CallStatus::wrong_base) << "twice in a round";
}

TEST_F(PrivateGroups, WithoutConsentEverybodyChecksTheRecordsAndNobodyTheTraining) {
    begin();
    play_all_rounds();
    std::size_t trained = 0;
    for (std::uint32_t index = 0; index < 3; ++index) {
        EXPECT_EQ(run(index).earned, group().price * U256(3)) << index;
        for (std::uint64_t i = 0; i + 1 < run(index).next_state; ++i) {
            EXPECT_EQ(segment(i, index).state, trains(index, i) ? SegmentState::unaudited : SegmentState::verified);
            trained += trains(index, i) ? 1 : 0;
        }
    }
    EXPECT_EQ(trained, 9u);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(PrivateGroups, AuditorsOfPrivateDataAreThoseThatHaveThemAndNobodyPaysThem) {
    begin();
    consent(0, {"v2"});
    play_all_rounds();
    EXPECT_EQ(segment(0, 0).state, SegmentState::verified);
    EXPECT_EQ(auditors_of(0, 0), accounts({"v2"}));
    EXPECT_EQ(segment(0, 1).state, SegmentState::unaudited) << "another member gave no consent";
    std::size_t paid = 0, of_records = 0;
    for (const AuditPaid& fee : all<AuditPaid>()) {
        const auto audit = views::audit(state, fee.audit).value();
        EXPECT_FALSE(trains(audit.run, audit.segment)) << "auditors of private data may be the member's own";
        ++paid;
    }
    for (const AuditorsDrawn& drawn : all<AuditorsDrawn>())
        if (!trains(drawn.run, drawn.segment)) of_records += drawn.auditors.size();
    EXPECT_GT(of_records, 0u);
    EXPECT_LE(paid, of_records);
}

TEST_F(PrivateGroups, AnAuditorWithConsentConvicts) {
    begin();
    consent(1, {"v3"});
    wrong_members = {1};
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    spread({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return run(1).state == RunState::forfeited; }));
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, run(1).solver);
    EXPECT_TRUE(run(1).earned.is_zero());
}

TEST_F(PrivateGroups, AnAuditorThatCannotBeDrawnHoldsNobodyUp) {
    begin();
    consent(2, {"dave"});  // It is no verifier.
    play_all_rounds();
    EXPECT_EQ(segment(0, 2).state, SegmentState::unaudited);
    EXPECT_TRUE(auditors_of(2, 0).empty());
    EXPECT_EQ(run(2).earned, group().price * U256(3));
}

TEST_F(PrivateGroups, StrangersChallengeWhatTheyCanReplayOnly) {
    begin(1);
    consent(0, {"v2"});
    play_private_round({0, 1, 2});
    for (const std::uint32_t index : {0u, 1u, 2u})
        ASSERT_EQ(send(solver_of(index), next_commit(index, 1, 0)), CallStatus::ok);
    const U256 bond = challenge_bond();
    // v2 has the data of run 0.
    std::map<std::pair<std::uint32_t, std::uint64_t>, CallStatus> found;
    const auto try_each = [&] {
        for (const std::uint32_t index : {0u, 1u})
            for (const std::uint64_t i : {0u, 1u}) {
                const auto now = views::segment(state, 1, index, i);
                if (!now || now->window_end == 0 || found.contains({index, i})) continue;
                found[{index, i}] = send("v1", ChallengeSegment{1, index, i, word("x")}, bond);
                if (index == 0 && i == 0) {
                    EXPECT_EQ(send("v2", ChallengeSegment{1, 0, 0, word("x")}, bond), CallStatus::ok);
                }
            }
        return found.size() == 4;
    };
    ASSERT_TRUE(serve_until(try_each));
    EXPECT_EQ((found[{0, 0}]), CallStatus::no_consent);
    EXPECT_EQ((found[{1, 0}]), CallStatus::no_consent);
    EXPECT_EQ((found[{0, 1}]), CallStatus::ok) << "it takes in a record";
    EXPECT_EQ((found[{1, 1}]), CallStatus::ok);
}

TEST_F(PrivateGroups, InnerStepsLeaveTheSharedTensorsAsTheyWere) {
    begin();
    forks = {2};  // Its shared tensors are others than those of `init`.
    ASSERT_EQ(train(2), CallStatus::ok);
    forks.clear();
    for (const std::uint32_t index : {0u, 1u}) ASSERT_EQ(train(index), CallStatus::ok);
    spread({0, 1, 2});
    bool refused = false;
    ASSERT_TRUE(advance_until([&] {
        for (const std::uint32_t index : {0u, 1u}) serve_member(index);
        for (std::uint64_t i = 0; i < 2 && run(2).state == RunState::running; ++i) {
            const auto point = views::checkpoint(state, 1, 2, i).value();
            if (point.opened || !is_opening_due(2, i, point)) continue;
            const bool second = views::checkpoint(state, 1, 2, 1 - i)->opened;
            EXPECT_EQ(send(solver_of(2), opening(2, i)), second ? CallStatus::wrong_leaves : CallStatus::ok);
            refused = refused || second;
        }
        audit_members();
        return run(2).state != RunState::running;
    }));
    EXPECT_TRUE(refused);
    EXPECT_EQ(run(2).state, RunState::forfeited);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].reason, "not_opened");
}

TEST_F(GroupTest, AGroupOnTheTasksDataHasNoneOfThis) {
    start_group(small_terms());
    begin_rounds();
    EXPECT_EQ(send("requester", AdmitMembers{1, {party("erin")}}), CallStatus::not_private);
    EXPECT_EQ(send("alice", CommitData{1, 0, {word("data")}}), CallStatus::not_private);
    EXPECT_EQ(send("alice", GiveConsent{1, 0, {party("v1")}}), CallStatus::not_private);
    EXPECT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::not_private);
}

}  // namespace
}  // namespace retrace::contracts
