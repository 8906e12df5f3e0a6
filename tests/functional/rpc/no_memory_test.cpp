// SPDX-License-Identifier: MIT
// A new client when memory runs out.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "node/server/http/work_pool.hpp"
#include "tests/failing_new.hpp"

namespace {

thread_local int allocations_left = -1;  // negative: no limit

}  // namespace

bool retrace::test::memory_ends() {
    if (allocations_left <= 0) return allocations_left == 0;
    --allocations_left;
    return false;
}

namespace retrace::node::test {
namespace {

using rpc::WorkPool;

// A client that lost its place would wait for an answer for ever.
TEST(RpcNoMemory, ANewcomerWithoutMemoryTakesNobodysPlace) {
    constexpr int kPlaces = 64;
    int failures = 0;
    for (int allocations = 0;; ++allocations) {
        WorkPool pool({.threads = 1, .local_threads = 0, .waiting = kPlaces, .waiting_per_client = kPlaces});
        std::atomic<int> ran{0}, gave_up{0};
        const WorkPool::Job job = [&](WorkPool::JobOutcome outcome) {
            ++(outcome == WorkPool::JobOutcome::runs ? ran : gave_up);
        };
        for (int i = 0; i < kPlaces; ++i) ASSERT_TRUE(pool.add("a", job));
        WorkPool::Job newcomer = job;
        bool added = false;
        allocations_left = allocations;
        try {
            added = pool.add("an address that takes some memory, and more than a short string", std::move(newcomer));
        } catch (const std::bad_alloc&) {
            ++failures;
        }
        allocations_left = -1;
        pool.start();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (ran < kPlaces && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        pool.stop();
        EXPECT_EQ(ran, kPlaces) << "after " << allocations << " allocations";
        EXPECT_EQ(gave_up, added ? 1 : 0) << "after " << allocations << " allocations";
        if (added) break;
    }
    EXPECT_GT(failures, 2);
}

}  // namespace
}  // namespace retrace::node::test
