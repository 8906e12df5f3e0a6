// SPDX-License-Identifier: MIT
// Groups that go back when a run is lost whose messages are not final. SPEC 21.14.
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupRollback : public GroupTest {
protected:
    static market::GroupSpec with_rollbacks(market::GroupSpec terms, std::uint8_t rollbacks, std::uint32_t ahead) {
        terms.rollbacks = rollbacks;
        terms.ahead = ahead;
        terms.rounds = 4 * rollbacks * ahead;
        terms.keep_rounds = 32;
        return terms;
    }
    void start(const market::GroupSpec& terms) {
        start_group(terms);
        begin_rounds();
    }
    market::Rollbacks rollbacks() const { return views::rollbacks(state, 1); }
    market::Round round_now(std::uint32_t index) const {
        return views::round_at(state, 1, index, static_cast<std::uint8_t>(rollbacks().noted.size())).value();
    }
    static bool contains(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
        return std::find(runs.begin(), runs.end(), run) != runs.end();
    }
    /// Passes a block in which each member does what the phase asks of it.
    void play_block(const std::set<std::uint32_t>& members) {
        for (const std::uint32_t index : members) {
            const market::Group now = group();
            if (run(index).state != RunState::running) continue;
            const bool sent = contains(now.committed, index);
            CallStatus status = CallStatus::ok;
            if (now.phase == GroupPhase::training && !sent)
                status = train(index);
            else if (now.phase == GroupPhase::spreading && sent && !contains(now.listed, index))
                status = list_messages(index, bitmap(index));
            else if (now.phase == GroupPhase::revealing && contains(now.listed, index) &&
                     !contains(now.revealed, index))
                status = show_messages(index, bitmap(index));
            else if (now.phase == GroupPhase::over && member(index).base != views::group_spec(state, 1)->rounds)
                status = finish(index);
            EXPECT_EQ(status, CallStatus::ok) << index << " in round " << now.round << " " << last.revert_reason;
        }
        serve_block();
    }
    template <class Condition>
    ::testing::AssertionResult play_until(const std::set<std::uint32_t>& members, Condition condition,
                                          std::uint64_t limit = 2'000) {
        for (std::uint64_t i = 0; i < limit; ++i) {
            if (condition()) return ::testing::AssertionSuccess();
            play_block(members);
        }
        return ::testing::AssertionFailure() << "not within " << limit << " blocks";
    }
    /// What the run sent, in rounds.
    std::uint64_t sent_by(std::uint32_t index) const {
        std::uint64_t out = 0;
        for (std::uint32_t now = 0; now < views::group_spec(state, 1)->rounds; ++now)
            out += views::round_message(state, 1, now, index) ? 1 : 0;
        return out;
    }
    U256 repaid() const {
        U256 out;
        for (const UndoneRepaid& event : all<UndoneRepaid>()) out += event.amount;
        return out;
    }
    const std::set<std::uint32_t> kAll = {0, 1, 2, 3};
};

TEST_F(GroupRollback, AConvictionUndoesWhatFollowedTheLie) {
    start(with_rollbacks(small_terms(), 1, 4));
    wrong_members = {3};
    ASSERT_TRUE(play_until(kAll, [&] { return run(3).state == RunState::forfeited; }));
    ASSERT_EQ(rollbacks().noted.size(), 1u);
    const market::Rollback undone = rollbacks().noted[0];
    EXPECT_EQ(undone.run, 3u);
    EXPECT_EQ(undone.first, 0u) << "none of its messages is final";
    EXPECT_GE(undone.last, 1u);
    EXPECT_LT(undone.last, 4u) << "no round opens while a message of 4 rounds before is not final";
    EXPECT_EQ(group().round, undone.last + 1);
    // The records stand, and are read without what is undone.
    EXPECT_EQ(round(0).entries.size(), 4u);
    EXPECT_EQ(round_now(0).entries.size(), 3u);
    EXPECT_EQ(round_now(0).total, 30u);
    for (std::uint32_t now = 1; now <= undone.last; ++now) EXPECT_TRUE(round_now(now).entries.empty()) << now;
    // What the others trained after round 0 is void, and what they sent in it stands.
    for (std::uint32_t index = 0; index < 3; ++index)
        for (std::uint64_t i = 0; i + 1 < run(index).next_state; ++i)
            EXPECT_EQ(views::is_void(state, 1, index, i), views::member_segment(state, 1, index, i)->base > 0) << i;
    const std::uint64_t next = run(0).next_state - 1;
    const auto voided = std::make_pair(next, views::start_of_member(state, 1, 0));
    EXPECT_EQ(voided.second.state, 1u);
    EXPECT_EQ(voided.second.base, 0u);
    ASSERT_TRUE(play_until({0, 1, 2}, [&] { return run(0).next_state - 1 > next; }));
    EXPECT_EQ(views::start_of_segment(state, 1, 0, next), 1u);
    EXPECT_EQ(views::attempt_of(state, 1, 0, next), 1u);
    const auto again = views::member_segment(state, 1, 0, next).value();
    EXPECT_EQ(again.from, 0u);
    EXPECT_EQ(again.base, undone.last + 1);
    EXPECT_EQ(again.positions, (1 + 3 + 1) + 10u + 1) << "record 0 without the liar's message, and empty ones";
    ASSERT_TRUE(play_until({0, 1, 2}, [&] { return task().state == TaskState::delivering; }));
    for (std::uint32_t index = 0; index < 3; ++index)
        EXPECT_EQ(run(index).earned, group().price * U256(sent_by(index))) << index << ": void segments are paid";
    EXPECT_TRUE(run(3).earned.is_zero());
    EXPECT_EQ(sent_by(0), 16u) << "it sent in every round";
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, party("dave"));
}

TEST_F(GroupRollback, TheLockPaysTheRequesterWhatIsUndone) {
    start(with_rollbacks(small_terms(), 1, 4));
    const U256 lock = run(3).locked;
    EXPECT_EQ(lock, *market::stake_floor(params, views::spec(state, 1).value()) +
                        (views::spec(state, 1)->price_ceiling * U256(5 * 4 * 3) + U256(3)) / U256(4));
    wrong_members = {3};
    ASSERT_TRUE(play_until(kAll, [&] { return run(3).state == RunState::forfeited; }));
    const market::Rollback undone = rollbacks().noted[0];
    std::uint64_t segments = 0;
    for (std::uint32_t now = undone.first + 1; now <= undone.last; ++now)
        for (const std::uint32_t index : {0u, 1u, 2u}) segments += views::round_message(state, 1, now, index) ? 1 : 0;
    EXPECT_GT(segments, 0u);
    EXPECT_EQ(repaid(), group().price * U256(segments));
    U256 slashed, burned;
    for (const Slashed& event : all<Slashed>()) slashed += event.amount, burned += event.burned;
    EXPECT_EQ(slashed, lock);
    const U256 rest = lock - repaid();
    EXPECT_GE(burned, ledger::mul_div(rest, 10'000 - params.challenger_share_bp, 2 * 10'000))
        << "nobody gets a share of what is repaid";
    for (const UndoneRepaid& event : all<UndoneRepaid>()) EXPECT_EQ(event.requester, party("requester"));
}

TEST_F(GroupRollback, SilenceUndoesAsALieDoes) {
    auto quick = small_params();
    quick.unbond_blocks = 10'000;
    begin(quick);
    start(with_rollbacks(small_terms(), 1, 4));
    ASSERT_TRUE(play_until(kAll, [&] { return run(3).next_state == 2; }));
    const auto play_without = [&](std::uint64_t blocks) {  // Run 3 opens nothing.
        for (std::uint64_t i = 0; i < blocks && run(3).state == RunState::running; ++i) {
            for (const std::uint32_t index : {0u, 1u, 2u}) {
                serve_member(index);
                const market::Group now = group();
                const bool sent = contains(now.committed, index);
                if (now.phase == GroupPhase::training && !sent) {
                    ASSERT_EQ(train(index), CallStatus::ok);
                }
                if (now.phase == GroupPhase::spreading && sent && !contains(now.listed, index)) {
                    ASSERT_EQ(list_messages(index, bitmap(index)), CallStatus::ok);
                }
                if (now.phase == GroupPhase::revealing && contains(now.listed, index) &&
                    !contains(now.revealed, index)) {
                    ASSERT_EQ(show_messages(index, bitmap(index)), CallStatus::ok);
                }
            }
            const auto now = group();
            if (now.phase == GroupPhase::spreading && contains(now.committed, 3) && !contains(now.listed, 3))
                list_messages(3, bitmap(3));
            if (now.phase == GroupPhase::revealing && contains(now.listed, 3) && !contains(now.revealed, 3))
                show_messages(3, bitmap(3));
            audit_members();
            next_block();
        }
    };
    play_without(600);
    ASSERT_EQ(run(3).state, RunState::forfeited);
    ASSERT_EQ(rollbacks().noted.size(), 1u);
    EXPECT_EQ(rollbacks().noted[0].first, 0u);
    EXPECT_LE(rollbacks().noted[0].last, 3u);
    EXPECT_EQ(round_now(0).entries.size(), 3u);
}

TEST_F(GroupRollback, ARoundWaitsUntilMessagesOfRoundsBeforeAreFinal) {
    start(with_rollbacks(small_terms(), 1, 2));
    ASSERT_TRUE(play_until(kAll, [&] { return group().phase == GroupPhase::settling; }));
    EXPECT_EQ(group().round, 2u) << "round 0 is not final";
    EXPECT_LT(run(0).finalised, 1u);
    EXPECT_EQ(train(0), CallStatus::wrong_group_phase);
    const std::uint64_t began = height;
    ASSERT_TRUE(play_until(kAll, [&] { return group().phase == GroupPhase::training; }));
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_GE(run(index).finalised, 1u);
    EXPECT_EQ(rollbacks().opened, height);
    EXPECT_GE(rollbacks().final_rounds, 1u);
    EXPECT_GT(height, began);
    ASSERT_TRUE(play_until(kAll, [&] { return group().phase == GroupPhase::over; }));
    EXPECT_EQ(rollbacks().final_rounds, 8u) << "members finish when nothing can be undone any more";
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_EQ(member(index).absent, 0u);
    ASSERT_TRUE(play_until(kAll, [&] { return task().state == TaskState::delivering; }));
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_EQ(run(index).earned, group().price * U256(8));
    EXPECT_TRUE(all<Slashed>().empty());
    EXPECT_TRUE(all<GroupRolledBack>().empty());
}

TEST_F(GroupRollback, AfterTheLastRollbackRecordsStand) {
    auto terms = with_rollbacks(small_terms(), 1, 4);
    terms.least = 2;
    start(terms);
    wrong_members = {3};
    ASSERT_TRUE(play_until(kAll, [&] { return run(3).state == RunState::forfeited; }));
    wrong_members = {2};
    ASSERT_TRUE(play_until({0, 1, 2}, [&] {
        const bool done = task().state != TaskState::running;
        return done || run(2).state == RunState::forfeited;
    }));
    ASSERT_EQ(run(2).state, RunState::forfeited) << "a segment of run 2 is drawn: the beacon of the test is fixed";
    EXPECT_EQ(rollbacks().noted.size(), 1u);
    EXPECT_EQ(all<GroupRolledBack>().size(), 1u);
}

TEST_F(GroupRollback, EachOfTwoLiarsIsUndoneOnce) {
    start(with_rollbacks(small_terms(), 2, 4));
    wrong_members = {2, 3};
    ASSERT_TRUE(
        play_until(kAll, [&] { return run(3).state == RunState::forfeited && run(2).state == RunState::forfeited; }));
    ASSERT_EQ(rollbacks().noted.size(), 2u);
    EXPECT_NE(rollbacks().noted[0].run, rollbacks().noted[1].run);
    EXPECT_EQ(round_now(0).entries.size(), 2u);
    for (std::uint32_t now = 1; now <= rollbacks().noted[1].last; ++now) EXPECT_TRUE(round_now(now).entries.empty());
    wrong_members.clear();
    ASSERT_TRUE(play_until(
        {0, 1}, [&] { return task().state == TaskState::delivering; }, 4'000));
    for (std::uint32_t index = 0; index < 2; ++index)
        EXPECT_EQ(run(index).earned, group().price * U256(sent_by(index))) << index;
}

TEST_F(GroupRollback, WhoLetsTheGroupWaitForItsOpeningsIsAbsentMeanwhile) {
    auto terms = with_rollbacks(small_terms(), 1, 1);
    terms.rounds = 12;
    terms.absence_limit = 5;
    start(terms);
    const std::uint64_t longest = market::longest_round(terms), begun = height;
    std::vector<std::uint32_t> absences;
    // It lets the group wait for three rounds' time whenever it settles, which is less than it may be away.
    while (!member(3).leaving && absences.size() < 8) {
        opens_nothing = {3};
        ASSERT_TRUE(play_until(kAll, [&] { return group().phase == GroupPhase::settling; }));
        for (std::uint64_t i = 0; i < 3 * longest; ++i) play_block(kAll);
        ASSERT_EQ(group().phase, GroupPhase::settling) << "it waits for the member";
        const std::uint32_t before = member(3).absent;
        opens_nothing.clear();
        play_block(kAll);
        absences.push_back(member(3).absent - before);
        ASSERT_TRUE(play_until(kAll, [&] { return group().phase != GroupPhase::settling; }));
    }
    for (const std::uint32_t counted : absences) EXPECT_GE(counted, 2u) << "its messages take one off each";
    EXPECT_TRUE(member(3).leaving);
    EXPECT_LE(absences.size(), 5u);
    EXPECT_LE(height - begun, absences.size() * (5 * longest)) << "then the others go on";
    for (std::uint32_t index = 0; index < 3; ++index) EXPECT_EQ(member(index).absent, 0u) << index;
    ASSERT_TRUE(play_until({0, 1, 2}, [&] { return run(3).state == RunState::left; }));
    EXPECT_TRUE(run(3).locked.is_zero());
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupRollback, OpeningManyStatesAtOnceCountsTheTimeOnce) {
    auto terms = with_rollbacks(small_terms(), 1, 4);
    terms.absence_limit = 4;
    start(terms);
    opens_nothing = {3};
    ASSERT_TRUE(play_until(kAll, [&] { return group().phase == GroupPhase::settling; }));
    const std::uint64_t longest = market::longest_round(terms);
    for (std::uint64_t i = 0; i < longest + 4; ++i) play_block(kAll);
    ASSERT_EQ(group().phase, GroupPhase::settling);
    ASSERT_EQ(member(3).absent, 0u);
    opens_nothing.clear();
    ASSERT_TRUE(play_until(kAll, [&] { return group().phase != GroupPhase::settling; }));
    EXPECT_EQ(member(3).absent, 1u);
}

TEST_F(GroupRollback, AJoinerBeginsWhereNothingIsUndoneAnyMore) {
    auto terms = with_rollbacks(small_terms(), 2, 4);
    terms.rounds = 40;
    start(terms);
    ASSERT_TRUE(play_until(kAll, [&] { return group().round == 1; }));
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    add_solver("erin");
    wrong_members = {2};
    ASSERT_TRUE(play_until({0, 1, 2}, [&] { return run(3).state == RunState::left; }));
    const auto spec = views::spec(state, 1).value();
    const auto join = [&](std::uint32_t anchor, std::uint64_t index) {
        return send("erin", JoinTask{1, anchor, index}, market::join_fee(params, spec, index));
    };
    // The liar's message of round 1 is not final yet, or is undone; a state that took it in is no anchor.
    ASSERT_TRUE(play_until({0, 1, 2}, [&] { return run(2).state == RunState::forfeited; }));
    ASSERT_EQ(rollbacks().noted.size(), 1u);
    const std::uint32_t first = rollbacks().noted[0].first;
    ASSERT_TRUE(play_until({0, 1}, [&] { return run(0).finalised > std::uint64_t{first} + 1; }));
    std::uint64_t voided = 0;
    for (std::uint64_t i = 0; i < run(0).finalised; ++i)
        if (views::is_void(state, 1, 0, i)) voided = i + 1;
    ASSERT_NE(voided, 0u);
    EXPECT_EQ(join(0, voided), CallStatus::wrong_anchor);
    std::uint64_t firm = 0;
    for (std::uint64_t i = 0; i < run(0).finalised; ++i)
        if (!views::is_void(state, 1, 0, i) && !views::member_segment(state, 1, 0, i)->shared.empty()) firm = i + 1;
    ASSERT_NE(firm, 0u);
    const bool below = views::member_segment(state, 1, 0, firm - 1)->base <= views::final_rounds(state, 1, rollbacks());
    EXPECT_EQ(join(0, firm), below ? CallStatus::ok : CallStatus::wrong_anchor);
}

}  // namespace
}  // namespace retrace::contracts
