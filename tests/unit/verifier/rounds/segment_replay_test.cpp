// SPDX-License-Identifier: MIT
// Replays of members' segments give the bits of solver::LocalGroup and kernels::PlanExecutor at every position.
#include <gtest/gtest.h>

#include "kernels/plan/plan_executor.hpp"
#include "tests/unit/verifier/rounds/group_world.hpp"

namespace retrace::test {
namespace {

using namespace verifier;
using kernels::State;

/// Roots of all states of a segment, from the definition.
std::vector<Hash32> defined_roots(const GroupWorld& world, const PlayedSegment& segment) {
    kernels::PlanExecutor executor(world.plan, world.pool);
    const kernels::SegmentPositions positions = world.positions(segment);
    const LoadMessage load = world.messages(segment);
    std::vector<kernels::Tensor> loaded;
    const auto message = [&](const kernels::Position& at) {
        if (at.phase == kernels::Phase::mask)
            return solver::mask_message(segment.view.masks, at, loaded.emplace_back());
        const std::uint64_t r = at.record - segment.view.span.from;
        if (at.phase == kernels::Phase::unmask)
            return solver::mask_message(segment.view.records[r].masks, at, loaded.emplace_back());
        kernels::Message out{facts_of(segment.view.records[r], at.message), {}};
        loaded = load(r, at.message);
        for (const kernels::Tensor& tensor : loaded) out.tensors.push_back(&tensor);
        return out;
    };
    const kernels::MemberInputs inputs{
        GroupWorld::kSeed, kernels::member_seed(GroupWorld::kSeed, segment.run), {&world.x, &world.y}};
    State state = segment.start;
    std::vector<Hash32> roots{kernels::commit_state(world.committed->root(), state, world.pool).root};
    for (std::uint64_t p = 0; p < positions.count(); ++p) {
        executor.run(state, positions, p, p + 1, inputs, message);
        roots.push_back(kernels::commit_state(world.committed->root(), state, world.pool).root);
    }
    return roots;
}

class SegmentReplay : public ::testing::TestWithParam<kernels::UpdateKind> {
protected:
    SegmentReplay() { play_eventful(world_); }
    GroupWorld world_{GetParam(), 3};
};

TEST_P(SegmentReplay, EveryRootIsThatOfTheDefinition) {
    const auto runner = world_.runner();
    bool omits = false, long_absence = false;
    for (const PlayedSegment& segment : world_.segments) {
        const std::vector<Hash32> roots = defined_roots(world_, segment);
        ASSERT_EQ(roots.front(), segment.start_root);
        ASSERT_EQ(roots.back(), segment.end_root) << "run " << segment.run << ", segment " << segment.index;
        omits = omits || segment.view.span.omitted.has_value();
        long_absence = long_absence || segment.view.records.size() == 3;
        Replayer replay = world_.replay(segment, *runner);
        std::vector<std::uint64_t> all(roots.size());
        for (std::uint64_t p = 0; p < all.size(); ++p) all[p] = p;
        EXPECT_EQ(replay.roots_at(0, all), roots);
        EXPECT_EQ(replay.end_state(), segment.end);
        // Each position from a replay of its own, as players ask for it.
        for (std::uint64_t p = 0; p + 1 < roots.size(); ++p) {
            Replayer own = world_.replay(segment, *runner);
            EXPECT_EQ(own.output_of(p).root, roots[p + 1]) << "run " << segment.run << ", position " << p;
            EXPECT_EQ(own.input_of(p).root, roots[p]);
            EXPECT_EQ(own.root_at(p + 1), roots[p + 1]);
        }
    }
    EXPECT_TRUE(omits);
    EXPECT_TRUE(long_absence);
}

TEST_P(SegmentReplay, ASegmentThatBeginsBehindPlacesOfItsOwnNumbersIsCountedFromItsStart) {
    play_apart(world_);
    const PlayedSegment& segment = trained_apart(world_);
    ASSERT_EQ(segment.view.start_step >> kernels::kPlaceBits, segment.view.span.base);
    const auto runner = world_.runner();
    const std::vector<Hash32> roots = defined_roots(world_, segment);
    ASSERT_EQ(roots.front(), segment.start_root);
    ASSERT_EQ(roots.back(), segment.end_root);
    Replayer replay = world_.replay(segment, *runner);
    for (std::uint64_t p = 0; p + 1 < roots.size(); ++p) {
        Replayer own = world_.replay(segment, *runner);
        EXPECT_EQ(own.input_of(p).root, roots[p]) << p;
        EXPECT_EQ(own.output_of(p).root, roots[p + 1]) << p;
        EXPECT_EQ(replay.input_of(p).root, roots[p]) << "in one replay, in any order: " << p;
    }
    for (std::uint64_t p = roots.size(); p-- > 0;) EXPECT_EQ(replay.root_at(p), roots[p]) << p;
    EXPECT_EQ(replay.input_of(0).root, segment.start_root) << "after later ones";
    EXPECT_EQ(replay.input_of(0).header.step, segment.view.start_step);
}

TEST_P(SegmentReplay, TheTraceOfEachPositionLeadsToItsState) {
    const auto runner = world_.runner();
    for (const PlayedSegment& segment : world_.segments) {
        Replayer replay = world_.replay(segment, *runner);
        for (std::uint64_t p = 0; p < replay.last_step(); ++p) {
            const kernels::Program& program = replay.steps().program_at(p).program();
            const std::vector<Hash32> after = replay.output_of(p).tensor_roots;
            for (std::uint32_t t = 0; t < program.states; ++t) {
                const std::uint32_t writer = program.tensors[t].writer;
                EXPECT_EQ(after[t], writer == kernels::kNoWriter ? replay.input_of(p).tensor_roots[t]
                                                                 : replay.trace_of(p)[writer])
                    << "position " << p << ", tensor " << t;
            }
            // The data sets are those that the program records, the last of them the facts of a message.
            const auto data = replay.datasets(p);
            ASSERT_EQ(data.size(), program.datasets);
            for (std::uint32_t d = 0; d < program.datasets; ++d)
                EXPECT_EQ(data[d]->dims, program.tensors[program.states + program.constants + d].dims);
        }
    }
}

TEST_P(SegmentReplay, ReplaysOfOneSegmentShareRootsAndMessages) {
    const auto runner = world_.runner();
    const PlayedSegment& segment = world_.segments.back();
    Replayer first = world_.replay(segment, *runner);
    EXPECT_EQ(first.end_root(), segment.end_root);
    Replayer second = first.beside();
    EXPECT_EQ(second.end_root_beside({}), segment.end_root);
    const std::vector<Hash32> roots = defined_roots(world_, segment);
    EXPECT_EQ(second.input_of(1).root, roots[1]);
    EXPECT_EQ(first.input_of(2).root, roots[2]);
    EXPECT_GT(first.start_bytes(), 0U);
}

TEST_P(SegmentReplay, FirstStatesAreMadeByInitOrEnter) {
    const auto runner = world_.runner();
    Replayer init(init_steps_of(world_.setup(*runner, 1)), world_.pool);
    EXPECT_TRUE(init.initialiser());
    EXPECT_EQ(init.end_state(), world_.firsts[1]);
    EXPECT_EQ(init.output_of(0).root, init.end_root());
    Replayer enter(enter_steps_of(world_.setup(*runner, 3), world_.entry(3).base, world_.anchor(3)), world_.pool);
    EXPECT_EQ(enter.end_state(), world_.firsts[3]);
    EXPECT_EQ(enter.end_state().step, kernels::header_step(4, 0));
    EXPECT_EQ(enter.trace_of(0).size(), world_.plan.at(kernels::Phase::enter).program.ops.size());
    EXPECT_EQ(enter.datasets(0).size(), world_.plan.shared);
}

INSTANTIATE_TEST_SUITE_P(Updates, SegmentReplay,
                         ::testing::Values(kernels::UpdateKind::dense, kernels::UpdateKind::sparse,
                                           kernels::UpdateKind::gradient, kernels::UpdateKind::masked));

}  // namespace
}  // namespace retrace::test
