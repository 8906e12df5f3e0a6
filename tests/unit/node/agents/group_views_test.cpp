// SPDX-License-Identifier: MIT
// What agents see of the records of a group: segments with their records, a member's moves, free seats.
#include "node/agents/group_views.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "kernels/plan/group_plan.hpp"
#include "node/agents/remote_state.hpp"
#include "tests/unit/node/fake_node.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using market::GroupPhase;
using testing::ElementsAre;
using testing::IsEmpty;

Hash32 word(std::uint8_t byte) { return Hash32{{byte}}; }
const ledger::Address kSelf{{9}};

/// A group of three, in its third round. Run 1 sent a message in round 1 that is not recorded; run 2 is away since
/// round 1.
struct GroupViews : testing::Test {
    GroupViews() {
        terms.rounds = 5;
        terms.steps_max = 10;
        terms.shared = 1;
        terms.public_tensors = {2};
        for (std::uint8_t phase = 1; phase <= 8; ++phase) terms.phases.push_back({phase, phase >= 6, word(phase)});
        terms.least = 2;
        terms.round_blocks = terms.grace_blocks = terms.fetch_blocks = terms.reveal_blocks = 5;
        terms.absence_limit = 2;
        terms.keep_rounds = 8;
        terms.catch_up_max = 16;
        kernels::PlanHeader header{terms.steps_max, terms.shared, terms.public_tensors, {}};
        for (const market::PhaseRoot& phase : terms.phases)
            header.phases.push_back({static_cast<kernels::Phase>(phase.phase), phase.member_seed, phase.program_root});
        spec.name = "group";
        spec.program_root = header.root();
        spec.init_root = word(1);
        spec.program_bytes = spec.finish_blocks = spec.step_cost = 1;
        spec.steps = 6;
        spec.interval = 1;
        spec.price_ceiling = ledger::U256(1'000);
        spec.auditors = 1;
        spec.replicas = 4;
        chain.put(keys::spec(1), spec);
        chain.put(keys::group_spec(1), terms);
        task.id = 1;
        task.state = market::TaskState::running;
        task.runs = 3;
        task.active = {0, 1, 2};
        chain.put(keys::task(1), task);
        chain.put(keys::active_tasks(), contracts::ListOf<std::uint64_t>{{1}});
        group.task = 1;
        group.phase = GroupPhase::training;
        group.round = 2;
        group.price = ledger::U256(500);
        group.senders = 3;
        chain.put(keys::round(1, 0),
                  market::Round{0, 5, 3, {{0, 10, 0, 10}, {1, 7, 0, 7}, {2, 10, 0, 10}}, 27, {0, 1, 2}});
        chain.put(keys::round(1, 1), market::Round{1, 9, 2, {{0, 10, 1, 10}}, 10, {0, 1}});
        for (std::uint32_t run = 0; run < 3; ++run) sent(0, run, true);
        sent(1, 0, true);
        sent(1, 1, false);
        add_member(0, 1, 2);
        add_member(1, 1, 2);
        add_member(2, 0, 1);
    }

    void sent(std::uint32_t round, std::uint32_t run, bool recorded) {
        chain.put(
            keys::round_message(1, round, run),
            market::RoundMessage{round, run == 1 && round == 0 ? 7u : 10u, {word(message_of(round, run))}, recorded});
    }
    static std::uint8_t message_of(std::uint32_t round, std::uint32_t run) {
        return static_cast<std::uint8_t>(100 + 10 * round + run);
    }
    /// A member with one segment in each round from 0 to `base`.
    void add_member(std::uint32_t index, std::uint32_t base, std::uint64_t messages) {
        market::Member member;
        member.base = member.last_round = base;
        member.messages = messages;
        chain.put(keys::member(1, index), member);
        for (std::uint32_t i = 0; i <= base; ++i)
            chain.put(keys::member_segment(1, index, i),
                      market::MemberSegment{
                          i == 0 ? 0 : i - 1, i, 10, market::MemberSegment::kNone, i == 0 ? 11u : 16u, {word(50)}});
        market::Run run;
        run.task = 1;
        run.index = index;
        run.solver = ledger::Address{{static_cast<std::uint8_t>(index + 1)}};
        run.state = market::RunState::running;
        run.next_state = base + 2;
        runs.push_back(run);
        chain.put(keys::run(1, index), run);
    }
    std::optional<solver::MemberView> member(std::uint32_t run) {
        chain.put(keys::group(1), group);
        const RemoteState state(client, 10);
        std::optional<solver::MemberView> out;
        state.read_ahead([&] { out = member_view(state, runs.at(run), immutable); });
        state.read([&] { out = member_view(state, runs.at(run), immutable); });
        EXPECT_FALSE(state.failure());
        return out;
    }

    test::FakeNode chain;
    RpcClient client = *RpcClient::connect(chain.url());
    Immutable immutable;
    market::TaskSpec spec;
    market::GroupSpec terms;
    market::Task task;
    market::Group group;
    std::vector<market::Run> runs;
};

TEST_F(GroupViews, ASegmentComesWithTheMessagesThatItTakesIn) {
    chain.put(keys::group(1), group);
    const RemoteState state(client, 10);
    const auto segment = segment_view(state, 1, 0, 1, immutable);
    ASSERT_TRUE(segment);
    EXPECT_EQ(segment->span, (kernels::SegmentSpan{0, 1, 10, {}}));
    EXPECT_EQ(segment->start_step, kernels::header_step(0, 11)) << "the end of segment 0";
    ASSERT_EQ(segment->records.size(), 1u);
    EXPECT_EQ(segment->records[0].total, 27u);
    ASSERT_EQ(segment->records[0].entries.size(), 3u);
    EXPECT_EQ(segment->records[0].entries[1].steps, 7u);
    EXPECT_EQ(segment->records[0].entries[1].weight, 7u);
    EXPECT_EQ(segment->records[0].entries[1].age, 0u);
    EXPECT_THAT(segment->records[0].entries[2].tensors, ElementsAre(word(message_of(0, 2))));
    EXPECT_FALSE(segment_view(state, 1, 0, 5, immutable)) << "there is no such segment";
    EXPECT_FALSE(segment_view(state, 2, 0, 0, immutable)) << "there is no such task";
}

TEST_F(GroupViews, AMemberSeesWhichOfItsMessagesNoRecordHas) {
    EXPECT_EQ(member(0)->omitted, std::nullopt);
    EXPECT_EQ(member(1)->omitted, 1u);
    EXPECT_EQ(member(2)->omitted, std::nullopt);
    const auto away = member(2);
    ASSERT_EQ(away->records.size(), 2u) << "from its base to the open round";
    EXPECT_EQ(away->records[1].entries[0].age, 1u);
    EXPECT_EQ(away->base, 0u);
}

TEST_F(GroupViews, MovesFollowThePhase) {
    EXPECT_TRUE(member(0)->may_commit);
    group.committed = {1, 0};
    chain.put(keys::round_message(1, 2, 0), market::RoundMessage{2, 9, {word(120)}, false});
    const auto sent = member(0);
    EXPECT_FALSE(sent->may_commit);
    ASSERT_EQ(sent->committed.size(), 2u);
    EXPECT_EQ(sent->committed[1].run, 0u);
    EXPECT_THAT(sent->committed[1].tensors, ElementsAre(word(120)));
    group.phase = GroupPhase::spreading;
    EXPECT_TRUE(member(0)->may_list);
    EXPECT_FALSE(member(2)->may_go_on) << "messages are of the round that they are sent in";
    EXPECT_FALSE(member(2)->may_list) << "it sent no message";
    group.listed = {0};
    EXPECT_FALSE(member(0)->may_list);
    group.phase = GroupPhase::revealing;
    EXPECT_TRUE(member(0)->may_reveal);
    EXPECT_FALSE(member(1)->may_reveal) << "it committed to nothing";
    group.phase = GroupPhase::over;
    EXPECT_TRUE(member(0)->may_finish);
}

TEST_F(GroupViews, ASeatIsFreeOnceAStateIsFinalised) {
    chain.put(keys::group(1), group);
    const auto seats = [&] {
        const RemoteState state(client, 10);
        return free_seats(state, kSelf, immutable);
    };
    EXPECT_THAT(seats(), IsEmpty());
    for (const std::uint32_t index : {0u, 1u}) {
        runs[index].finalised = index + 1;
        chain.put(keys::run(1, index), runs[index]);
        market::Checkpoint state;
        state.opened = true;
        chain.put(keys::checkpoint(1, index, index + 1), state);
    }
    ASSERT_EQ(seats().size(), 1u);
    EXPECT_EQ(seats()[0].anchor.run, 1u) << "its base is the highest";
    EXPECT_EQ(seats()[0].anchor.base, 1u);
    EXPECT_EQ(seats()[0].rounds_left, 2u);
    market::Group early = group;
    early.phase = GroupPhase::starting;
    chain.put(keys::group(1), early);
    ASSERT_EQ(seats().size(), 1u);
    EXPECT_EQ(seats()[0].anchor.index, 0u) << "before the first round a new member begins as the others";
    chain.put(keys::group(1), group);
    runs[2].solver = kSelf;
    chain.put(keys::run(1, 2), runs[2]);
    EXPECT_THAT(seats(), IsEmpty()) << "it takes part already";
    task.active = {0, 1, 2, 3};
    runs[2].solver = ledger::Address{{3}};
    chain.put(keys::run(1, 2), runs[2]);
    chain.put(keys::task(1), task);
    EXPECT_THAT(seats(), IsEmpty()) << "all are taken";
}

TEST_F(GroupViews, ASeatThatIsReadyKeepsItsAnchorForAWhile) {
    chain.put(keys::group(1), group);
    for (const std::uint32_t index : {0u, 1u}) {
        runs[index].finalised = index + 1;
        chain.put(keys::run(1, index), runs[index]);
        market::Checkpoint opened;
        opened.opened = true;
        chain.put(keys::checkpoint(1, index, index + 1), opened);
    }
    const auto anchor_of = [&](const solver::SeatView& ready) {
        const RemoteState state(client, 10);
        return free_seats(state, kSelf, immutable, {ready}).at(0).anchor;
    };
    const RemoteState now(client, 10);
    FreeSeat seat{1, 2, ledger::U256(1), {0, 1, 0, {word(50)}}};
    const solver::SeatView ready = seat_view(now, seat, spec, market::Params{}, kSelf, immutable);
    EXPECT_EQ(ready.entry.base, 0u);
    EXPECT_THAT(ready.entry.anchor, ElementsAre(word(50)));
    EXPECT_EQ(ready.terms.group->keep_rounds, 8u);
    EXPECT_EQ(anchor_of(ready).run, 0u) << "the newest one is that of run 1";
    solver::SeatView other = ready;
    other.entry.anchor = {word(51)};
    EXPECT_EQ(anchor_of(other).run, 1u) << "the ledger has other shared tensors there";
    group.round = 5;
    chain.put(keys::group(1), group);
    terms.rounds = 9;
    spec.steps = 10;
    chain.put(keys::group_spec(1), terms);
    chain.put(keys::spec(1), spec);
    immutable = {};
    EXPECT_EQ(anchor_of(ready).run, 1u) << "five rounds behind are more than half of eight";
}

TEST_F(GroupViews, AMemberSeesItsNewestSegmentAlsoIfItIsFinal) {
    runs[0].finalised = 2;
    const auto seen = member(0);
    ASSERT_EQ(seen->segments.size(), 1u);
    EXPECT_EQ(seen->segments[0].index, 1u);
    EXPECT_EQ(seen->segments[0].start, 1u);
    EXPECT_EQ(seen->records.front().round, 0u) << "which it takes in";
}

TEST_F(GroupViews, ARunIsOverWhenTheLedgerSaysSo) {
    runs[0].state = market::RunState::left;
    chain.put(keys::run(1, 0), runs[0]);
    chain.put(keys::open_runs(kSelf), contracts::ListOf<contracts::views::RunId>{{{1, 1}}});
    const RemoteState state(client, 10);
    const auto kept = runs_not_over(state, kSelf, {{1, 0}, {1, 1}, {1, 9}, {4, 0}});
    EXPECT_THAT(kept, ElementsAre(solver::RunKey{1, 1}, solver::RunKey{1, 9}, solver::RunKey{4, 0}))
        << "an open one, and those that this ledger does not have yet";
}

}  // namespace
}  // namespace retrace::node
