// SPDX-License-Identifier: MIT
// Steps of the published trainings on the emulated device: memory plan, fused runs, recorded graph, metrics,
// roots.
#include <gmock/gmock.h>

#include "kernels/commit/commitment.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
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

TEST_P(DeviceTraining, steps_metrics_and_roots_are_those_of_the_cpu) {
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
            EXPECT_EQ(to_bits((*found)[i].value), to_bits(expected[i].value))
                << expected[i].name << ", step " << step;
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

TEST_P(DeviceTraining, trace_is_that_of_the_cpu_and_leaves_the_state_alone) {
    Executor cpu(programs.train, pool);
    auto backend = make_backend(programs.train);
    ASSERT_TRUE(backend) << backend.error().message;
    Executor device(programs.train, pool, std::move(*backend));
    EXPECT_GT(device.planned_bytes(), 0u);
    const State before = state;
    EXPECT_EQ(device.trace(state, inputs), cpu.trace(state, inputs));
    EXPECT_EQ(state, before);
    const auto last = static_cast<std::uint32_t>(programs.train.ops.size() - 1);
    EXPECT_EQ(device.outputs(state, inputs, {3, last / 2, last}),
              cpu.outputs(state, inputs, {3, last / 2, last}));
    EXPECT_EQ(device.step(state, inputs).size(), 1u);
    State expected = before;
    cpu.step(expected, inputs);
    EXPECT_EQ(state, expected);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTraining,
                         ::testing::Values("mlp", "cnn", "gpt", "gpt_lora", "llama", "vit"),
                         [](const auto& info) { return info.param; });

TEST(DevicePrograms, random_programs_give_the_bits_of_the_reference) {
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

class DeviceLimits : public ::testing::Test {
protected:
    DeviceLimits() { emulation::settings = {}, emulation::device = {}; }
    ~DeviceLimits() override { emulation::device = {}; }
    const TrainingPrograms programs = golden::programs(golden::recipes()["mlp"]);
};

TEST_F(DeviceLimits, no_device_is_an_error_by_name) {
    emulation::device.present = false;
    const auto made = make_backend(programs.train);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("no CUDA device"));
}

TEST_F(DeviceLimits, too_little_memory_names_the_bytes_asked_for_and_takes_none) {
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
    EXPECT_THAT(made.error().message,
                HasSubstr(std::to_string(needed) + " bytes of device memory asked for"));
    EXPECT_EQ(emulation::device.taken, 0u);
}

TEST_F(DeviceLimits, another_seed_is_another_training) {
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
