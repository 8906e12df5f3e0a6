// SPDX-License-Identifier: MIT
// A training on a device with little memory, here the emulated one: its checkpoints are those of the CPU.
#include <gmock/gmock.h>

#include <map>

#include "solver/run/offloaded_device.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/trainer.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"

namespace retrace::solver {
namespace {

namespace emulation = ::retrace::emulation;
namespace golden = kernels::golden;

std::map<std::uint64_t, Hash32> roots_of(const kernels::CommittedProgram& program, StepRunner& runner,
                                         kernels::State& state, kernels::ThreadPool& pool) {
    std::map<std::uint64_t, Hash32> roots;
    Trainer trainer(program, runner, {5, 2}, pool);
    const auto keep = [&](std::uint64_t index, const kernels::StateCommitment& commitment,
                          const kernels::State& at) -> Status<> {
        EXPECT_EQ(kernels::commit_state(program.root(), at, pool).root, commitment.root) << index;
        roots[index] = commitment.root;
        return Unit{};
    };
    EXPECT_TRUE(*trainer.run(state, 3, {}, keep));
    return roots;
}

TEST(OffloadedTraining, CheckpointsAndTheStateAreThoseOfTheCpu) {
    emulation::settings = {}, emulation::device = {};
    const golden::Recipe recipe = golden::recipes()["mlp"];
    const kernels::TrainingPrograms programs = golden::programs(recipe);
    const kernels::CommittedProgram committed(programs.train);
    kernels::ThreadPool pool(1);
    const auto [x, y] = golden::data(recipe.model);
    const kernels::Inputs inputs{golden::kSeed, {&x, &y}};
    kernels::State expected = kernels::run_initialiser(programs.init, golden::kSeed, pool), found = expected;
    ProgramRunner here(programs.train, inputs, pool);
    const auto roots = roots_of(committed, here, expected, pool);
    emulation::device.memory = 1 << 20;
    auto device = open_offloaded_device(programs.train, 0, UINT64_MAX);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_LE(emulation::device.taken, emulation::device.memory / 4 * 3);
    ProgramRunner there(programs.train, inputs, pool, std::move(*device));
    EXPECT_EQ(roots_of(committed, there, found, pool), roots);
    EXPECT_EQ(found, expected);
    emulation::device.present = false;
    EXPECT_FALSE(open_offloaded_device(programs.train, 0, UINT64_MAX));
    emulation::device = {};
}

}  // namespace
}  // namespace retrace::solver
