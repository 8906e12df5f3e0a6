// SPDX-License-Identifier: MIT
#include "kernels/plan/positions.hpp"

#include <gtest/gtest.h>

#include <random>

#include "kernels/plan/plan_executor.hpp"
#include "tests/unit/kernels/plan/small_plan.hpp"

namespace retrace::kernels {
namespace {

/// The definition: phase after phase.
std::vector<Position> listed(const SegmentSpan& span, const std::vector<std::uint32_t>& messages,
                             const std::vector<std::uint32_t>& masks, std::uint32_t most) {
    std::vector<Position> out;
    for (std::uint64_t r = span.from; r < span.base; ++r) {
        const std::uint64_t op_step = (r + 1) * most;
        const std::uint32_t count = messages[r - span.from];
        if (count != 0) {
            out.push_back({Phase::begin, r, 0, op_step});
            for (std::uint32_t m = 0; m < count; ++m) out.push_back({Phase::add, r, m, op_step});
            for (std::uint32_t m = 0; m < masks[r - span.from]; ++m) out.push_back({Phase::unmask, r, m, 0});
            out.push_back({Phase::end, r, 0, op_step});
        }
        if (span.omitted == r) out.push_back({Phase::restore, r, 0, op_step});
    }
    for (std::uint32_t j = 0; j < span.steps; ++j) out.push_back({Phase::inner, 0, 0, span.base * most + j});
    if (span.steps != 0) out.push_back({Phase::press, 0, 0, span.base * most + span.steps});
    for (std::uint32_t m = 0; m < span.masks; ++m) out.push_back({Phase::mask, 0, m, 0});
    return out;
}

TEST(Positions, AreThoseOfTheListOfPhases) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; ++i) {
        SegmentSpan span;
        span.from = random() % 5;
        span.base = span.from + random() % 5;
        span.steps = static_cast<std::uint32_t>(random() % 6);
        if (span.steps != 0) span.masks = static_cast<std::uint32_t>(random() % 4);
        std::vector<std::uint32_t> messages, masks;
        for (std::uint64_t r = span.from; r < span.base; ++r) {
            messages.push_back(static_cast<std::uint32_t>(random() % 4));
            masks.push_back(messages.back() == 0 ? 0 : static_cast<std::uint32_t>(random() % 4));
        }
        if (!messages.empty() && random() % 2 == 0) span.omitted = span.from + random() % messages.size();
        const auto segment = SegmentPositions::make(span, messages, 6, masks);
        ASSERT_TRUE(segment.has_value()) << segment.error().message;
        const std::vector<Position> wanted = listed(span, messages, masks, 6);
        ASSERT_EQ(segment->count(), wanted.size());
        for (std::uint64_t place = 0; place < wanted.size(); ++place) EXPECT_EQ(segment->at(place), wanted[place]);
    }
}

TEST(Positions, OfARecordSeeTheSameStepWhateverTheBase) {
    const auto short_one = SegmentPositions::make({3, 4, 2, {}}, std::vector<std::uint32_t>{2}, 10).value();
    const auto long_one =
        SegmentPositions::make({2, 9, 5, {}}, std::vector<std::uint32_t>{0, 2, 0, 0, 1, 0, 0}, 10).value();
    EXPECT_EQ(short_one.at(1).op_step, 40U);
    EXPECT_EQ(long_one.at(1).op_step, 40U);
    EXPECT_EQ(long_one.at(4).op_step, 70U);
    EXPECT_EQ(long_one.at(7).op_step, 90U) << "the first inner step from base 9";
}

TEST(Positions, AreBounded) {
    const auto refused = [](const SegmentSpan& span, const std::vector<std::uint32_t>& messages) {
        const auto made = SegmentPositions::make(span, messages, 10);
        return made ? "" : made.error().message;
    };
    EXPECT_NE(refused({3, 2, 1, {}}, {}), "");
    EXPECT_NE(refused({2, 3, 1, {}}, {}), "") << "a record is missing";
    EXPECT_NE(refused({2, 3, 11, {}}, {1}), "");
    EXPECT_NE(refused({2, 3, 1, 3}, {1}), "") << "a record after the segment's";
    EXPECT_NE(refused({2, 3, 1, 1}, {1}), "");
    EXPECT_NE(refused({std::uint64_t{1} << 44, std::uint64_t{1} << 44, 1, {}}, {}), "");
    EXPECT_NE(refused({0, 2, 1, {}}, {0xffffffff, 0xffffffff}), "");
    EXPECT_EQ(refused({0, 1, 1, {}}, {kPositionsMax - 4}), "");
    EXPECT_NE(refused({0, 1, 1, {}}, {kPositionsMax - 3}), "");
    EXPECT_EQ(refused({5, 5, 0, {}}, {}), "") << "nothing at all";
}

TEST(PlanExecutor, RunsASegmentInParts) {
    const GroupPlan plan = testing::small_plan();
    ThreadPool pool(2);
    PlanExecutor executor(plan, pool);
    State state = executor.init(0);
    EXPECT_EQ(state.step, 0U);
    EXPECT_EQ(state.tensors[3].f32()[0], 1.0f);
    const auto none = [](const Position&) -> Message { return {}; };

    // Round 0: steps 0, 1 and 2 are added: 1 + 0 + 1 + 2; the message is the difference to the anchor.
    const auto first = SegmentPositions::make({0, 0, 3, {}}, {}, plan.steps_max).value();
    executor.run(state, first, 0, first.count(), {}, none);
    EXPECT_EQ(state.step, 4U);
    EXPECT_EQ(state.tensors[3].f32()[0], 4.0f);
    EXPECT_EQ(state.tensors[2].f32()[0], 3.0f);

    // Its record has another message only, of weight 1 of 2: the anchor moves by a half of it, and the own message
    // comes back.
    Tensor other = zeros(DType::f32, {4});
    other.f32()[0] = 10.0f;
    const auto one = [&](const Position& at) -> Message {
        EXPECT_EQ(at.record, 0U);
        EXPECT_EQ(at.message, 0U);
        return {{1, 2, 0, 3}, {&other}};
    };
    const auto second = SegmentPositions::make({0, 1, 1, 0}, std::vector<std::uint32_t>{1}, plan.steps_max).value();
    ASSERT_EQ(second.count(), 6U);
    State parts = state;
    executor.run(state, second, 0, 6, {}, one);
    EXPECT_EQ(state.step, header_step(1, 6));
    EXPECT_EQ(state.tensors[0].f32()[0], 6.0f);
    EXPECT_EQ(state.tensors[1].f32()[0], 1.0f);
    EXPECT_EQ(state.tensors[3].f32()[0], 6.0f + 3.0f + 4.0f) << "anchor, own message, step 4";
    for (std::uint64_t place = 0; place < 6; ++place) {
        executor.run(parts, second, place, place + 1, {}, one);
        EXPECT_EQ(parts.step, header_step(1, place + 1));
    }
    EXPECT_EQ(parts, state);

    // A later member begins with the anchor alone.
    const State later = executor.enter(1, {&state.tensors[0]}, 0);
    EXPECT_EQ(later.step, header_step(1, 0));
    EXPECT_EQ(later.tensors[0], state.tensors[0]);
    EXPECT_EQ(later.tensors[3], state.tensors[0]);
}

TEST(PlanExecutor, MembersHaveSeedsOfTheirOwn) {
    EXPECT_NE(member_seed(1, 0), member_seed(1, 1));
    EXPECT_NE(member_seed(1, 0), member_seed(2, 0));
    EXPECT_EQ(fact_tensor({1, 2, 3, 0x01020304}).i32()[3], 0x01020304);
}

}  // namespace
}  // namespace retrace::kernels
