// SPDX-License-Identifier: MIT
// A thread with another rounding mode, or with subnormals disabled, still computes the contract's bits, and keeps its
// own setting afterwards.
#include "kernels/scalar/float_environment.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "kernels/exec/partial_tile.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/ops/op.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/op_cases.hpp"

#if defined(__x86_64__) || defined(__aarch64__)

namespace retrace::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kUsual = 0x1f80, kFlags = 0x3f;
constexpr std::uint32_t kSubnormalsOff = 0x8040, kDown = 0x2000, kUp = 0x4000, kTowardsZero = 0x6000;

const std::vector<std::uint32_t> kOthers = {
    kUsual | kSubnormalsOff, kUsual | 0x8000, kUsual | 0x40,
    kUsual | kDown,          kUsual | kUp,    kUsual | kTowardsZero | kSubnormalsOff};

std::uint32_t control() { return __builtin_ia32_stmxcsr(); }
void set_control(std::uint32_t bits) { __builtin_ia32_ldmxcsr(bits); }
#else
constexpr std::uint32_t kUsual = 0, kFlags = 0;
constexpr std::uint32_t kSubnormalsOff = 1u << 24, kDefaultNan = 1u << 25;
constexpr std::uint32_t kUp = 1u << 22, kDown = 2u << 22, kTowardsZero = 3u << 22;

const std::vector<std::uint32_t> kOthers = {kSubnormalsOff, kDefaultNan, kDown, kUp, kTowardsZero | kSubnormalsOff};

std::uint32_t control() {
    std::uint64_t bits;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return static_cast<std::uint32_t>(bits);
}
void set_control(std::uint32_t bits) { asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{bits}) : "memory"); }
#endif

/// Sets the thread's floating-point control bits and restores them on destruction.
class Chosen {
public:
    explicit Chosen(std::uint32_t bits) : before_(control()) { set_control(bits); }
    ~Chosen() { set_control(before_); }
    Chosen(const Chosen&) = delete;
    Chosen& operator=(const Chosen&) = delete;

private:
    std::uint32_t before_;
};

std::uint32_t now() { return control() & ~kFlags; }

TEST(FloatEnvironment, IsTheContractsWithinAndTheThreadsOwnAfterwards) {
    for (const std::uint32_t other : kOthers) {
        const Chosen chosen(other);
        {
            const FloatEnvironment contract;
            EXPECT_EQ(now(), kUsual);
            const FloatEnvironment again;
            EXPECT_EQ(now(), kUsual);
        }
        EXPECT_EQ(now(), other);
    }
}

#if defined(__x86_64__)  // Few ARM processors have traps.
TEST(FloatEnvironment, NothingTrapsWithinThoughTheProgramAskedForTraps) {
    const Chosen chosen(kUsual & ~0x0400u);  // division by zero
    {
        const FloatEnvironment contract;
        volatile float zero = 0.0f;
        volatile float result = 1.0f / zero;
        EXPECT_GT(result, 1e30f);
    }
    EXPECT_EQ(now(), kUsual & ~0x0400u);
}
#endif

/// A product whose sums are subnormal up to the last term of a block, and normal from there on.
testing::OpCase tiny_product() {
    testing::OpCase one;
    const auto filled = [](const Dims& dims, float value) {
        Tensor out = zeros(DType::f32, dims);
        for (std::uint64_t i = 0; i < out.elements(); ++i) std::memcpy(out.data.data() + 4 * i, &value, 4);
        return out;
    };
    one.inputs = {filled({40, 600}, 0x1p-67f), filled({600, 40}, 0x1p-67f)};
    one.facts.op = {OpCode::matmul, {0, 1}, {static_cast<std::uint64_t>(Precision::f32), 0, 0}, ""};
    for (const Tensor& input : one.inputs) one.facts.inputs.push_back({input.dtype, input.dims});
    const OpRule* const rule = find_rule(OpCode::matmul);
    one.facts.output = rule->output(one.facts).value();
    return one;
}

TEST(FloatEnvironment, ElementsAndLinksOfARefereeAreTheSame) {
    const testing::OpCase one = tiny_product();
    ASSERT_TRUE(check_facts(one.facts)) << check_facts(one.facts).error().message;
    testing::TensorSource source(one.inputs);
    const std::uint32_t want = evaluate(one.facts, {0, 0, 0, 0, 0}, source).value();
    EXPECT_EQ(want, 0x00800000u);  // 256 terms of 2^-134
    for (const std::uint32_t other : kOthers) {
        const Chosen chosen(other);
        EXPECT_EQ(evaluate(one.facts, {0, 0, 0, 0, 0}, source).value(), want) << std::hex << other;
        EXPECT_EQ(now(), other);
    }
}

TEST(FloatEnvironment, TilesOnTheWayOfADisputeAreTheSame) {
    const testing::OpCase one = tiny_product();
    std::vector<const std::uint8_t*> inputs;
    for (const Tensor& input : one.inputs) inputs.push_back(input.data.data());
    const auto tile = [&] {
        ThreadPool pool(3);
        PartialTile carried;
        advance_partial({one.facts, inputs, nullptr, 0, 0, pool}, 0, 0, 2, carried);
        return carried;
    };
    const PartialTile want = tile();
    EXPECT_NE(want[0], 0u);
    for (const std::uint32_t other : kOthers) {
        const Chosen chosen(other);
        EXPECT_EQ(tile(), want) << std::hex << other;
        EXPECT_EQ(now(), other);
    }
}

/// Returns the state after some steps and the loss of the last step.
std::pair<State, float> trained(unsigned threads, Backend backend) {
    const golden::Recipe recipe = golden::recipes()["gpt"];
    static const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    ThreadPool pool(threads);  // its threads inherit the environment of this one
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    Executor executor(programs.train, pool, backend);
    float loss = 0;
    for (int i = 0; i < 3; ++i) loss = executor.step(state, {golden::kSeed, {&x, &y}})[0].value;
    return {std::move(state), loss};
}

TEST(FloatEnvironment, StepsAreTheSameWhateverTheCallersIs) {
    const auto want = trained(1, Backend::cpu);
    for (const std::uint32_t other : kOthers) {
        for (const unsigned threads : {1u, 3u}) {
            const Chosen chosen(other);
            EXPECT_TRUE(trained(threads, Backend::cpu) == want) << std::hex << other << ", " << threads << " threads";
            EXPECT_EQ(now(), other);
        }
    }
}

TEST(FloatEnvironment, AThreadOfAPoolHasTheContractsWhateverItsMakersIs) {
    const Chosen chosen(kOthers.back());
    ThreadPool pool(4);
    const auto caller = std::this_thread::get_id();
    std::atomic<int> usual{0}, other{0};
    // On a busy machine the caller may do all of a short job.
    for (int job = 0; job < 1000 && usual + other == 0; ++job) {
        pool.parallel_for(16, 1, [&](std::uint64_t, std::uint64_t) {
            if (std::this_thread::get_id() != caller) ++(now() == kUsual ? usual : other);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    }
    EXPECT_GT(usual.load(), 0);
    EXPECT_EQ(other.load(), 0);
}

TEST(FloatEnvironment, ComesBackWhenAStepIsLeftByAnException) {
    const golden::Recipe recipe = golden::recipes()["mlp"];
    const TrainingPrograms programs = golden::programs(recipe);
    const auto [x, y] = golden::data(recipe.model);
    ThreadPool pool(1);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    Executor executor(programs.train, pool);
    const Chosen chosen(kOthers.back());
    const auto leave = []() -> bool { throw std::runtime_error("enough"); };
    EXPECT_THROW(executor.attempt(state, {golden::kSeed, {&x, &y}}, leave), std::runtime_error);
    EXPECT_EQ(now(), kOthers.back());
}

}  // namespace
}  // namespace retrace::kernels

#endif
