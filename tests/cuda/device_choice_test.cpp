// SPDX-License-Identifier: MIT
// A solver that computes on a device, here the emulated one: its error messages if it cannot, and identical steps if it
// can.
#include <gmock/gmock.h>

#include "kernels/commit/commitment.hpp"
#include "solver/agent/work.hpp"
#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"

namespace retrace::solver {
namespace {

using ::testing::HasSubstr;
namespace emulation = ::retrace::emulation;
namespace golden = kernels::golden;

class DeviceOfSolver : public ::testing::Test {
protected:
    DeviceOfSolver() { emulation::settings = {}, emulation::device = {}; }
    ~DeviceOfSolver() override { emulation::device = {}; }

    const golden::Recipe recipe = golden::recipes()["mlp"];
    const kernels::TrainingPrograms programs = golden::programs(recipe);
    kernels::ThreadPool pool{1};
    std::pair<kernels::Tensor, kernels::Tensor> data = golden::data(recipe.model);
    const kernels::Inputs inputs{golden::kSeed, {&data.first, &data.second}};
};

// Disputes do not use the device: its memory may be full, or it may be the cause of the failure.
TEST_F(DeviceOfSolver, DisputesArePlayedOnTheHostEvenWhenTheDeviceIsFullOrFails) {
    auto device = open_device(DeviceChoice::cuda, programs.train);
    ASSERT_TRUE(device && *device != nullptr);
    ProgramRunner there(programs.train, inputs, pool, std::move(*device));
    ProgramRunner here(programs.train, inputs, pool);
    kernels::State state = kernels::run_initialiser(programs.init, golden::kSeed, pool);
    there.step(state);
    const std::uint64_t taken = emulation::device.taken, in = emulation::device.copied_in;
    const std::uint64_t turns = emulation::device.turns;
    emulation::device.memory = taken;
    emulation::device.failing = true;
    EXPECT_EQ(there.trace(state), here.trace(state));
    EXPECT_EQ(there.outputs(state, {0, 3}), here.outputs(state, {0, 3}));
    EXPECT_EQ(emulation::device.taken, taken);
    EXPECT_EQ(emulation::device.copied_in, in);
    EXPECT_EQ(emulation::device.turns, turns);
}

TEST_F(DeviceOfSolver, WhatTrainingTakesThereIsKnownWithoutADevice) {
    emulation::device.present = false;
    const auto bytes = device_bytes(programs.train);
    emulation::device.present = true;
    emulation::device.says_memory = false;  // otherwise it may take more to be faster
    const auto device = open_device(DeviceChoice::cuda, programs.train);
    ASSERT_TRUE(device);
    EXPECT_EQ(bytes, emulation::device.taken);
}

TEST_F(DeviceOfSolver, AnOrderWhoseDeviceFailsIsGivenUpWithTheReason) {
    struct Done {
        std::string problem;
        bool preempted = false;
    };
    auto device = open_device(DeviceChoice::cuda, programs.train);
    ASSERT_TRUE(device && *device != nullptr);
    ProgramRunner runner(programs.train, inputs, pool, std::move(*device));
    const auto order = make_order<Done>("a step", Done{}, [&] {
        kernels::State state = kernels::run_initialiser(programs.init, golden::kSeed, pool);
        runner.step(state);
        return Done{"none"};
    });
    EXPECT_EQ(order.run().problem, "none");
    emulation::device.failing = true;
    EXPECT_THAT(order.run().problem, HasSubstr("given up: CUDA: "));
}

TEST_F(DeviceOfSolver, StepsAreThoseOfTheCpu) {
    auto device = open_device(DeviceChoice::cuda, programs.train);
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_NE(*device, nullptr);
    ProgramRunner there(programs.train, inputs, pool, std::move(*device));
    ProgramRunner here(programs.train, inputs, pool);
    kernels::State a = kernels::run_initialiser(programs.init, golden::kSeed, pool), b = a;
    for (int step = 0; step < 2; ++step) {
        there.step(a);
        here.step(b);
        ASSERT_EQ(a, b);
    }
}

TEST_F(DeviceOfSolver, WithoutADeviceCudaIsRefusedAndAutoIsTheCpu) {
    emulation::device.present = false;
    EXPECT_THAT(check_device(DeviceChoice::cuda).error().message, HasSubstr("no CUDA device"));
    EXPECT_TRUE(check_device(DeviceChoice::automatic));
    EXPECT_FALSE(open_device(DeviceChoice::cuda, programs.train));
    const auto chosen = open_device(DeviceChoice::automatic, programs.train);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(*chosen, nullptr);
}

TEST_F(DeviceOfSolver, TooSmallADeviceIsRefusedWithItsBytesAndAutoIsTheCpu) {
    emulation::device.memory = 1000;
    EXPECT_THAT(open_device(DeviceChoice::cuda, programs.train).error().message, HasSubstr("bytes of device memory"));
    EXPECT_EQ(*open_device(DeviceChoice::automatic, programs.train), nullptr);
    EXPECT_EQ(*open_device(DeviceChoice::cpu, programs.train), nullptr);
}

}  // namespace
}  // namespace retrace::solver
