// SPDX-License-Identifier: MIT
// Replays of members' segments that are preempted between positions or within one, and those on a device that keeps the
// state between inner steps.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/solver/tiny_task.hpp"
#include "tests/unit/verifier/rounds/group_world.hpp"
#include "verifier/agent/segment_replays.hpp"

namespace retrace::test {
namespace {

using namespace verifier;
using kernels::State;

/// Requests preemption in the steps whose turn it is, before they are made; an abrupt one is left half done.
struct Interruptions {
    solver::Preemption& preemption;
    std::uint64_t steps = 0, every = 1, half_done = 0;
    bool abrupt = false;
};

class InterruptedRunner final : public solver::ProgramRunner {
public:
    InterruptedRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                      Interruptions& of)
        : ProgramRunner(program, std::move(inputs), pool), of_(of) {}
    std::optional<std::vector<kernels::Metric>> attempt(State& state, const kernels::StopToken& stop) override {
        if (++of_.steps % of_.every == 0) of_.preemption.request();
        auto made = ProgramRunner::attempt(state, of_.abrupt ? stop : kernels::StopToken());
        if (!made) ++of_.half_done;
        return made;
    }

private:
    Interruptions& of_;
};

/// A back end with a state of its own, which is the caller's only when it is stored.
class FarDevice final : public kernels::ExternalBackend {
public:
    FarDevice(const kernels::Program& program, kernels::ThreadPool& pool) : executor_(program, pool), pool_(pool) {}
    std::uint64_t planned_bytes() const noexcept override { return 0; }
    void load(const State& state, const kernels::Inputs& inputs) override { state_ = state, inputs_ = inputs; }
    std::vector<kernels::Metric> advance() override { return executor_.step(state_, inputs_); }
    void store(State& state) override { state = state_; }
    std::vector<Hash32> roots() override {
        std::vector<Hash32> out;
        for (const kernels::Tensor& tensor : state_.tensors) out.push_back(kernels::tensor_root(tensor, pool_));
        return out;
    }
    void begin_roots() override { begun_ = roots(), committed_ = state_; }
    std::vector<Hash32> finish_roots() override { return begun_; }
    void store_committed(State& state) override { state = committed_; }
    std::vector<Hash32> trace(const State& state, const kernels::Inputs& inputs) override {
        return executor_.trace(state, inputs);
    }
    std::vector<kernels::Tensor> outputs(const State& state, const kernels::Inputs& inputs,
                                         const std::vector<std::uint32_t>& ops) override {
        return executor_.outputs(state, inputs, ops);
    }

private:
    kernels::Executor executor_;
    kernels::ThreadPool& pool_;
    State state_, committed_;
    kernels::Inputs inputs_;
    std::vector<Hash32> begun_;
};

std::vector<std::uint64_t> all_numbers(const Replayer& replay) {
    std::vector<std::uint64_t> out(replay.last_step() + 1);
    std::iota(out.begin(), out.end(), 0);
    return out;
}

class SegmentPreemption : public ::testing::Test {
protected:
    SegmentPreemption() { play_eventful(world); }
    std::unique_ptr<solver::PlanRunner> interrupted(Interruptions& of) {
        return world.runner([&](const kernels::Program& program, kernels::Inputs inputs) {
            return std::make_unique<InterruptedRunner>(program, std::move(inputs), world.pool, of);
        });
    }
    std::vector<Hash32> right_roots(const PlayedSegment& segment) {
        const auto runner = world.runner();
        Replayer replay = world.replay(segment, *runner);
        return replay.roots_at(0, all_numbers(replay));
    }
    GroupWorld world{kernels::UpdateKind::dense, 3};
    solver::Preemption preemption{std::chrono::milliseconds(0)};
};

TEST_F(SegmentPreemption, AReplayGoesOnAtThePositionThatItReached) {
    for (const PlayedSegment& segment : world.segments) {
        for (const std::uint64_t every : {1U, 2U, 3U}) {
            Interruptions of{preemption};
            of.every = every;
            const auto runner = interrupted(of);
            Replayer replay = world.replay(segment, *runner);
            replay.set_preemption(&of.preemption);
            const std::vector<std::uint64_t> all = all_numbers(replay);
            std::optional<std::vector<Hash32>> roots;
            while (!roots) {
                ASSERT_LT(of.steps, 100U);
                of.preemption.clear();
                try {
                    roots = replay.roots_at(0, all);
                } catch (const ReplayPreempted&) {
                }
            }
            EXPECT_EQ(*roots, right_roots(segment)) << "run " << segment.run << ", segment " << segment.index;
            EXPECT_EQ(of.steps, replay.last_step()) << "no position was run twice";
        }
    }
}

TEST_F(SegmentPreemption, APositionThatIsLeftHalfDoneIsRunAgain) {
    for (const PlayedSegment& segment : world.segments) {
        Interruptions of{preemption};
        of.every = 2;
        of.abrupt = true;
        const auto runner = interrupted(of);
        Replayer replay = world.replay(segment, *runner);
        replay.set_preemption(&of.preemption);
        std::optional<Hash32> root;
        while (!root && of.every < 40) {
            of.preemption.clear();
            of.steps = 0;
            try {
                root = replay.end_root();
            } catch (const ReplayPreempted&) {
                of.every += 2;  // Each attempt has more time, as nothing is left of the one before.
            }
        }
        EXPECT_EQ(root, segment.end_root);
        EXPECT_EQ(of.half_done, replay.last_step() / 2);
    }
}

TEST_F(SegmentPreemption, ADeviceKeepsTheStateOfInnerSteps) {
    const auto runner = world.runner([&](const kernels::Program& program, kernels::Inputs inputs) {
        return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), world.pool,
                                                       std::make_unique<FarDevice>(program, world.pool));
    });
    for (const PlayedSegment& segment : world.segments) {
        Replayer replay = world.replay(segment, *runner);
        EXPECT_EQ(replay.roots_at(0, all_numbers(replay)), right_roots(segment));
        EXPECT_EQ(replay.end_state(), segment.end);
        for (std::uint64_t p = 0; p < replay.last_step(); ++p) {
            Replayer other = world.replay(segment, *runner);
            EXPECT_EQ(other.output_of(p).root, replay.root_at(p + 1)) << "position " << p;
        }
    }
}

/// Replays of an auditor, which are suspended and saved when another segment of the task goes first.
TEST_F(SegmentPreemption, SuspendedReplaysOfOneTaskAreSavedAndResumed) {
    TemporaryDirectory directory;
    const auto store = solver::CheckpointStore::open(directory.path).value();
    MemorySource nothing;
    solver::TaskCache cache(nothing, world.pool);
    AgentContext context({}, cache, *store);
    SegmentReplays replays(context);
    Interruptions of{context.slot.preemption()};
    of.every = 2;
    const auto make = [&](const kernels::Program& program, kernels::Inputs inputs) {
        return std::make_unique<InterruptedRunner>(program, std::move(inputs), world.pool, of);
    };
    const auto runner = world.runner(make);
    const auto inputs_of = [&](const PlayedSegment& segment) {
        const kernels::SegmentPositions positions = world.positions(segment);
        ReplayInputs out;
        out.steps = steps_of(world.setup(*runner, segment.run), segment.view, positions, world.messages(segment));
        out.last = positions.count();
        out.fetch_start = [&segment](const Hash32&) { return Result<State, solver::Unavailable>(segment.start); };
        return out;
    };
    std::vector<const PlayedSegment*> open;
    for (const PlayedSegment& segment : world.segments) open.push_back(&segment);
    std::uint64_t turns = 0, wanted = 0;
    for (const PlayedSegment* segment : open) wanted += world.positions(*segment).count();
    while (!open.empty()) {
        ASSERT_LT(++turns, 1000U);
        // Each segment in turn, for two positions at most: every replay finds another one of its task suspended.
        const PlayedSegment* segment = open.front();
        open.erase(open.begin());
        const ReplayInputs inputs = inputs_of(*segment);
        auto begun = replays.begin(inputs, {5, segment->run, segment->index}, segment->start_root);
        ASSERT_TRUE(begun.has_value());
        context.slot.preemption().clear();
        if (replays.run(inputs, *begun)) {
            EXPECT_EQ(begun->state, segment->end) << "run " << segment->run << ", segment " << segment->index;
        } else {
            open.push_back(segment);
        }
    }
    EXPECT_EQ(of.steps, wanted) << "no position was run twice";
    EXPECT_GT(turns, world.segments.size());
}

}  // namespace
}  // namespace retrace::test
