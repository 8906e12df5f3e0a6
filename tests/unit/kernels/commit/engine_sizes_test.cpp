// SPDX-License-Identifier: MIT
// Products and whole trainings give the same bits with any split sizes of the engine. The default run trains with two
// odd splits; with RETRACE_EXHAUSTIVE=1 (ctest slow.kernels.sizes_on_LEVEL) with all, and without threads too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/matmul/backend.hpp"
#include "kernels/matmul/engine.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/any_values.hpp"
#include "tests/unit/kernels/exhaustive.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"

namespace retrace::kernels {

/// A friend of the engine.
struct SizesForTests {
    static OtherSizes hold(const EngineSizes& sizes) { return OtherSizes(sizes); }
};

namespace {

struct Cut {
    const char* name;
    EngineSizes sizes;
};

constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;

// Packed bytes, slab, chunk bytes, chunk rows, words of the sets, serial work, rows of a tile.
constexpr Cut kCuts[] = {
    {"one of everything", {1, 1, 1, 1, 1, 0, 1}},
    {"odd", {70'001, 300'001, 9'001, 7, 777, 0, 5}},
    {"narrow slabs, long chunks", {kHuge, 1, kHuge, kHuge, kHuge, kHuge, 3}},
    {"block by block, one panel a chunk", {1, kHuge, 1, 33, 1, 100, 13}},
    {"no bounds", {kHuge, kHuge, kHuge, kHuge, kHuge, kHuge, kHuge}},
};

std::string root(const golden::Recipe& run, unsigned threads) {
    const TrainingPrograms programs = golden::programs(run);
    ThreadPool pool(threads);
    const auto [x, y] = golden::data(run.model);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    Executor executor(programs.train, pool);
    for (int i = 0; i < 200; ++i) executor.step(state, {golden::kSeed, {&x, &y}});
    return to_hex(view(commit_state(CommittedProgram(programs.train).root(), state, pool).root));
}

class TrainingInOtherSizes : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingInOtherSizes, GivesThePublishedRoot) {
    const std::string& name = GetParam();
    const golden::Recipe recipe = golden::recipes()[name];
    const std::string expected = golden::roots(RETRACE_VECTORS "/numerics_training/golden.txt")[name + " 200"];
    ASSERT_EQ(expected.size(), 64u);
    const std::size_t cuts = exhaustive() ? std::size(kCuts) : 2;
    for (std::size_t i = 0; i < cuts; ++i) {
        const OtherSizes held = SizesForTests::hold(kCuts[i].sizes);
        EXPECT_EQ(root(recipe, 2), expected) << kCuts[i].name;
        if (!exhaustive()) continue;
        EXPECT_EQ(root(recipe, 1), expected) << kCuts[i].name << ", one thread";
    }
}

INSTANTIATE_TEST_SUITE_P(All, TrainingInOtherSizes, ::testing::ValuesIn(golden::names()),
                         [](const auto& info) { return info.param; });

struct Shape {
    std::uint64_t m, n, k;
};

TEST(ProductInOtherSizes, HasTheBitsOfTheReferenceAtEveryLevel) {
    testing::AnyValues any(3);
    ThreadPool alone(1), three(3);
    for (const Shape& s : {Shape{41, 37, 300}, Shape{5, 700, 20}, Shape{70, 9, 1030}}) {
        const Tensor x = any.tensor(DType::f32, {s.m, s.k}, 1), y = any.tensor(DType::f32, {s.k, s.n}, 0);
        const auto* a = reinterpret_cast<const float*>(x.data.data());
        const auto* b = reinterpret_cast<const float*>(y.data.data());
        for (const Precision precision : {Precision::f32, Precision::i8x1, Precision::i8x2, Precision::i8x3}) {
            std::vector<float> want(s.m * s.n), got(s.m * s.n);
            matmul_reference(precision, {a, s.m, s.k, s.k, 1}, {b, s.k, s.n, s.n, 1}, want.data(), s.n);
            for (const Cut& cut : kCuts) {
                const OtherSizes held = SizesForTests::hold(cut.sizes);
                for (const CpuLevel level : cpu_levels()) {
                    for (ThreadPool* const pool : {&alone, &three}) {
                        matmul_at(level, precision, {a, s.m, s.k, s.k, 1}, {b, s.k, s.n, s.n, 1}, got.data(), s.n,
                                  *pool);
                        EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)), 0)
                            << cut.name << " at " << name_of(level) << ", precision " << static_cast<int>(precision);
                    }
                }
            }
        }
    }
}

// A kernel that records the tiles that it was given.
const MatmulKernel* inner = nullptr;
std::uint64_t tiles = 0;
std::uint32_t highest = 0;

void noted(const Tile& tile) {
    ++tiles;
    highest = std::max(highest, tile.rows);
    inner->multiply(tile);
}

TEST(ProductInOtherSizes, IsReallyCutOtherwiseAndOnlyMeanwhile) {
    inner = matmul_kernel(cpu_levels().back(), Precision::f32);
    if (inner == nullptr) GTEST_SKIP() << "skipped: no vector instructions here; a processor with AVX2 runs it";
    MatmulKernel kernel = *inner;
    kernel.multiply = noted;
    ThreadPool pool(1);
    const std::vector<float> a(50 * 600, 1.0f), b(600 * 40, 1.0f);
    std::vector<float> c(50 * 40);
    const auto count = [&] {
        tiles = highest = 0;
        matmul_tiled(kernel, {a.data(), 50, 600, 600, 1}, {b.data(), 600, 40, 40, 1}, c.data(), 40, pool);
        EXPECT_EQ(c.back(), 600.0f);
        return tiles;
    };
    const std::uint64_t before = count();
    EXPECT_GT(highest, 1u);
    {
        const OtherSizes held = SizesForTests::hold(kCuts[0].sizes);
        EXPECT_GE(count(), 3u * 50);
        EXPECT_EQ(highest, 1u);
    }
    EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace retrace::kernels
