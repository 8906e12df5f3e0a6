// SPDX-License-Identifier: MIT
// Each outcome of a member in a round, as the records have it.
#include "node/explain/member_story.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"
#include "market/rollbacks.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using market::GroupPhase;
using testing::ElementsAre;

class EmptyView final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return {}; }
};

/// A group of five whose rounds 0 and 1 are closed: run 1 was not listed in round 0 and absent in round 1.
struct MemberStories : testing::Test {
    MemberStories() {
        task.id = 1;
        task.state = market::TaskState::running;
        task.runs = 5;
        task.active = {0, 1, 2, 3, 4};
        terms.rounds = 4;
        terms.steps_max = 10;
        group.task = 1;
        group.phase = GroupPhase::training;
        group.round = 2;
        group.senders = 5;
        group.committed_before = 4;
        contracts::store(state, keys::group_spec(1), terms);
        contracts::store(state, keys::round(1, 0),
                         market::Round{0, 5, 5, {{0, 10}, {2, 5}, {3, 10}, {4, 10}}, 35, {0, 1, 2, 3, 4}});
        contracts::store(state, keys::round(1, 1), market::Round{1, 9, 4, {}, 0, {0}});
        for (std::uint32_t run = 0; run < 5; ++run) {
            sent(0, run, run == 2 ? 5 : 10, run != 1);
            if (run != 1) sent(1, run, 10, false);
            add(run, run == 1 ? 0 : 1);
        }
    }
    void sent(std::uint32_t round, std::uint32_t run, std::uint32_t steps, bool recorded) {
        contracts::store(state, keys::round_message(1, round, run), market::RoundMessage{round, steps, {}, recorded});
    }
    void add(std::uint32_t index, std::uint32_t last_round) {
        market::Run run;
        run.task = 1;
        run.index = index;
        run.state = market::RunState::running;
        run.next_state = last_round + 2;
        run.price = ledger::U256(400);
        run.finalised = run.paid = 1;
        contracts::store(state, keys::run(1, index), run);
        market::Member member;
        member.messages = last_round + 1;
        member.last_round = last_round;
        contracts::store(state, keys::member(1, index), member);
        market::Segment segment;
        segment.state = market::SegmentState::verified;
        segment.audit = index == 0 ? 3 : 0;
        contracts::store(state, keys::segment(1, index, 0), segment);
    }
    std::vector<MemberStory> told() {
        contracts::store(state, keys::task(1), task);
        contracts::store(state, keys::group(1), group);
        return member_stories(state, 1);
    }
    /// What the run's rounds came to.
    std::vector<std::string> outcomes(std::uint32_t run) {
        std::vector<std::string> out;
        const auto stories = told();
        for (const MemberRound& round : stories.at(run).rounds) out.emplace_back(slug(round.outcome));
        return out;
    }

    EmptyView nothing;
    ledger::State state{nothing};
    market::Task task;
    market::GroupSpec terms;
    market::Group group;
};

TEST_F(MemberStories, TellWhatARecordMadeOfAMessage) {
    EXPECT_THAT(outcomes(0), ElementsAre("recorded", "too_few_listed", "training"));
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "absent", "training"));
    const MemberRound half = told().at(2).rounds.at(0);
    EXPECT_EQ(half.steps, 5U);
    EXPECT_EQ(half.paid, ledger::U256(200)) << "half of the steps";
    EXPECT_TRUE(half.final);
    EXPECT_FALSE(half.drawn);
    const auto all = told();
    EXPECT_TRUE(all.at(0).rounds.at(0).drawn);
    EXPECT_TRUE(all.at(1).rounds.at(0).paid.is_zero()) << "no record has it";
    EXPECT_FALSE(all.at(0).rounds.at(1).final);
}

TEST_F(MemberStories, SayWhichMessagesARollbackHasUndone) {
    // Run 3 was lost while its message of round 0 was not final; round 1 was open, and ended with it.
    contracts::store(state, keys::rollbacks(1), market::Rollbacks{{{3, 0, 1, true}}, 0, 5});
    EXPECT_THAT(outcomes(3), ElementsAre("rolled_back", "rolled_back", "training"));
    EXPECT_THAT(outcomes(0), ElementsAre("recorded", "rolled_back", "training"));
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "rolled_back", "training")) << "it had not sent in that round";
    auto run = contracts::views::run(state, 1, 0).value();
    run.paid = run.finalised = 2;
    contracts::store(state, keys::run(1, 0), run);
    EXPECT_EQ(told().at(0).rounds.at(1).paid, ledger::U256(400)) << "what it sent in the round that was ended";
}

TEST_F(MemberStories, SayThatAMemberTrainedOnForALaterMessage) {
    group.committed = {1};
    contracts::store(state, keys::round_message(1, 2, 1), market::RoundMessage{1, 10, {}, false, 1});
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "trained_on", "sent"));
    EXPECT_EQ(told().at(1).rounds.at(2).age, 1U);
}

TEST_F(MemberStories, SayWhoIsLateOnceTheOthersHaveSent) {
    group.committed = {0, 2, 3};
    for (const std::uint32_t run : group.committed) sent(2, run, 10, false);
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "absent", "training")) << "three of four are below 80 %";
    EXPECT_THAT(outcomes(0), ElementsAre("recorded", "too_few_listed", "sent"));
    group.committed.push_back(4);
    sent(2, 4, 10, false);
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "absent", "late")) << "the grace has begun";
    group.phase = GroupPhase::spreading;
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "absent", "late")) << "training is over";
    EXPECT_THAT(outcomes(4), ElementsAre("recorded", "too_few_listed", "sent"));
}

TEST_F(MemberStories, EndWithTheLastMessageOfAMemberThatLeaves) {
    auto member = contracts::must_load<market::Member>(state, keys::member(1, 1));
    member.leaving = true;
    contracts::store(state, keys::member(1, 1), member);
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed"));
}

TEST_F(MemberStories, BeginWithTheRoundInWhichAMemberJoined) {
    market::Run run = contracts::must_load<market::Run>(state, keys::run(1, 1));
    run.assigned_height = 5;
    run.next_state = 0;
    contracts::store(state, keys::run(1, 1), run);
    contracts::store(state, keys::member(1, 1), market::Member{});
    contracts::remove(state, keys::round_message(1, 0, 1));
    EXPECT_THAT(outcomes(1), ElementsAre("absent")) << "round 1 closed while it made its first state";
}

TEST_F(MemberStories, HaveNoOpenRoundAfterTheLastOneOrBeforeTheFirst) {
    terms.rounds = 2;
    contracts::store(state, keys::group_spec(1), terms);
    group.phase = GroupPhase::over;
    EXPECT_THAT(outcomes(1), ElementsAre("not_listed", "absent"));
    EXPECT_TRUE(member_stories(state, 2).empty()) << "no such group";
}

}  // namespace
}  // namespace retrace::node
