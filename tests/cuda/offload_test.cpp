// SPDX-License-Identifier: MIT
// Steps on a device, here the emulated one, with less memory than their state takes.
#include <gmock/gmock.h>

#include <algorithm>

#include "kernels/builder/training.hpp"
#include "kernels/commit/commitment.hpp"
#include "kernels/cuda/device_program.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/cuda/offloaded.hpp"
#include "kernels/exec/offload_plan.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels::cuda {
namespace {

using ::testing::HasSubstr;
namespace emulation = ::retrace::emulation;

class Offload : public ::testing::Test {
protected:
    Offload() { emulation::settings = {}, emulation::device = {}; }
    ~Offload() override { emulation::device = {}; }

    ThreadPool pool{1};

    /// Compares two steps with those of the CPU, and the commitment before each.
    void expect_the_same(const Program& program, const State& start, const Inputs& inputs, std::uint64_t memory) {
        OffloadedBytes bytes;
        const auto there = make_offloaded_backend(program, {memory}, &bytes);
        ASSERT_TRUE(there) << there.error().message;
        ASSERT_LE(bytes.device, memory);
        ASSERT_LE(emulation::device.taken, memory);
        Executor here(program, pool);
        State state = start, found;
        (*there)->load(start, inputs);
        for (int step = 0; step < 2; ++step) {
            (*there)->begin_roots();
            const auto before = commit_state({}, state, pool).tensor_roots;
            const auto metrics = (*there)->advance(), expected = here.step(state, inputs);
            ASSERT_EQ(metrics.size(), expected.size());
            for (std::size_t i = 0; i < metrics.size(); ++i)
                ASSERT_EQ(to_bits(metrics[i].value), to_bits(expected[i].value));
            (*there)->store(found);
            ASSERT_EQ(found, state);
            ASSERT_EQ((*there)->finish_roots(), before);
            ASSERT_EQ((*there)->roots(), commit_state({}, state, pool).tensor_roots);
        }
    }
};

TEST_F(Offload, PublishedTrainingsInTheLeastMemory) {
    for (const char* const name : {"mlp", "cnn", "gpt", "llama"}) {
        SCOPED_TRACE(name);
        const golden::Recipe recipe = golden::recipes()[name];
        const TrainingPrograms programs = golden::programs(recipe);
        const auto [x, y] = golden::data(recipe.model);
        const State start = run_initialiser(programs.init, golden::kSeed, pool);
        const std::uint64_t least = least_offloaded_bytes(programs.train);
        ASSERT_NO_FATAL_FAILURE(expect_the_same(programs.train, start, {golden::kSeed, {&x, &y}}, least));
        ASSERT_NO_FATAL_FAILURE(
            expect_the_same(programs.train, start, {golden::kSeed, {&x, &y}}, device_bytes(programs.train)));
    }
}

TEST_F(Offload, RandomProgramsInTheLeastMemory) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        const Program program = testing::random_program(seed);
        const State start = testing::random_state(program, seed);
        ASSERT_NO_FATAL_FAILURE(expect_the_same(program, start, {}, least_offloaded_bytes(program)));
    }
}

TEST_F(Offload, TooLittleMemoryIsRefusedWithTheLeast) {
    const Program program = testing::random_program(1);
    const std::uint64_t least = least_offloaded_bytes(program);
    const auto refused = make_offloaded_backend(program, {least - 1});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("needs " + std::to_string(least) + " at least (memory)"));
    emulation::device.present = false;
    EXPECT_THAT(make_offloaded_backend(program, {least}).error().message, HasSubstr("no CUDA device"));
}

TEST_F(Offload, TooLittleMemoryOfTheHostIsRefusedBeforeItIsTaken) {
    const golden::Recipe recipe = golden::recipes()["mlp"];
    const Program program = golden::programs(recipe).train;
    const std::uint64_t least = least_offloaded_bytes(program);
    OffloadedBytes bytes;
    ASSERT_TRUE(make_offloaded_backend(program, {least}, &bytes));
    std::uint64_t state = 0;
    for (std::uint32_t s = 0; s < program.states; ++s)
        state += geometry(program.tensors[s].dims).elements() * size_of(program.tensors[s].dtype);
    EXPECT_GE(bytes.host, 3 * state);
    EXPECT_TRUE(make_offloaded_backend(program, {least, bytes.host}));
    const auto refused = make_offloaded_backend(program, {least, bytes.host - 1});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("needs " + std::to_string(bytes.host) + " at least (memory)"));
    EXPECT_EQ(emulation::device.taken, 0u);
}

TEST_F(Offload, AFailureOfTheDeviceIsThrown) {
    const Program program = testing::random_program(1);
    const auto there = *make_offloaded_backend(program, {least_offloaded_bytes(program)});
    there->load(testing::random_state(program, 1), {});
    emulation::device.failing = true;
    EXPECT_THROW(there->advance(), std::runtime_error);
}

/// Seconds of a step whose transfers go at `bytes_per_s`, and each of whose units takes its `unit_s`; copies take none.
double modelled_seconds(const OffloadPlan& plan, const std::vector<double>& unit_s, double bytes_per_s) {
    std::vector<double> unit_end(plan.units.size());
    double units = 0, transfers = 0;
    std::size_t next = 0;
    const auto run_transfers = [&](std::size_t end) {
        for (; next < end; ++next) {
            const Transfer& transfer = plan.transfers[next];
            const double may_begin = transfer.after == 0 ? 0 : unit_end[transfer.after - 1];
            transfers =
                std::max(transfers, may_begin) + static_cast<double>(plan.blocks[transfer.block].bytes) / bytes_per_s;
        }
    };
    for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
        run_transfers(plan.needed[unit]);
        if (plan.needed[unit] == next) units = std::max(units, transfers);  // otherwise an earlier unit waited for it
        units += unit < unit_s.size() ? unit_s[unit] : 0;
        unit_end[unit] = units;
    }
    run_transfers(plan.transfers.size());
    return std::max(units, transfers);
}

/// A GPT whose state is four times the device memory, by a model of the device: every unit takes the time of its
/// arithmetic, every transfer that of its bytes. No device was measured.
TEST_F(Offload, AStateOfFourTimesTheMemoryGoesAtHalfTheSpeedOfItsTransfersAtLeast) {
    const ModelSpec model{"gpt", {}, {256}, 256, 512, 8, 8, 4};
    TrainingSpec training;
    training.samples = 64;
    training.batch = 1;
    const Program program = for_device(build_training(model, training, 64, 1)->train);
    const MemoryPlan plan = plan_for_device(program);
    std::uint64_t state = 0;
    for (std::uint32_t s = 0; s < program.states; ++s)
        state += geometry(program.tensors[s].dims).elements() * size_of(program.tensors[s].dtype);
    const auto offload = plan_offload(program, plan, {state / 4, 256});
    ASSERT_TRUE(offload) << offload.error().message;
    const double bytes = static_cast<double>(offload->bytes(true) + offload->bytes(false));
    RecordProperty("moved_per_state", std::to_string(bytes / static_cast<double>(state)));
    std::vector<double> operations;
    double all = 0;
    for (const PlanUnit& unit : plan.units) {
        double sum = 0;
        for (std::uint32_t op = unit.first; op < unit.end(); ++op)
            sum += static_cast<double>(find_rule(program.ops[op].code)->cost(facts_of(program, op)));
        operations.push_back(sum);
        all += sum;
    }
    // Transfers that take a tenth of the arithmetic's time, as long as it, and ten times as long.
    for (const double balance : {0.1, 0.5, 1.0, 2.0, 10.0}) {
        const double bytes_per_s = bytes / (balance * all);
        const double step = modelled_seconds(*offload, operations, bytes_per_s);
        const double limit = std::max(all, bytes / bytes_per_s);
        RecordProperty("at_" + std::to_string(balance), std::to_string(limit / step));
        EXPECT_GE(limit / step, 0.5) << "transfers take " << balance << " of the arithmetic's time";
    }
}

}  // namespace
}  // namespace retrace::kernels::cuda
