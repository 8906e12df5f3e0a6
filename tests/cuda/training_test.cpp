// SPDX-License-Identifier: MIT
// Steps of the published trainings on the emulated device: memory plan, fused runs, recorded graph, metrics, roots.
#include <gmock/gmock.h>

#include "kernels/commit/commitment.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/ops/opcode.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/op_cases.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels::cuda {
namespace {

using ::testing::HasSubstr;

class DeviceTraining : public ::testing::TestWithParam<std::string> {
protected:
    DeviceTraining() { emulation::settings = {}, emulation::device = {}; }

    const golden::Recipe recipe = golden::recipes()[GetParam()];
    const TrainingPrograms programs = golden::programs(recipe);
    ThreadPool pool{1};
    std::pair<Tensor, Tensor> data = golden::data(recipe.model);
    const Inputs inputs{golden::kSeed, {&data.first, &data.second}};
    State state = run_initialiser(programs.init, golden::kSeed, pool);
};

TEST_P(DeviceTraining, StepsMetricsAndRootsAreThoseOfTheCpu) {
    Executor cpu(programs.train, pool);
    const auto device = DeviceExecutor::create(programs.train);
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->load(state, inputs));
    for (int step = 0; step < 2; ++step) {
        const auto found = (*device)->step();
        ASSERT_TRUE(found) << found.error().message;
        const auto expected = cpu.step(state, inputs);
        ASSERT_EQ(found->size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ((*found)[i].name, expected[i].name);
            EXPECT_EQ(to_bits((*found)[i].value), to_bits(expected[i].value)) << expected[i].name << ", step " << step;
        }
    }
    State stored{0, state.tensors};
    for (Tensor& tensor : stored.tensors) std::fill(tensor.data.begin(), tensor.data.end(), std::uint8_t{0});
    ASSERT_TRUE((*device)->store(stored));
    EXPECT_EQ(stored, state);
    const auto roots = (*device)->state_roots();
    ASSERT_TRUE(roots) << roots.error().message;
    EXPECT_EQ(*roots, commit_state({}, state, pool).tensor_roots);
}

// Calls the back end itself, because an Executor computes traces and outputs on the host.
TEST_P(DeviceTraining, TraceIsThatOfTheCpuAndLeavesTheStateAlone) {
    Executor cpu(programs.train, pool);
    auto device = make_backend(programs.train);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_GT((*device)->planned_bytes(), 0u);
    const State before = state;
    const std::uint64_t turns = emulation::device.turns;
    EXPECT_EQ((*device)->trace(state, inputs), cpu.trace(state, inputs));
    EXPECT_GT(emulation::device.turns, turns);
    EXPECT_EQ(state, before);
    const auto last = static_cast<std::uint32_t>(programs.train.ops.size() - 1);
    EXPECT_EQ((*device)->outputs(state, inputs, {3, last / 2, last}), cpu.outputs(state, inputs, {3, last / 2, last}));
    State stored = state;
    (*device)->store(stored);
    EXPECT_EQ(stored, before);
    Executor on_device(programs.train, pool, std::move(*device));
    EXPECT_EQ(on_device.step(state, inputs).size(), 1u);
    State expected = before;
    cpu.step(expected, inputs);
    EXPECT_EQ(state, expected);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTraining, ::testing::ValuesIn(golden::names()),
                         [](const auto& info) { return info.param; });

TEST(DevicePrograms, RandomProgramsGiveTheBitsOfTheReference) {
    emulation::settings = {}, emulation::device = {};
    ThreadPool pool(1);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Program program = testing::random_program(seed);
        const auto device = DeviceExecutor::create(program);
        ASSERT_TRUE(device) << device.error().message;
        Executor reference(program, pool, Backend::reference);
        State expected = testing::random_state(program, seed), found = expected;
        ASSERT_TRUE((*device)->load(found, {}));
        for (int step = 0; step < 2; ++step) {
            const auto metrics = (*device)->step();
            ASSERT_TRUE(metrics) << metrics.error().message;
            EXPECT_EQ(to_bits(metrics->front().value), to_bits(reference.step(expected, {})[0].value));
        }
        ASSERT_TRUE((*device)->store(found));
        ASSERT_EQ(found, expected);
    }
}

/// A metric, then an op whose output the plan places in the metric's memory.
TEST(DevicePrograms, AMetricIsTakenWhenItsUnitHasRun) {
    emulation::settings = {}, emulation::device = {};
    Program program;
    program.states = 3;
    program.tensors = {{TensorKind::state, DType::f32, {}, kNoWriter, {}},
                       {TensorKind::state, DType::f32, {1, 4}, kNoWriter, {}},
                       {TensorKind::state, DType::f32, {1, 1}, 2, {}},
                       {TensorKind::op_output, DType::f32, {}, kNoWriter, "loss"},
                       {TensorKind::op_output, DType::f32, {1, 1}, kNoWriter, {}},
                       {TensorKind::op_output, DType::f32, {1, 1}, kNoWriter, {}}};
    program.ops = {{OpCode::neg, {0}, {}, {}}, {OpCode::row_sum, {1}, {}, {}}, {OpCode::neg, {4}, {}, {}}};
    MemoryPlan plan = plan_memory(for_device(program), {false, false, Fusion::none});
    ASSERT_EQ(plan.units.size(), 3u);
    ASSERT_EQ(plan.places[0].where, BufferLocation::Where::arena);
    plan.places[1] = plan.places[0];
    State state{0, {zeros(DType::f32, {}), zeros(DType::f32, {1, 4}), zeros(DType::f32, {1, 1})}};
    state.tensors[0].f32()[0] = 3.0f;
    state.tensors[1].f32()[2] = 5.0f;
    const auto device = DeviceExecutor::create(program, plan);
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->load(state, {}));
    for (int step = 0; step < 2; ++step) {  // the second step replays a recording
        const auto metrics = (*device)->step();
        ASSERT_TRUE(metrics);
        ASSERT_EQ(metrics->size(), 1u);
        EXPECT_EQ(metrics->front().value, -3.0f);
    }
    ASSERT_TRUE((*device)->store(state));
    EXPECT_EQ(state.tensors[2].f32()[0], -5.0f);
}

/// The device runs attention in chunks; a trace runs it as given, with products that need a larger workspace.
TEST(DevicePrograms, ATraceOfLargerProductsThanThoseOfAStepHasAWorkspaceOfItsOwn) {
    emulation::settings = {}, emulation::device = {};
    ThreadPool pool(1);
    const Program program = testing::attention_program(8, 260, 4, true);
    const State state = testing::random_state(program, testing::Data::bell, 3);
    const auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->load(state, {}));
    const std::vector<Hash32> roots = commit_state({}, state, pool).tensor_roots;
    for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE((*device)->begin_commitment());
        const auto found = (*device)->finish_commitment();
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(*found, roots);
        const auto traced = (*device)->trace();
        ASSERT_TRUE(traced) << traced.error().message;
        EXPECT_EQ(*traced, Executor(program, pool).trace(state, {}));
    }
}

class DeviceLimits : public ::testing::Test {
protected:
    DeviceLimits() { emulation::settings = {}, emulation::device = {}; }
    ~DeviceLimits() override { emulation::device = {}; }
    const TrainingPrograms programs = golden::programs(golden::recipes()["mlp"]);
};

TEST_F(DeviceLimits, NoDeviceIsAnErrorByName) {
    emulation::device.present = false;
    const auto made = make_backend(programs.train);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("no CUDA device"));
}

TEST_F(DeviceLimits, TooLittleMemoryNamesTheBytesAskedForAndTakesNone) {
    std::uint64_t needed = 0;
    {
        const auto made = DeviceExecutor::create(programs.train);
        ASSERT_TRUE(made);
        needed = (*made)->device_bytes();
        EXPECT_GT(needed, (*made)->planned_bytes());
        EXPECT_EQ(emulation::device.taken, needed);
    }
    EXPECT_EQ(emulation::device.taken, 0u);
    emulation::device.memory = needed - 1;
    const auto made = DeviceExecutor::create(programs.train);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr(std::to_string(needed) + " bytes of device memory asked for"));
    EXPECT_EQ(emulation::device.taken, 0u);
}

TEST_F(DeviceLimits, WhatFailsOnTheDeviceIsThrownAndALaterLoadBeginsAnew) {
    ThreadPool pool(1);
    const auto [x, y] = golden::data(golden::recipes()["mlp"].model);
    const Inputs inputs{1, {&x, &y}};
    State state = run_initialiser(programs.init, 1, pool), expected = state;
    auto made = make_backend(programs.train);
    ASSERT_TRUE(made);
    ExternalBackend& device = **made;
    device.load(state, inputs);
    device.begin_roots();
    emulation::device.failing = true;
    State lost = state;
    for (int again = 0; again < 2; ++again) {
        EXPECT_THROW(device.advance(), std::runtime_error);
        EXPECT_THROW(device.load(state, inputs), std::runtime_error);
        EXPECT_THROW(device.store(lost), std::runtime_error);
        EXPECT_THROW(device.roots(), std::runtime_error);
        EXPECT_THROW(device.store_committed(lost), std::runtime_error);
        EXPECT_THROW(device.trace(state, inputs), std::runtime_error);
        EXPECT_THROW(device.outputs(state, inputs, {0}), std::runtime_error);
    }
    EXPECT_THROW(device.finish_roots(), std::runtime_error);
    EXPECT_THROW(device.begin_roots(), std::runtime_error);
    emulation::device.failing = false;
    device.load(state, inputs);
    device.advance();
    device.advance();
    device.store(state);
    for (int step = 0; step < 2; ++step) Executor(programs.train, pool).step(expected, inputs);
    EXPECT_EQ(state, expected);
}

TEST_F(DeviceLimits, AStateThatCameInPartIsOfNoStep) {
    ThreadPool pool(1);
    const auto [x, y] = golden::data(golden::recipes()["mlp"].model);
    const State start = run_initialiser(programs.init, 1, pool);
    const auto made = DeviceExecutor::create(programs.train);
    ASSERT_TRUE(made);
    DeviceExecutor& device = **made;
    ASSERT_TRUE(device.load(start, {1, {&x, &y}}));
    ASSERT_TRUE(device.step());
    ASSERT_TRUE(device.begin_commitment());
    ASSERT_TRUE(device.finish_commitment());
    for (const auto store : {&DeviceExecutor::store, &DeviceExecutor::store_committed}) {
        State state = start;
        emulation::device.works_for = 2;
        EXPECT_FALSE((device.*store)(state));
        EXPECT_NE(state.tensors, start.tensors) << "nothing came at all";
        EXPECT_EQ(state.step, kTornStep);
        emulation::device.failing = false;
        EXPECT_TRUE((device.*store)(state));
        EXPECT_EQ(state.step, 1u);
    }
}

TEST_F(DeviceLimits, AnotherSeedIsAnotherTraining) {
    ThreadPool pool(1);
    const auto [x, y] = golden::data(golden::recipes()["mlp"].model);
    const State start = run_initialiser(programs.init, 1, pool);
    const auto device = DeviceExecutor::create(programs.train);
    ASSERT_TRUE(device);
    for (const std::uint64_t seed : {1, 2}) {
        State expected = start, found = start;
        Executor(programs.train, pool).step(expected, {seed, {&x, &y}});
        ASSERT_TRUE((*device)->load(start, {seed, {&x, &y}}));
        ASSERT_TRUE((*device)->step());
        ASSERT_TRUE((*device)->store(found));
        EXPECT_EQ(found, expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace retrace::kernels::cuda
