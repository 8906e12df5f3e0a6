// SPDX-License-Identifier: MIT
// A training whose state stays on the device, here the emulated one: it gives the roots of the CPU, and the transfers
// between host and device are counted.
#include <gmock/gmock.h>

#include <map>

#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/trainer.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"

namespace retrace::solver {
namespace {

namespace emulation = ::retrace::emulation;
namespace golden = kernels::golden;

class Resident : public ::testing::Test {
protected:
    Resident() { emulation::settings = {}, emulation::device = {}; }
    ~Resident() override { emulation::device = {}; }

    std::unique_ptr<ProgramRunner> on_device() {
        auto device = open_device(DeviceChoice::cuda, programs.train);
        EXPECT_TRUE(device && *device != nullptr);
        return std::make_unique<ProgramRunner>(programs.train, inputs, pool, std::move(*device));
    }
    std::map<std::uint64_t, Hash32> roots_of(StepRunner& runner, kernels::State& state) {
        std::map<std::uint64_t, Hash32> roots;
        const auto keep = [&](std::uint64_t index, const kernels::StateCommitment& commitment,
                              const kernels::State& at) -> Status<> {
            EXPECT_EQ(kernels::commit_state(committed.root(), at, pool).root, commitment.root) << index;
            roots[index] = commitment.root;
            return Unit{};
        };
        Trainer trainer(committed, runner, {5, 2}, pool);
        EXPECT_TRUE(*trainer.run(state, 3, {}, keep));
        return roots;
    }

    const golden::Recipe recipe = golden::recipes()["mlp"];
    const kernels::TrainingPrograms programs = golden::programs(recipe);
    const kernels::CommittedProgram committed{programs.train};
    kernels::ThreadPool pool{1};
    std::pair<kernels::Tensor, kernels::Tensor> data = golden::data(recipe.model);
    const kernels::Inputs inputs{golden::kSeed, {&data.first, &data.second}};
    const kernels::State start = kernels::run_initialiser(programs.init, golden::kSeed, pool);
};

TEST_F(Resident, CheckpointsAndTheStateAreThoseOfTheCpu) {
    ProgramRunner here(programs.train, inputs, pool);
    kernels::State expected = start, found = start;
    const auto roots = roots_of(here, expected);
    const auto there = on_device();
    EXPECT_EQ(roots_of(*there, found), roots);
    EXPECT_EQ(roots.size(), 3u);
    EXPECT_EQ(found, expected);
}

TEST_F(Resident, AStepBringsNothingInAndOnlyMetricsOut) {
    kernels::State state = start;
    const auto runner = on_device();
    const auto training = runner->train(committed, state, pool);
    auto& device = emulation::device;
    device.copied_in = device.copied_out = 0;
    for (int step = 1; step <= 4; ++step) {
        const std::size_t metrics = training->advance().size();
        EXPECT_EQ(device.copied_in, 0u);
        EXPECT_EQ(device.copied_out, 4 * metrics * static_cast<unsigned>(step));
    }
    EXPECT_EQ(state, start) << "the state came to the host unasked";
    const std::uint64_t before = device.copied_out;
    training->commit();
    EXPECT_LE(device.copied_out - before, 32 * start.tensors.size());
    EXPECT_EQ(training->state().step, 4u);
    EXPECT_GT(device.copied_out - before, state.tensors.front().data.size());
}

TEST_F(Resident, ACommitmentIsOfTheStateItBeganWithAndOnlyDigestsComeOut) {
    ProgramRunner here(programs.train, inputs, pool);
    kernels::State expected = start, state = start;
    const auto runner = on_device();
    const auto training = runner->train(committed, state, pool);
    auto& device = emulation::device;
    for (int round = 0; round < 3; ++round) {
        training->advance();
        here.step(expected);
        training->begin_commitment();
        const kernels::StateCommitment root = kernels::commit_state(committed.root(), expected, pool);
        const kernels::State then = expected;
        training->advance();
        here.step(expected);
        const std::uint64_t in = device.copied_in, out = device.copied_out;
        EXPECT_EQ(training->finish_commitment().root, root.root) << "round " << round;
        EXPECT_EQ(device.copied_in, in);
        EXPECT_LE(device.copied_out - out, 32 * start.tensors.size());
        EXPECT_EQ(training->committed(), then);
        EXPECT_EQ(training->commit().root, kernels::commit_state(committed.root(), expected, pool).root);
    }
}

/// At whatever point the device fails, the training order ends, the process survives, disputes are answered, and the
/// next order computes on the host.
TEST_F(Resident, ADeviceThatFailsIsLeftAndTheHostGoesOn) {
    ProgramRunner here(programs.train, inputs, pool);
    kernels::State expected = start;
    const auto roots = roots_of(here, expected);
    for (const std::uint64_t fails_after : {0, 1, 2, 3}) {  // the third step begins with a commitment in progress
        SCOPED_TRACE(fails_after);
        const auto runner = on_device();
        kernels::State state = start;
        Trainer trainer(committed, *runner, {5, 2}, pool);
        emulation::device.failing = fails_after == 0;
        const auto fail = [&](const Progress& done) {
            emulation::device.failing = done.step == fails_after;
            return true;
        };
        const auto keep = [](std::uint64_t, const kernels::StateCommitment&, const kernels::State&) -> Status<> {
            return Unit{};
        };
        EXPECT_THROW((void)trainer.run(state, 3, fail, keep), std::runtime_error);
        EXPECT_EQ(runner->trace(start), here.trace(start));
        kernels::State again = start;
        EXPECT_EQ(roots_of(*runner, again), roots);
        EXPECT_EQ(again, expected);
        emulation::device.failing = false;
    }
}

TEST_F(Resident, ATrainingThatIsLeftAloneFreesTheDeviceForTheNext) {
    const auto runner = on_device();
    kernels::State state = start;
    {
        const auto training = runner->train(committed, state, pool);
        training->advance();
        training->begin_commitment();
    }
    ProgramRunner here(programs.train, inputs, pool);
    EXPECT_EQ(runner->trace(start), here.trace(start));
    kernels::State again = start, expected = start;
    EXPECT_EQ(roots_of(*runner, again), roots_of(here, expected));
}

}  // namespace
}  // namespace retrace::solver
