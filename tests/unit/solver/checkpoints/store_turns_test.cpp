// SPDX-License-Identifier: MIT
// Strangers read checkpoints through the same store as the training agent: endless readers delay it only until the
// current operation ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "solver/checkpoints/checkpoint_store.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using Clock = std::chrono::steady_clock;
using solver::CheckpointKey;
using solver::CheckpointStore;

TEST(StoreTurns, AnAgentWaitsForNoMoreReadersThanCameBeforeIt) {
    TemporaryDirectory directory;
    kernels::ThreadPool pool{1};
    const auto store = *CheckpointStore::open(directory.path);
    const kernels::State state{0, {kernels::zeros(kernels::DType::u8, {4096, 1024})}};
    const auto commitment = kernels::commit_state({}, state, pool);
    const CheckpointKey key{1, 0, 0};
    ASSERT_TRUE(store->save(key, commitment, state).has_value());

    constexpr int kReaders = 4, kMoves = 60;
    std::atomic<bool> over{false};
    std::atomic<int> loads{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < kReaders; ++i) {
        readers.emplace_back([&] {
            kernels::ThreadPool own{1};
            for (; !over; ++loads) EXPECT_TRUE(store->tensor(commitment.tensor_roots[0], own).has_value());
        });
    }
    while (loads < 2 * kReaders) std::this_thread::yield();
    int most = 0;
    for (int i = 0; i < kMoves; ++i) {
        const int before = loads;
        ASSERT_TRUE(store->retain(key, i % 2 == 0).has_value());
        most = std::max(most, loads - before);
    }
    over = true;
    for (std::thread& reader : readers) reader.join();
    // Readers that were ahead of it, and those that had finished but were counted late, or counted before we looked.
    EXPECT_LE(most, 2 * kReaders) << "readers overtook it";
}

}  // namespace
}  // namespace retrace::test
