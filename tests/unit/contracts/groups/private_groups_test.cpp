// SPDX-License-Identifier: MIT
// Groups whose members train on data of their own: who takes part, which segments everybody can check, and which only
// those can that have a member's data. SPEC 21.13.
#include "contracts/records/group_positions.hpp"
#include "market/escrow.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

class PrivateGroups : public GroupTest {
protected:
    using Names = std::vector<std::string>;

    market::GroupSpec private_terms() const {
        market::GroupSpec terms = small_terms();
        terms.private_sets = 1;
        return terms;
    }
    static std::vector<Address> accounts(const Names& names) {
        std::vector<Address> out;
        for (const std::string& name : names) out.push_back(party(name));
        std::sort(out.begin(), out.end());
        return out;
    }
    static Hash32 data_of(std::uint32_t index) { return word("data " + std::to_string(index)); }

    void post(std::uint16_t audit_bp) {
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
        TaskSpec spec = spec_of(private_terms(), 3);
        spec.audit_bp = audit_bp;
        ASSERT_EQ(post_group(spec, private_terms()), CallStatus::ok) << last.revert_reason;
    }
    void begin(std::uint16_t audit_bp = 10'000) {
        post(audit_bp);
        ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"alice", "bob", "carol"})}), CallStatus::ok);
        auction({{"alice", 400}, {"bob", 410}, {"carol", 420}});
        for (const std::uint32_t index : task().active) {
            ASSERT_EQ(send(solver_of(index), AcceptData{1}), CallStatus::ok);
            ASSERT_EQ(send(solver_of(index), CommitData{1, index, {data_of(index)}}), CallStatus::ok);
        }
        begin_rounds();
    }
    /// Member `index` consents to these, and they accept.
    void consent(std::uint32_t index, const Names& names) {
        ASSERT_EQ(send(solver_of(index), GiveConsent{1, index, accounts(names)}), CallStatus::ok);
        for (const std::string& name : names) ASSERT_EQ(send(name, AcceptConsent{1, index}), CallStatus::ok);
    }
    /// These take in the records before the open round, each in a segment of its own, and train.
    void play_private_round(const std::vector<std::uint32_t>& members) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : members) {
            if (views::taken_in_until(state, 1, index) != now) {
                ASSERT_EQ(send(solver_of(index), next_commit(index, now, 0)), CallStatus::ok) << last.revert_reason;
            }
            ASSERT_EQ(train(index), CallStatus::ok) << last.revert_reason;
        }
        spread(members);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    void play_all_rounds() {
        while (group().phase != GroupPhase::over) play_private_round({0, 1, 2});
        deliver({0, 1, 2});
    }
    bool trains(std::uint32_t index, std::uint64_t i) const {
        return views::member_segment(state, 1, index, i)->steps != 0;
    }
    std::vector<Address> auditors_of(std::uint32_t index, std::uint64_t i) const {
        std::vector<Address> out;
        for (const AuditorsDrawn& drawn : all<AuditorsDrawn>())
            if (drawn.run == index && drawn.segment == i)
                out.insert(out.end(), drawn.auditors.begin(), drawn.auditors.end());
        return out;
    }
    std::string posted(const std::function<void(TaskSpec&, market::GroupSpec&)>& change) {
        market::GroupSpec group = private_terms();
        TaskSpec spec = spec_of(group);
        change(spec, group);
        return std::string(slug(post_group(spec, group)));
    }
};

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
    ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"bob"})}), CallStatus::ok);
    EXPECT_EQ(views::admitted(state, 1), accounts({"alice", "bob"}));
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
    EXPECT_FALSE(views::has_consent(state, 1, 0, party("v1"))) << "it may not have the data, and would lose bonds";
    ASSERT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::ok);
    EXPECT_EQ(send("v1", AcceptConsent{1, 0}), CallStatus::already_committed);
    EXPECT_TRUE(views::has_consent(state, 1, 0, party("v1")));
    EXPECT_FALSE(views::has_consent(state, 1, 1, party("v1")));
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
    const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
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
