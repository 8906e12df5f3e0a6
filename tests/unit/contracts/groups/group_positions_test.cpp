// SPDX-License-Identifier: MIT
// What records say about the positions of members. Member 2 of a group took in records 3 to 5 and trained for two steps:
// record 3 has two messages, record 4 none, record 5 one, and lacks its own.
#include "contracts/records/group_positions.hpp"

#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using kernels::Phase;

class GroupPositions : public ::testing::Test {
protected:
    GroupPositions() {
        TaskSpec spec = small_spec();
        spec.seed = 99;
        spec.data_roots = {word("x"), word("y")};
        store(state_, keys::spec(kTask), spec);
        group_.rounds = 10;
        group_.steps_max = 8;
        group_.shared = 2;
        group_.public_tensors = {3, 4};
        for (std::uint8_t phase = 1; phase <= 8; ++phase)
            group_.phases.push_back({phase, phase >= 6, word("phase " + std::to_string(phase))});
        store(state_, keys::group_spec(kTask), group_);
        put_record(3, {{0, 5}, {2, 7}});
        put_record(4, {});
        put_record(5, {{1, 8}});
        member_.base = 6;
        member_.entered = 3;
        member_.anchor = {word("anchor 0"), word("anchor 1")};
        store(state_, keys::member(kTask, kRun), member_);
        segment_.from = 3;
        segment_.base = 6;
        segment_.steps = 2;
        segment_.omitted = 5;
        segment_.positions = 4 + 4 + 3;
        store(state_, keys::member_segment(kTask, kRun, 0), segment_);
    }
    void put_record(std::uint32_t index, std::vector<market::RoundEntry> entries) {
        market::Round record;
        record.index = index;
        record.entries = std::move(entries);
        for (market::RoundEntry& entry : record.entries) {
            entry.weight = entry.steps;
            record.total += entry.weight;
            market::RoundMessage message;
            message.steps = entry.steps;
            message.recorded = true;
            message.tensors = message_of(index, entry.run);
            store(state_, keys::round_message(kTask, index, entry.run), message);
        }
        store(state_, keys::round(kTask, index), record);
    }
    static std::vector<Hash32> message_of(std::uint32_t round, std::uint32_t run) {
        const std::string name = std::to_string(round) + " " + std::to_string(run);
        return {word("places " + name), word("codes " + name)};
    }
    static std::vector<Hash32> add_inputs(std::uint32_t round, std::uint32_t run, kernels::MessageFacts facts) {
        std::vector<Hash32> out = message_of(round, run);
        kernels::ThreadPool pool(1);
        out.push_back(kernels::tensor_root(kernels::fact_tensor(facts), pool));
        return out;
    }
    std::optional<verifier::StepFacts> at(std::uint64_t place) const {
        return facts_of_position(state_, kTask, kRun, 0, place);
    }

    static constexpr std::uint64_t kTask = 7;
    static constexpr std::uint32_t kRun = 2;
    EmptyView empty_;
    ledger::State state_{empty_};
    market::GroupSpec group_;
    market::Member member_;
    market::MemberSegment segment_;
};

TEST_F(GroupPositions, EachHasItsFacts) {
    struct Expected {
        Phase phase;
        std::uint64_t op_step;
        std::vector<Hash32> data;
    };
    const std::vector<Expected> expected = {
        {Phase::begin, 32, {}},
        {Phase::add, 32, add_inputs(3, 0, {5, 12, 0, 5})},
        {Phase::add, 32, add_inputs(3, 2, {7, 12, 0, 7})},
        {Phase::end, 32, {}},
        {Phase::begin, 48, {}},
        {Phase::add, 48, add_inputs(5, 1, {8, 8, 0, 8})},
        {Phase::end, 48, {}},
        {Phase::restore, 48, {}},
        {Phase::inner, 48, {word("x"), word("y")}},
        {Phase::inner, 49, {word("x"), word("y")}},
        {Phase::press, 50, {}},
    };
    const std::uint64_t own = kernels::member_seed(99, kRun);
    for (std::uint64_t p = 0; p < expected.size(); ++p) {
        const Expected& e = expected[p];
        const auto phase = static_cast<std::uint8_t>(e.phase);
        const verifier::StepFacts facts{word("phase " + std::to_string(phase)), e.phase >= Phase::inner ? own : 99,
                                        e.data, e.op_step, (std::uint64_t{6} << 20) + p + 1};
        EXPECT_EQ(at(p), facts) << p;
    }
    EXPECT_FALSE(at(expected.size()).has_value());
}

TEST_F(GroupPositions, FirstStatesAreMadeByEnterOrInit) {
    const std::uint64_t step = std::uint64_t{3} << 20;
    EXPECT_EQ(facts_of_entry(state_, kTask, kRun),
              (verifier::StepFacts{word("phase 2"), 99, {word("anchor 0"), word("anchor 1")}, 24, step}));
    store(state_, keys::member(kTask, 0), market::Member{});
    EXPECT_EQ(facts_of_entry(state_, kTask, 0), (verifier::StepFacts{word("phase 1"), 99, {}, 0, 0}));
    EXPECT_FALSE(facts_of_entry(state_, kTask, 1).has_value());
}

TEST_F(GroupPositions, HeadersNameTheBaseAndThePosition) {
    EXPECT_EQ(header_step_of(state_, kTask, kRun, 0), std::uint64_t{3} << 20);
    EXPECT_EQ(header_step_of(state_, kTask, kRun, 1), (std::uint64_t{6} << 20) + 11);
    EXPECT_FALSE(header_step_of(state_, kTask, kRun, 2).has_value());
}

TEST_F(GroupPositions, ThePlansRootIsThatOfTheGroupsTerms) {
    kernels::PlanHeader header{8, 2, {3, 4}, {}};
    for (std::uint8_t phase = 1; phase <= 8; ++phase)
        header.phases.push_back({static_cast<Phase>(phase), phase >= 6, word("phase " + std::to_string(phase))});
    EXPECT_EQ(plan_of(group_).root(), header.root());
}

TEST_F(GroupPositions, RecordsThatAreMissingOrDoNotFitGiveNothing) {
    EXPECT_FALSE(positions_of(state_, kTask, kRun, 1).has_value());
    segment_.positions = 10;
    store(state_, keys::member_segment(kTask, kRun, 0), segment_);
    EXPECT_FALSE(positions_of(state_, kTask, kRun, 0).has_value());
    segment_.positions = 11;
    segment_.steps = 9;  // More than the plan allows.
    store(state_, keys::member_segment(kTask, kRun, 0), segment_);
    EXPECT_FALSE(positions_of(state_, kTask, kRun, 0).has_value());
    segment_.steps = 2;
    store(state_, keys::member_segment(kTask, kRun, 0), segment_);
    ASSERT_TRUE(positions_of(state_, kTask, kRun, 0).has_value());

    remove(state_, keys::round_message(kTask, 3, 2));
    EXPECT_TRUE(at(1).has_value());
    EXPECT_FALSE(at(2).has_value());
    remove(state_, keys::round(kTask, 4));
    EXPECT_FALSE(at(0).has_value());
}

}  // namespace
}  // namespace retrace::contracts
