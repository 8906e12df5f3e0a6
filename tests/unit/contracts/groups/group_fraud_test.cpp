// SPDX-License-Identifier: MIT
// Members that lie, and what their lies cost the others: nothing. SPEC 21.8.
#include "contracts/lifecycle/staking/beacon.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupFraud : public GroupTest {
protected:
    void start(const market::GroupSpec& terms) {
        start_group(terms);
        begin_rounds();
    }
};

TEST_F(GroupFraud, AConvictedMemberLosesItsLockAndTheOthersArePaid) {
    auto terms = small_terms();
    terms.rounds = 4;
    start(terms);
    wrong_members = {3};
    play_round({0, 1, 2, 3});
    // Its first segment is audited. The auditor's verdict differs, and the solver does not play.
    for (std::uint32_t now = 1; now < 4; ++now)
        play_round(run(3).state == RunState::running ? std::vector<std::uint32_t>{0, 1, 2, 3}
                                                     : std::vector<std::uint32_t>{0, 1, 2});
    deliver({0, 1, 2});
    EXPECT_EQ(run(3).state, RunState::forfeited);
    EXPECT_TRUE(run(3).earned.is_zero());
    for (std::uint32_t index = 0; index < 3; ++index) EXPECT_EQ(run(index).earned, group().price * U256(4)) << index;
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, party("dave"));
    EXPECT_TRUE(views::round_message(state, 1, 0, 3)->recorded) << "the record stands";
}

TEST_F(GroupFraud, AnOpeningShowsTheMessageThatWasSent) {
    start(small_terms());
    auto call = next_commit(0, 0, 10);
    call.message[1] = word("another message");
    ASSERT_EQ(send("alice", call), CallStatus::ok);
    for (const std::uint32_t index : {1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        for (const std::uint32_t index : {1u, 2u, 3u}) serve_member(index);
        for (std::uint64_t i = 0; i < 2; ++i) {
            const auto point = views::checkpoint(state, 1, 0, i).value();
            if (!point.opened && is_opening_due(0, i, point)) {
                EXPECT_EQ(send("alice", opening(0, i)), i == 0 ? CallStatus::ok : CallStatus::wrong_leaves);
            }
        }
        audit_members();
        return run(0).state != RunState::running;
    }));
    EXPECT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("alice"));
    EXPECT_EQ(all<Slashed>()[0].reason, "not_opened");
}

TEST_F(GroupFraud, OtherSharedTensorsAreAuditedAndTheLiarIsConvicted) {
    auto quick = small_params();
    quick.challenge_blocks = 1;  // The windows are over before the audits are.
    quick.unbond_blocks = 10'000;
    begin(quick);
    auto terms = small_terms();
    terms.rounds = 6;
    terms.round_blocks = 3'000;  // Nothing else happens until the segments are finalised.
    start(terms);
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    // From now on nothing is drawn, and run 3 takes in the records wrongly.
    auto spec = views::spec(state, 1).value();
    spec.audit_bp = 1;
    store(state, keys::spec(1), spec);
    forks = {3};
    play_round({0, 1, 2, 3});
    const std::size_t drawn = all<SegmentDrawn>().size();
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::forfeited; }));
    EXPECT_GT(all<SegmentDrawn>().size(), drawn);
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 3 && run(1).finalised == 3 && run(2).finalised == 3; }));
    const auto openings = views::shared_openings(state, 1, 2);
    ASSERT_EQ(openings.size(), 4u);
    std::size_t audited = 0;
    for (const auto& opening : openings)
        if (segment(opening.segment, opening.run).audits != 0) ++audited;
    EXPECT_EQ(audited, 2u) << "the liar's segment, and one of those that contradict it";
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, party("dave"));
}

TEST_F(GroupFraud, MembersThatAgreeWithAnAuditedOneGoOnWhenItsAuditHasAMatch) {
    auto quick = small_params();
    quick.challenge_blocks = 1;
    quick.unbond_blocks = 10'000;
    begin(quick);
    auto terms = small_terms();
    terms.rounds = 6;
    terms.round_blocks = 3'000;  // Nothing else happens until the segments are finalised.
    start(terms);
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 2 && run(1).finalised == 2 && run(2).finalised == 2; }));
    auto spec = views::spec(state, 1).value();
    spec.audit_bp = 1;
    store(state, keys::spec(1), spec);
    forks = {3};
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    states_[{3, 3}].wrong = false;  // Its start was wrong already, so the auditors find what it posted.
    spread({0, 1, 2, 3});
    const auto finalised = [&] {
        for (std::uint32_t index = 0; index < 4; ++index)
            if (run(index).finalised != 3) return false;
        return true;
    };
    ASSERT_TRUE(serve_until(finalised));
    EXPECT_TRUE(all<Slashed>().empty());
}

class GroupContradictions : public GroupFraud {
protected:
    /// Two rounds that are audited, then one with no draw, in which run 3 takes in the records wrongly.
    void contradict() {
        auto quick = small_params();
        quick.challenge_blocks = 1;  // The windows are over before the audits are.
        quick.unbond_blocks = 10'000;
        begin(quick);
        auto terms = small_terms();
        terms.rounds = 12;
        terms.round_blocks = 3'000;  // Nothing else happens until the segments are finalised.
        start(terms);
        play_round({0, 1, 2, 3});
        play_round({0, 1, 2, 3});
        draw_with(1);
        forks = {3};
        play_round({0, 1, 2, 3});
    }
    void draw_with(std::uint64_t audit_bp) {
        auto spec = views::spec(state, 1).value();
        spec.audit_bp = audit_bp;
        store(state, keys::spec(1), spec);
    }
    std::vector<std::uint32_t> audited(std::uint64_t segment_index) const {
        std::vector<std::uint32_t> out;
        for (std::uint32_t index = 0; index < 4; ++index)
            if (segment(segment_index, index).audits != 0) out.push_back(index);
        return out;
    }
};

TEST_F(GroupContradictions, AuditsBecauseOfThemDoNotHideOthersFromTheLimitOfFees) {
    contradict();
    draw_with(10'000);  // Of the rounds after it, all segments are drawn before that audit begins.
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return run(0).finalised >= 3 && run(1).finalised >= 3 && run(2).finalised >= 3; }));
    ASSERT_TRUE(serve_until(
        [&] { return segment(5, 0).audits != 0 && segment(5, 1).audits != 0 && segment(5, 2).audits != 0; }));
    std::uint64_t seen = 0;
    for (const std::uint32_t index : {0u, 1u, 2u}) {
        const std::uint64_t finalised =
            load<Counter>(state, keys::finalised_audits(1, index)).value_or(Counter{}).value;
        std::uint64_t open = 0;
        for (std::uint64_t i = run(index).finalised; i < 6; ++i, ++seen)
            EXPECT_EQ(load<Counter>(state, keys::audited_before(1, index, i))->value - finalised, open++)
                << "run " << index << ", segment " << i;
    }
    EXPECT_GE(seen, 3u);
}

TEST_F(GroupContradictions, TheirAuditorsAreDrawnByABeaconThatNobodyKnewThen) {
    contradict();
    std::map<std::uint32_t, std::uint64_t> decided, seated;  // Heights, by run.
    std::set<std::uint32_t> undrawn;
    ASSERT_TRUE(serve_until([&] {
        for (const std::uint32_t index : {0u, 1u, 2u, 3u}) {
            const auto now = segment(2, index);
            if (now.state == market::SegmentState::unaudited) undrawn.insert(index);
            if (!undrawn.contains(index) || now.state == market::SegmentState::unaudited) continue;
            decided.emplace(index, height);
            if (now.audit != 0 && !views::audit(state, now.audit)->seats.empty()) seated.emplace(index, height);
        }
        return seated.size() == 2;
    }));
    for (const auto& [index, at] : seated)
        EXPECT_EQ(at, next_draw_height(params, decided.at(index))) << "run " << index;
}

TEST_F(GroupContradictions, AnotherIsAuditedWhileTheFirstFindsNoAuditors) {
    contradict();
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 2 && run(1).finalised == 2 && run(2).finalised == 2; }));
    for (const char* name : {"v1", "v2", "v3", "v4"}) lazy.insert(name);
    const auto play = [&](auto condition) {
        return advance_until(
            [&] {
                for (const std::uint32_t index : task().active) serve_member(index);
                return condition();
            },
            600);
    };
    ASSERT_TRUE(play([&] { return audited(2).size() == 2; }));
    ASSERT_TRUE(play([&] { return audited(2).size() == 4; }));
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupContradictions, AfterItsConvictionALiarHasNoMoreSegmentsOfOthersAudited) {
    contradict();
    for (int i = 0; i < 4; ++i) play_round({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::forfeited; }));
    std::size_t lies = 0;
    for (std::uint32_t base = 2; base < 7; ++base)
        for (const auto& opening : views::shared_openings(state, 1, base)) lies += opening.run == 3 ? 1 : 0;
    ASSERT_GE(lies, 4u) << "it has contradicted the others in several segments";
    const auto drawn = [&] {
        const auto draws = all<SegmentDrawn>();
        return std::count_if(draws.begin(), draws.end(), [](const SegmentDrawn& draw) { return draw.audited; });
    };
    const auto before = drawn();
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 7 && run(1).finalised == 7 && run(2).finalised == 7; }));
    EXPECT_LE(drawn(), before + 1);
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, party("dave"));
}

TEST_F(GroupContradictions, AuditsThatWaitForAuditorsEndWithTheContradiction) {
    contradict();
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 2 && run(1).finalised == 2 && run(2).finalised == 2; }));
    for (const char* name : {"v1", "v2", "v3", "v4"}) lazy.insert(name);
    const auto play = [&](auto condition) {
        return advance_until(
            [&] {
                for (const std::uint32_t index : task().active) serve_member(index);
                return condition();
            },
            600);
    };
    ASSERT_TRUE(play([&] { return run(0).unaudited_since != 0; }));
    auto fx = Effects{state, params, height, {}};
    store_list(state, keys::convictions(1), std::vector<ConvictedSegment>{{3, 2}});
    forfeit_run(fx, 1, 3, run(3).locked, {}, SlashReason::wrong_result, 2);
    ASSERT_TRUE(play([&] { return run(0).unaudited_since == 0; }));
    EXPECT_EQ(segment(2, 0).state, market::SegmentState::unaudited);
    ASSERT_TRUE(play([&] { return run(0).finalised == 3; }));
}

TEST_F(GroupFraud, AuditsOfMembersWithoutAuditorsWaitForTheRequester) {
    start(small_terms());
    for (const char* name : {"v1", "v2", "v3", "v4"}) lazy.insert(name);
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        for (const std::uint32_t index : task().active) serve_member(index);
        return run(0).unaudited_since != 0;
    }));
    advance(params.unaudited_blocks);
    ASSERT_EQ(send("requester", DecideUnaudited{1, 0, true}), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(advance_until([&] {
        for (const std::uint32_t index : task().active) serve_member(index);
        return run(0).unaudited_since == 0;
    }));
    EXPECT_EQ(run(0).deadline, 0u) << "no checkpoint is due afterwards either";
    EXPECT_EQ(run(0).state, RunState::running);
}

}  // namespace
}  // namespace retrace::contracts
