// SPDX-License-Identifier: MIT
// Programs that pass every check but attack their readers: chains that would cause deep recursion or quadratic time,
// ops that cost nothing and loop for hours, memory that no plan counts.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <string>

#include "kernels/exec/arena.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/exec/plan.hpp"
#include "kernels/exec/plan_check.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/kernels/raw_program.hpp"

namespace retrace::kernels {
namespace {

/// Builds programs op by op over a single state tensor: an f32 of one element, tensor 0.
struct Raw : testing::RawProgram {
    Raw() : RawProgram(std::vector<Dims>{{1}}) {}
    std::uint32_t fill(Dims dims) { return op(OpCode::fill, {}, std::move(dims), {to_bits(1.0F)}); }
};

State one() { return {0, {{DType::f32, {1}, Bytes(4)}}}; }

/// Processor seconds to check and plan a program and run two steps of it. Bounds are far from the measured times:
/// minutes before the fixes, a fraction of a second now.
double seconds_of(const Program& program) {
    EXPECT_TRUE(check(program));
    const std::clock_t start = std::clock();
    ThreadPool pool(2);
    Executor executor(program, pool);
    State state = one();
    for (int step = 0; step < 2; ++step) executor.step(state, {});
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

constexpr double kBlink = test::kSanitized ? 100 : 20;

TEST(HostilePrograms, AChainOfReshapesWithALateReaderIsNoDeepRecursion) {
    Raw raw;
    const Dims dims{1 << 20};
    std::uint32_t x = raw.op(OpCode::neg, {0}, dims);
    for (int i = 0; i < 100'000; ++i) x = raw.op(OpCode::reshape, {x}, dims);
    for (int i = 0; i < 40; ++i) raw.fill({1});
    const std::uint32_t late = raw.op(OpCode::neg, {x}, dims);
    raw.set_next(raw.op(OpCode::slice, {late}, {1}, {5, 1}));
    EXPECT_LT(seconds_of(raw.program), kBlink);
    // The early part is not kept for its late reader, but recomputed by two ops.
    const Program rewritten = rematerialise(raw.program);
    EXPECT_LE(rewritten.ops.size(), raw.program.ops.size() + 4);
}

TEST(HostilePrograms, AChainOfReshapesOfTheStateTakesNoSquareOfItsLength) {
    Raw raw;
    std::uint32_t x = 0;
    for (int i = 0; i < 200'000; ++i) x = raw.op(OpCode::reshape, {x}, {1});
    raw.set_next(raw.op(OpCode::neg, {x}, {1}));
    EXPECT_LT(seconds_of(raw.program), kBlink);
}

TEST(HostilePrograms, ManyLateReadersOfALongChainDoNotBlowAProgramUp) {
    Raw raw;
    const Dims dims{1 << 20};
    std::uint32_t x = raw.op(OpCode::neg, {0}, dims);
    for (int i = 0; i < 1000; ++i) x = raw.op(OpCode::reshape, {x}, dims);
    for (int i = 0; i < 200; ++i) {
        for (int j = 0; j < 33; ++j) raw.fill({1});
        raw.op(OpCode::slice, {x}, {1}, {0, 1});
    }
    EXPECT_LE(rematerialise(raw.program).ops.size(), 2 * raw.program.ops.size());
    EXPECT_LT(seconds_of(raw.program), kBlink);
}

TEST(HostilePrograms, MemoryInCrumbsIsPlannedAtOnce) {
    Raw raw;
    std::vector<std::uint32_t> crumbs, even;
    for (int i = 0; i < 100'000; ++i) crumbs.push_back(raw.fill({1}));
    for (std::size_t i = 0; i < crumbs.size(); i += 2) even.push_back(crumbs[i]);
    const auto join = [&](const std::vector<std::uint32_t>& parts) {
        for (std::size_t i = 0; i + 64 <= parts.size(); i += 64)
            raw.op(OpCode::concat, {&parts[i], &parts[i] + 64}, {64}, {0});
    };
    join(even);
    for (int i = 0; i < 50'000; ++i) raw.fill({32});
    join(crumbs);
    EXPECT_LT(seconds_of(raw.program), kBlink);
}

TEST(HostilePrograms, ManySmallFusedRunsCostWhatTheyCompute) {
    Raw raw;
    for (int i = 0; i < 150'000; ++i)
        raw.op(OpCode::row_sum, {raw.op(OpCode::neg, {raw.op(OpCode::neg, {0}, {4, 2})}, {4, 2})}, {4, 1});
    EXPECT_LT(seconds_of(raw.program), kBlink);
}

/// The planner chooses among free ranges as a linear search does.
TEST(HostilePrograms, FreeMemoryIsFoundAsIfEveryRunWasLookedAt) {
    Arena arena;
    std::map<std::uint64_t, std::uint64_t> taken, free;
    std::uint64_t size = 0, random = 7;
    const auto below = [&](std::uint64_t n) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return (random >> 33) % n;
    };
    const auto smallest = [&](std::uint64_t bytes) {
        auto best = free.end();
        for (auto run = free.begin(); run != free.end(); ++run)
            if (run->second >= bytes && (best == free.end() || run->second < best->second)) best = run;
        return best;
    };
    for (int i = 0; i < 5000; ++i) {
        if (taken.empty() || below(5) < 3) {
            const std::uint64_t bytes = 64 * (1 + below(9));
            const auto best = smallest(bytes);
            std::uint64_t at = size;
            if (best != free.end()) {
                at = best->first;
                const std::uint64_t rest = best->second - bytes;
                free.erase(best);
                if (rest != 0) free[at + bytes] = rest;
            } else if (!free.empty() && std::prev(free.end())->first + std::prev(free.end())->second == size) {
                at = std::prev(free.end())->first;
                free.erase(std::prev(free.end()));
            }
            size = std::max(size, at + bytes);
            ASSERT_EQ(arena.take(bytes), at) << i;
            taken[at] = bytes;
        } else {
            const auto gone = std::next(taken.begin(), std::ptrdiff_t(below(taken.size())));
            arena.give(gone->first, gone->second);
            free.insert(*gone);
            taken.erase(gone);
            for (auto run = free.begin(); run != free.end();) {
                const auto next = std::next(run);
                if (next == free.end() || run->first + run->second != next->first) {
                    run = next;
                    continue;
                }
                run->second += next->second;
                free.erase(next);
            }
        }
        ASSERT_EQ(arena.size(), size);
    }
}

TEST(HostilePrograms, WhatHasNoElementTakesNoTime) {
    constexpr std::uint64_t kMany = std::uint64_t{1} << 36;
    std::vector<Raw> all(6);
    const std::uint32_t a = all[0].fill({kMany, 0, 0});
    all[0].op(OpCode::matmul, {a, a}, {kMany, 0, 0}, {3, 0, 0});
    all[1].op(OpCode::window_gather, {all[1].fill({kMany, 0, 1, 1})}, {kMany, 0}, {1, 1, 1, 1, 0, 0, 0});
    const std::uint32_t index = all[2].op(OpCode::iota, {}, {1 << 20}, {0}, DType::i32);
    for (int i = 0; i < 500; ++i) all[2].op(OpCode::gather_rows, {all[2].fill({1, 0}), index}, {1 << 20, 0});
    const std::uint32_t rows = all[3].op(OpCode::iota, {}, {1 << 20}, {0}, DType::i32);
    for (int i = 0; i < 500; ++i)
        all[3].op(OpCode::scatter_add_rows, {all[3].fill({1 << 20, 0}), rows}, {kMany, 0}, {kMany});
    all[4].op(OpCode::add, {all[4].fill({kMany, 0}), all[4].fill({1, 0})}, {kMany, 0});
    all[5].op(OpCode::permute, {all[5].fill({kMany, 0})}, {0, kMany}, {1, 0});
    for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(i);
        const auto checked = check(all[i].program);
        ASSERT_TRUE(checked) << checked.error().message;
        EXPECT_LT(seconds_of(all[i].program), kBlink / 4);
        ThreadPool pool(2);
        EXPECT_EQ(Executor(all[i].program, pool).trace(one(), {}).size(), all[i].program.ops.size());
    }
}

TEST(HostilePrograms, WhatADisputeTakesIsKnownBefore) {
    Raw raw;
    constexpr std::uint64_t kRows = 1 << 16;
    const std::uint32_t wide = raw.op(OpCode::neg, {0}, {kRows, 256});
    raw.op(OpCode::row_sum, {wide}, {kRows, 1});
    ThreadPool pool(1);
    Executor executor(raw.program, pool);
    EXPECT_LT(executor.planned_bytes(), kRows * 256) << "a step goes by chunks";
    EXPECT_GE(executor.dispute_bytes(), 2 * 4 * kRows * 256) << "a trace has it whole, and evidence is a copy";
    EXPECT_EQ(executor.outputs(one(), {}, {0, 1}).size(), 2U);
}

TEST(HostilePrograms, DamagedFusedRunsAreRefused) {
    Raw raw;
    std::uint32_t x = raw.fill({64, 4});
    x = raw.op(OpCode::neg, {x}, {64, 4});
    raw.op(OpCode::row_sum, {x}, {64, 1});
    MemoryPlan plan = propose_plan(raw.program);
    ASSERT_EQ(plan.fused_runs.size(), 1U);
    ASSERT_TRUE(check_plan(raw.program, plan));
    plan.units.back().fused_run = 0;
    plan.fused_runs.push_back(plan.fused_runs[0]);
    plan.fused_runs[0].parts = 0;
    EXPECT_FALSE(check_plan(raw.program, plan));

    // A generator numbers its elements from the start of the tensor, which a chunk does not know.
    Raw generator;
    const std::uint32_t y = generator.op(OpCode::iota, {}, {64, 4}, {0}, DType::i32);
    generator.op(OpCode::convert, {y}, {64, 4}, {1});
    MemoryPlan fused;
    fused.places = {{BufferLocation::Where::chunk, 0}, {BufferLocation::Where::arena, 0}};
    fused.units = {{0, 2, 0}};
    fused.fused_runs = {{64, 1, {false}, {{0, 1}, {1, 1}}, 64}};
    fused.bytes = 1024;
    fused.chunk_bytes = 64;
    EXPECT_FALSE(check_plan(generator.program, fused));
    fused.places[0] = {BufferLocation::Where::arena, 1024};
    fused.bytes = 2048;
    EXPECT_FALSE(check_plan(generator.program, fused));
}

/// Resident memory of this process in bytes.
std::uint64_t resident() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6)) << 10;
    return 0;
}

/// Bytes used outside the plan after a step of eight products by 255×20000, each of which takes 15 MB when packed.
/// `more` adds an op after them, with which they could form a fused run.
std::uint64_t beside_the_plan(bool more) {
    Raw raw;
    const std::uint32_t x = raw.fill({8, 1, 255}), y = raw.fill({8, 255, 20'000});
    std::uint32_t product = raw.op(OpCode::matmul, {x, y}, {8, 1, 20'000}, {3, 0, 0});  // i8x2
    if (more) product = raw.op(OpCode::neg, {product}, {8, 1, 20'000});
    raw.set_next(raw.op(OpCode::slice, {raw.op(OpCode::reshape, {product}, {160'000})}, {1}, {5, 1}));
    EXPECT_TRUE(check(raw.program));
    ThreadPool pool(4);
    Executor executor(raw.program, pool);
    const std::uint64_t before = resident();
    State state = one();
    executor.step(state, {});
    const std::uint64_t after = resident(), planned = before + executor.planned_bytes();
    return after > planned ? after - planned : 0;
}

TEST(HostilePrograms, WideFactorsOfSmallProductsAreNotPackedByEveryThread) {
    EXPECT_LT(beside_the_plan(false), 24u << 20);
}

TEST(HostilePrograms, WideFactorsInAFusedRunAreNotPackedByEveryThread) { EXPECT_LT(beside_the_plan(true), 24u << 20); }

}  // namespace
}  // namespace retrace::kernels
