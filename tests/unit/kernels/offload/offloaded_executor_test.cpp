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

/// The least memory of a trace, which an executor with less says.
std::uint64_t least_of_trace(const testing::AnyProgram& any, ThreadPool& pool) {
    const std::uint64_t least = OffloadedExecutor::memory_of(any.program, pool).least;
    try {
        (void)(*OffloadedExecutor::create(any.program, pool, {folder(), least, 0}))->trace(any.state, any.inputs());
    } catch (const std::runtime_error& e) {
        const std::string said = e.what(), before = "it needs ";
        return std::stoull(said.substr(said.find(before) + before.size()));
    }
    return least;
}

TEST(OffloadedExecutor, TracesAndOutputsInTheLeastMemory) {
    ThreadPool pool(2);
    std::size_t in_more = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        const testing::AnyProgram any = testing::any_program(seed);
        Executor here(any.program, pool);
        const std::uint64_t least = least_of_trace(any, pool);
        in_more += least > OffloadedExecutor::memory_of(any.program, pool).least ? 1 : 0;
        const auto there = OffloadedExecutor::create(any.program, pool, {folder(), least, 0});
        ASSERT_TRUE(there) << there.error().message;
        ASSERT_EQ((*there)->trace(any.state, any.inputs()), here.trace(any.state, any.inputs()));
        std::vector<std::uint32_t> ops;
        for (std::uint32_t op = 0; op < any.program.ops.size(); op += 3) ops.push_back(op);
        ASSERT_EQ((*there)->outputs(any.state, any.inputs(), ops), here.outputs(any.state, any.inputs(), ops));
        State after, expected = any.state;
        (*there)->store(after);
        ASSERT_EQ(after, any.state);
        (*there)->advance();
        (*there)->store(after);
        here.step(expected, any.inputs());
        ASSERT_EQ(after, expected) << "in the executor's own memory again";
    }
    EXPECT_GT(in_more, 0u) << "a trace that was refused leaves an executor that works";
}

TEST(OffloadedExecutor, RefusesAnInitialiserOfOtherStates) {
    const auto recipe = golden::recipes().at("mlp");
    const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    ThreadPool pool(2);
    const std::uint64_t least = OffloadedExecutor::memory_of(programs.train, pool).least;
    const auto there = *OffloadedExecutor::create(programs.train, pool, {folder(), least, 0});
    std::vector<Program> others(3, programs.init);
    std::swap(others[0].tensors[0].dims.at(0), others[0].tensors[0].dims.at(1));
    others[1].tensors[0].dtype = DType::i32;
    others[2].tensors[0].writer = kNoWriter;
    for (const Program& other : others) EXPECT_FALSE(there->put_initialised(other, golden::kSeed));
    ASSERT_TRUE(there->put_initialised(programs.init, golden::kSeed));
    State state;
    there->begin(0, {golden::kSeed, {&x, &y}});
    there->store(state);
    EXPECT_EQ(state, run_initialiser(programs.init, golden::kSeed, pool));
}

TEST(OffloadedExecutor, RootsOfKeptStatesAreTheirsWhateverIsLoadedSince) {
    ThreadPool pool(2);
    const testing::AnyProgram any = testing::any_program(7);
    const auto there = *OffloadedExecutor::create(any.program, pool, {folder(), 64 << 20, 0});
    State other = any.state;
    for (Tensor& tensor : other.tensors)
        if (!tensor.data.empty()) tensor.data[0] ^= 1;
    const auto roots_of = [&](const State& state) {
        std::vector<Hash32> out;
        for (const Tensor& tensor : state.tensors) out.push_back(tensor_root(tensor, pool));
        return out;
    };
    const auto is_fixed = [&](std::uint32_t s) { return any.program.tensors[s].writer == kNoWriter; };
    std::uint32_t fixed = 0;
    for (std::uint32_t s = 0; s < any.program.states; ++s) fixed += is_fixed(s) ? 1 : 0;
    ASSERT_GT(fixed, 0u) << "the program has a tensor that no op writes";
    there->load(any.state, any.inputs());
    there->begin_roots();
    there->load(other, any.inputs());
    EXPECT_EQ(there->finish_roots(), roots_of(any.state));
    EXPECT_EQ(there->roots(), roots_of(other));
    EXPECT_EQ(there->finish_roots(), roots_of(any.state)) << "whichever is asked for first";
    there->begin_roots();
    EXPECT_EQ(there->finish_roots(), roots_of(other));
    EXPECT_EQ(there->roots(), roots_of(other));
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
    const auto contents = [&] {
        Bytes out(4 << 20);
        const ssize_t size = ::pread(file, out.data(), out.size(), 0);
        EXPECT_LT(size, ssize_t(out.size()));
        out.resize(size < 0 ? 0 : std::size_t(size));
        return out;
    };
    // One block is damaged at a time: steps that read it late have stored next values before.
    std::size_t failed_after_stores = 0;
    for (std::size_t at = 0; at < contents().size(); at += kDiskBlock) {
        SCOPED_TRACE(at);
        const Bytes whole = contents();
        Bytes wrong(whole.begin() + std::ptrdiff_t(at), whole.begin() + std::ptrdiff_t(at + kDiskBlock));
        for (std::uint8_t& byte : wrong) byte ^= 1;
        ASSERT_EQ(::pwrite(file, wrong.data(), wrong.size(), off_t(at)), ssize_t(wrong.size()));
        State same;
        try {
            there->advance();
            there->load(state, inputs);  // a block that no step reads
            continue;
        } catch (const std::runtime_error& e) {
            ASSERT_THAT(e.what(), HasSubstr("(damaged)"));
        }
        const Bytes after = contents();
        for (std::size_t i = 0; i < after.size() && i < whole.size(); ++i)
            if ((i < at || i >= at + kDiskBlock) && after[i] != whole[i]) {
                ++failed_after_stores;
                break;
            }
        ASSERT_EQ(::pwrite(file, whole.data() + at, kDiskBlock, off_t(at)), ssize_t(kDiskBlock));
        there->store(same);
        ASSERT_EQ(same, state);
        there->put(0, state.tensors[0]);  // makes nothing current that the failed step wrote
        there->store(same);
        ASSERT_EQ(same, state);
    }
    EXPECT_GT(failed_after_stores, 0u);
    ::close(file);
    State same;
    there->advance();
    there->store(same);
    Executor(programs.train, pool).step(state, inputs);
    EXPECT_EQ(same, state);
}

TEST(OffloadedExecutor, AStepThatIsStoppedLeavesTheStateThatItBeganWith) {
    const auto recipe = golden::recipes().at("mlp");
    const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    ThreadPool pool(2);
    const std::uint64_t least = OffloadedExecutor::memory_of(programs.train, pool).least;
    const auto there = *OffloadedExecutor::create(programs.train, pool, {folder(), least, 0});
    State state = run_initialiser(programs.init, golden::kSeed, pool), same;
    const Inputs inputs{golden::kSeed, {&x, &y}};
    there->load(state, inputs);
    int polls = 0;
    ASSERT_TRUE(there->attempt([&] { return ++polls, false; }));
    Executor here(programs.train, pool);
    here.step(state, inputs);
    ASSERT_GT(polls, 10);
    for (int at = 1; at <= polls; ++at) {
        int left = at;
        ASSERT_FALSE(there->attempt([&] { return --left == 0; })) << at;
        there->store(same);
        ASSERT_EQ(same, state) << at;
    }
    ASSERT_TRUE(there->attempt({}));
    there->store(same);
    here.step(state, inputs);
    EXPECT_EQ(same, state);
}

TEST(OffloadedExecutor, NamesWhatIsMissing) {
    const testing::AnyProgram any = testing::any_program(7);
    ThreadPool pool(1);
    const std::uint64_t least = OffloadedExecutor::memory_of(any.program, pool).least;
    const auto little = OffloadedExecutor::create(any.program, pool, {folder(), least - 1});
    ASSERT_FALSE(little);
    EXPECT_THAT(little.error().message, HasSubstr("needs " + std::to_string(least) + " at least (memory)"));
    const auto nowhere =
        OffloadedExecutor::create(any.program, pool, {std::filesystem::path("/proc/no/folder"), least});
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error().message, HasSubstr("(disk_failed)"));
    const auto slow = OffloadedExecutor::create(any.program, pool, {folder(), least, 1e15});
    ASSERT_FALSE(slow);
    EXPECT_THAT(slow.error().message, HasSubstr("(disk_slow)"));
}

}  // namespace
}  // namespace retrace::kernels
