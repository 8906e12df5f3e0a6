// SPDX-License-Identifier: MIT
#include "kernels/offload/offloaded_executor.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/unit/kernels/any_programs.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/offload/open_again.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;

std::filesystem::path folder() { return ::testing::TempDir(); }

std::vector<std::uint32_t> metric_bits(const std::vector<Metric>& metrics) {
    std::vector<std::uint32_t> out;
    for (const Metric& metric : metrics) out.push_back(to_bits(metric.value));
    return out;
}

std::vector<Hash32> roots_of(const State& state, ThreadPool& pool) {
    std::vector<Hash32> out;
    for (const Tensor& tensor : state.tensors) out.push_back(tensor_root(tensor, pool));
    return out;
}

/// Compares steps, commitments, traces and outputs in `memory` bytes with those of Executor.
void expect_the_same(const Program& program, const State& start, const Inputs& inputs, ThreadPool& pool,
                     std::uint64_t memory, int steps = 2) {
    const auto offloaded = OffloadedExecutor::create(program, pool, {folder(), memory, 0});
    ASSERT_TRUE(offloaded) << offloaded.error().message;
    OffloadedExecutor& there = **offloaded;
    ASSERT_LE(there.planned_bytes(), memory);
    Executor here(program, pool);
    State state = start, copy;
    there.load(start, inputs);
    ASSERT_EQ(there.roots(), roots_of(state, pool));
    for (int step = 0; step < steps; ++step) {
        there.begin_roots();
        const State before = state;
        ASSERT_EQ(metric_bits(there.advance()), metric_bits(here.step(state, inputs)));
        there.store(copy);
        ASSERT_EQ(copy, state);
        ASSERT_EQ(there.finish_roots(), roots_of(before, pool));  // as it was before the step
        there.store_committed(copy);
        ASSERT_EQ(copy, before);
        ASSERT_EQ(there.roots(), roots_of(state, pool));
    }
}

TEST(OffloadedExecutor, StepsOfPublishedTrainingsInAnyMemory) {
    ThreadPool one(1), three(3);
    for (const auto& [name, recipe] : golden::recipes()) {
        SCOPED_TRACE(name);
        const TrainingPrograms programs = golden::programs(recipe);
        const auto [x, y] = golden::data(recipe.model);
        const State start = run_initialiser(programs.init, golden::kSeed, one);
        for (ThreadPool* pool : {&one, &three}) {
            const OffloadMemory memory = OffloadedExecutor::memory_of(programs.train, *pool);
            ASSERT_NO_FATAL_FAILURE(
                expect_the_same(programs.train, start, {golden::kSeed, {&x, &y}}, *pool, memory.least));
            const std::uint64_t half = (memory.least + memory.whole) / 2;
            ASSERT_NO_FATAL_FAILURE(expect_the_same(programs.train, start, {golden::kSeed, {&x, &y}}, *pool, half));
        }
    }
}

/// The state after 200 steps in the least memory has the published root.
TEST(OffloadedExecutor, APublishedRootInTheLeastMemory) {
    const auto recipe = golden::recipes().at("gpt");
    const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    ThreadPool pool(2);
    const std::uint64_t least = OffloadedExecutor::memory_of(programs.train, pool).least;
    const auto offloaded = *OffloadedExecutor::create(programs.train, pool, {folder(), least, 0});
    offloaded->load(run_initialiser(programs.init, golden::kSeed, pool), {golden::kSeed, {&x, &y}});
    for (int step = 0; step < 200; ++step) offloaded->advance();
    const Hash32 program = CommittedProgram(programs.train).root();
    const auto published = golden::roots(std::string(RETRACE_VECTORS) + "/numerics_training/golden.txt");
    EXPECT_EQ(to_hex(view(commit_roots(program, 200, offloaded->roots()).root)), published.at("gpt 200"));
}

TEST(OffloadedExecutor, ProgramsThatNobodyWouldWriteInTheLeastMemory) {
    ThreadPool pool(2);
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        const testing::AnyProgram any = testing::any_program(seed);
        const OffloadMemory memory = OffloadedExecutor::memory_of(any.program, pool);
        ASSERT_NO_FATAL_FAILURE(expect_the_same(any.program, any.state, any.inputs(), pool, memory.least, 1));
    }
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(seed);
        const Program program = testing::random_program(seed);
        const OffloadMemory memory = OffloadedExecutor::memory_of(program, pool);
        ASSERT_NO_FATAL_FAILURE(expect_the_same(program, testing::random_state(program, seed), {}, pool, memory.least));
    }
}

TEST(OffloadedExecutor, TracesAndOutputs) {
    ThreadPool pool(2);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        const testing::AnyProgram any = testing::any_program(seed);
        Executor here(any.program, pool);
        const auto there = OffloadedExecutor::create(any.program, pool, {folder(), 64 << 20, 0});
        ASSERT_TRUE(there) << there.error().message;
        ASSERT_EQ((*there)->trace(any.state, any.inputs()), here.trace(any.state, any.inputs()));
        std::vector<std::uint32_t> ops;
        for (std::uint32_t op = 0; op < any.program.ops.size(); op += 3) ops.push_back(op);
        ASSERT_EQ((*there)->outputs(any.state, any.inputs(), ops), here.outputs(any.state, any.inputs(), ops));
        State after;
        (*there)->store(after);
        ASSERT_EQ(after, any.state);
    }
}

TEST(OffloadedExecutor, AStepThatFailsLeavesTheStateThatItBeganWith) {
    const auto recipe = golden::recipes().at("mlp");
    const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    ThreadPool pool(2);
    const std::uint64_t least = OffloadedExecutor::memory_of(programs.train, pool).least;
    const auto there = *OffloadedExecutor::create(programs.train, pool, {folder(), least, 0});
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    const Inputs inputs{golden::kSeed, {&x, &y}};
    there->load(state, inputs);
    const int file = testing::open_again(1);
    ASSERT_GE(file, 0);
    Bytes contents(4 << 20);
    const ssize_t size = ::pread(file, contents.data(), contents.size(), 0);
    ASSERT_GT(size, 0);
    ASSERT_LT(size, ssize_t(contents.size()));
    Bytes wrong = contents;
    for (std::uint8_t& byte : wrong) byte ^= 1;
    ASSERT_EQ(::pwrite(file, wrong.data(), std::size_t(size), 0), size);
    EXPECT_THAT([&] { there->advance(); }, ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("(damaged)")));
    ASSERT_EQ(::pwrite(file, contents.data(), std::size_t(size), 0), size);
    ::close(file);
    there->put(0, state.tensors[0]);  // makes nothing current that the failed step wrote
    State same;
    there->store(same);
    EXPECT_EQ(same, state);
    there->advance();
    there->store(same);
    Executor(programs.train, pool).step(state, inputs);
    EXPECT_EQ(same, state);
}

TEST(OffloadedExecutor, NamesWhatIsMissing) {
    const testing::AnyProgram any = testing::any_program(7);
    ThreadPool pool(1);
    const std::uint64_t least = OffloadedExecutor::memory_of(any.program, pool).least;
    const auto little = OffloadedExecutor::create(any.program, pool, {folder(), least - 1});
    ASSERT_FALSE(little);
    EXPECT_THAT(little.error().message, HasSubstr("needs " + std::to_string(least) + " at least (memory)"));
    const auto nowhere = OffloadedExecutor::create(any.program, pool, {"/proc/no/folder", least});
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error().message, HasSubstr("(disk_failed)"));
    const auto slow = OffloadedExecutor::create(any.program, pool, {folder(), least, 1e15});
    ASSERT_FALSE(slow);
    EXPECT_THAT(slow.error().message, HasSubstr("(disk_slow)"));
}

}  // namespace
}  // namespace retrace::kernels
