// SPDX-License-Identifier: MIT
// If a device fails, the host continues with the same bits, and its memory was included from the beginning.
#include "solver/run/step_runner.hpp"
#include "tests/unit/solver/broken_device.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::solver {
namespace {

TEST(DeviceRunner, TheHostGoesOnWithTheSameBits) {
    test::TinyTask task;
    ProgramRunner host(task.train.program(), task.inputs(), task.pool);
    ProgramRunner runner(task.train.program(), task.inputs(), task.pool, std::make_unique<test::BrokenDevice>());
    kernels::State expected = task.initial(), state = task.initial();
    EXPECT_TRUE(runner.on_device());
    EXPECT_THROW(runner.step(state), std::runtime_error);
    EXPECT_FALSE(runner.on_device());
    host.step(expected);
    runner.step(state);
    EXPECT_EQ(state.tensors, expected.tensors);
}

TEST(DeviceRunner, TheHostsStepIsCountedFromTheBeginning) {
    test::TinyTask task;
    const ProgramRunner host(task.train.program(), task.inputs(), task.pool);
    ProgramRunner runner(task.train.program(), task.inputs(), task.pool, std::make_unique<test::BrokenDevice>());
    EXPECT_EQ(runner.planned_bytes(), host.planned_bytes());
    kernels::State state = task.initial();
    EXPECT_THROW(runner.step(state), std::runtime_error);
    EXPECT_EQ(runner.planned_bytes(), host.planned_bytes());
}

}  // namespace
}  // namespace retrace::solver
