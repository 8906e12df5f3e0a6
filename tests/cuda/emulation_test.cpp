// SPDX-License-Identifier: MIT
// The emulated device refuses what a real one refuses, so that the other tests can fail.
#include <gmock/gmock.h>

#include "kernels/cuda/runtime.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"

namespace retrace::emulation {
namespace {

using ::testing::HasSubstr;

class Emulation : public ::testing::Test {
protected:
    Emulation() { settings = {}, device = {}; }
    ~Emulation() override { device = {}; }

    static void run(unsigned threads, std::size_t shared, std::function<void()> body) {
        launch(nullptr, {1, 1, threads, 1, shared}, std::move(body));
    }
};
using EmulationDeathTest = Emulation;

volatile unsigned char sink = 0;

TEST_F(EmulationDeathTest, AKernelKeepsToTheSharedMemoryThatItAskedFor) {
    // An earlier launch with more shared memory must not hide the error.
    run(32, 4096, [] { sink = static_cast<unsigned char*>(shared_memory())[4095]; });
    run(32, 64, [] { sink = static_cast<unsigned char*>(shared_memory())[63]; });
    EXPECT_DEATH(run(32, 64, [] { sink = static_cast<unsigned char*>(shared_memory())[64]; }), "");
    EXPECT_DEATH(run(32, 64, [] { static_cast<unsigned char*>(shared_memory())[64] = 1; }), "");
}

TEST_F(EmulationDeathTest, LaunchesThatADeviceRefusesEndTheProcess) {
    EXPECT_DEATH(run(32, device.shared_limit + 16, [] {}), "more shared memory than a block of this device can have");
    EXPECT_DEATH(run(1056, 0, [] {}), "at most 1024 threads");
    EXPECT_DEATH(run(64, 0,
                     [] {
                         if (lane() == 0) barrier();
                     }),
                 "a barrier that others never reach");
    EXPECT_DEATH(launch(nullptr, {std::uint64_t{1} << 31, 1, 32}, [] {}), "too many blocks across");
    EXPECT_DEATH(launch(nullptr, {1, 65536, 32}, [] {}), "too many blocks down");
    settings.blocks_across = 4;
    EXPECT_DEATH(launch(nullptr, {5, 1, 32}, [] {}), "too many blocks across");
    EXPECT_DEATH(launch(nullptr, {3, 1, 32, 2}, [] {}), "whole clusters");
    EXPECT_DEATH(run(32, 0, [] { trap(); }), "a trap");
}

/// Block 0 of a cluster of two copies a word for both; every block adds its own to what it finds.
void copy_for_both(const std::uint32_t* from, std::uint32_t* out, bool waits) {
    struct Shared {
        std::uint32_t word[4];
        std::uint64_t full;
    };
    Shared& own = *static_cast<Shared*>(shared_memory());
    if (thread_index.x == 0) barrier_init(&own.full, 1);
    cluster_barrier();
    if (thread_index.x == 0) barrier_expect(&own.full, 16);
    if (thread_index.x == 0 && cluster_rank() == 0) bulk_copy(own.word, from, 16, &own.full, 3);
    if (waits) barrier_wait(&own.full, 0);
    if (thread_index.x == 31) out[block_index.x] = own.word[0] + block_index.x;
}

TEST_F(EmulationDeathTest, BulkCopiesReachBothBlocksAndAreThereWhenTheirBarrierSaysSo) {
    alignas(16) const std::uint32_t from[4] = {40, 0, 0, 0};
    for (const Order order : {Order::ascending, Order::descending}) {
        settings.order = order;
        std::uint32_t out[4] = {};
        launch(nullptr, {4, 1, 32, 2, 64}, [&] { copy_for_both(from, out, true); });
        EXPECT_THAT(out, ::testing::ElementsAre(40, 41, 42, 43));
    }
    std::uint32_t early[2] = {};
    launch(nullptr, {2, 1, 32, 2, 64}, [&] {
        copy_for_both(from, early, false);
        barrier_wait(static_cast<char*>(shared_memory()) + 16, 0);
    });
    EXPECT_THAT(early, ::testing::Each(::testing::Gt(1000)));  // what shared memory holds at first
    const auto unknown = [] { barrier_wait(shared_memory(), 0); };
    EXPECT_DEATH(launch(nullptr, {1, 1, 32, 1, 64}, unknown), "a barrier that was not initialised");
}

TEST_F(EmulationDeathTest, AKernelAsksForOneAmountOfMuchSharedMemory) {
    const int one = 0, other = 0;
    for (const std::size_t small : {16, 48 * 1024, 32}) ask_for_shared(&one, small);
    for (int i = 0; i < 2; ++i) ask_for_shared(&one, 60 * 1024), ask_for_shared(&other, 64 * 1024);
    EXPECT_DEATH(ask_for_shared(&one, 64 * 1024), "different amounts");
}

TEST_F(Emulation, ADeviceThatFailsFailsEveryCall) {
    auto queue = kernels::cuda::Queue::open();
    auto memory = kernels::cuda::Memory::take(64);
    ASSERT_TRUE(queue && memory);
    std::uint64_t word = 0;
    device.failing = true;
    EXPECT_FALSE(queue->copy_in(memory->data(), &word, 8));
    EXPECT_FALSE(queue->copy_out(&word, memory->data(), 8));
    EXPECT_FALSE(queue->finish());
    EXPECT_FALSE(queue->begin_recording());
    EXPECT_FALSE(kernels::cuda::Memory::take(64));
}

TEST_F(Emulation, WhatNoGraphCanHoldFailsWhileWorkIsRecorded) {
    auto queue = kernels::cuda::Queue::open();
    ASSERT_TRUE(queue);
    auto memory = kernels::cuda::Memory::take(64);
    ASSERT_TRUE(memory);
    std::uint64_t word = 0;
    ASSERT_TRUE(queue->begin_recording());
    const auto refused = [](const auto& result) { return result ? "accepted" : result.error().message; };
    EXPECT_THAT(refused(queue->copy_in(memory->data(), &word, 8)), HasSubstr("while work is recorded"));
    EXPECT_THAT(refused(queue->copy_out(&word, memory->data(), 8)), HasSubstr("while work is recorded"));
    EXPECT_THAT(refused(queue->finish()), HasSubstr("while work is recorded"));
    EXPECT_THAT(refused(queue->follow(*queue)), HasSubstr("while work is recorded"));
    EXPECT_THAT(refused(kernels::cuda::Memory::take(64)), HasSubstr("while work is recorded"));
    queue->clear(memory->data(), 8);
    ASSERT_TRUE(queue->end_recording());
    EXPECT_TRUE(queue->finish());
}

}  // namespace
}  // namespace retrace::emulation
