// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "kernels/runtime/thread_pool.hpp"
#include "tests/sanitized.hpp"

namespace retrace::kernels {
namespace {

TEST(NumericsThreadPool, CoversEveryIndexOnce) {
    ThreadPool pool(4);
    EXPECT_EQ(pool.threads(), 4u);
    for (const std::uint64_t n : {0, 1, 3, 4, 5, 1000}) {
        for (const std::uint64_t grain : {0, 1, 7, 2000}) {
            std::vector<std::atomic<int>> count(n);
            pool.parallel_for(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
                ASSERT_LT(begin, end);
                for (std::uint64_t i = begin; i < end; ++i) ++count[i];
            });
            for (const auto& c : count) EXPECT_EQ(c.load(), 1);
        }
    }
}

TEST(NumericsThreadPool, PiecesAreAtLeastTheGrainExceptTheLast) {
    ThreadPool pool(3);
    std::atomic<int> small{0};
    pool.parallel_for(1000, 64,
                      [&](std::uint64_t begin, std::uint64_t end) { small += end - begin < 64 && end != 1000; });
    EXPECT_EQ(small.load(), 0);
}

TEST(NumericsThreadPool, ManyShortJobsInARow) {
    ThreadPool pool(4);
    std::atomic<std::uint64_t> sum{0};
    for (int job = 0; job < 5000; ++job) {
        pool.parallel_for(8, 1, [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; });
    }
    EXPECT_EQ(sum.load(), 40000u);
}

TEST(NumericsThreadPool, WhatABodyThrowsReachesTheCallerWhenAllHaveLeft) {
    ThreadPool pool(4);
    for (int job = 0; job < 300; ++job) {
        std::atomic<int> inside{0};
        const auto some = [&](std::uint64_t begin, std::uint64_t) {
            ++inside;
            const bool last = begin % 16 == static_cast<std::uint64_t>(job % 16);
            --inside;
            if (last) throw std::bad_alloc();
        };
        EXPECT_THROW(pool.parallel_for(16, 1, some), std::bad_alloc);
        EXPECT_EQ(inside.load(), 0);
    }
    std::atomic<std::uint64_t> sum{0};
    pool.parallel_for(100, 1, [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; });
    EXPECT_EQ(sum.load(), 100u) << "the pool works on";
}

TEST(NumericsThreadPoolDeathTest, WorksWithTheThreadsThatTheSystemGives) {
    if (test::kSanitized) GTEST_SKIP() << "a sanitizer's shadow memory is more than the limit; other builds run this";
    const auto in_little_memory = [] {
        const rlimit limit{1u << 30, 1u << 30};  // Enough for the stacks of some hundred threads.
        if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
        std::atomic<std::uint64_t> sum{0};
        {
            ThreadPool pool(5000);
            if (pool.threads() < 2 || pool.threads() >= 5000) std::_Exit(3);
            pool.parallel_for(100, 1, [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; });
        }
        std::_Exit(sum.load() == 100 ? 0 : 4);
    };
    EXPECT_EXIT(in_little_memory(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace retrace::kernels
