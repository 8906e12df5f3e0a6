// SPDX-License-Identifier: MIT
// Events for which there is no memory. This program has an `operator new` of its own, which fails when it is
// told to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "node/rpc/event.hpp"

namespace {

thread_local int allocations_left = -1;  // negative: as many as there is memory for

}  // namespace

void* operator new(std::size_t size) {
    if (allocations_left == 0) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    void* out = std::malloc(size == 0 ? 1 : size);
    if (out == nullptr) throw std::bad_alloc();
    return out;
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace retrace::node::test {
namespace {

std::shared_ptr<const ledger::Block> block_with_logs(std::size_t count) {
    auto out = std::make_shared<ledger::Block>();
    for (std::size_t i = 0; i < count; ++i)
        out->system_logs.push_back({ledger::Address{}, {Hash32{}}, Bytes(100)});
    return out;
}

/// How many logs the subscriber is told of before memory ends, if it does.
std::size_t told(rpc::Event& event, const rpc::Subscribed& subscriber, int allocations) {
    std::size_t out = 0;
    allocations_left = allocations;
    try {
        event.tell(subscriber, [&](const rpc::Text&) {
            ++out;
            return true;
        });
    } catch (const std::bad_alloc&) {
        // The connection is cut off.
    }
    allocations_left = -1;
    return out;
}

// The others are told everything, whatever the first of them had no memory for.
TEST(RpcNoMemory, AnEventThatCouldNotBeMadeForOneIsWholeForTheNext) {
    constexpr std::size_t kLogs = 5;
    rpc::Subscription all;
    all.kind = rpc::Subscription::Kind::logs;
    const rpc::Subscribed subscriber("0x1", all);
    int failures = 0;
    for (int allocations = 0;; ++allocations) {
        rpc::Event event(block_with_logs(kLogs));
        if (told(event, subscriber, allocations) == kLogs) break;
        ++failures;
        ASSERT_EQ(told(event, subscriber, -1), kLogs) << "after " << allocations << " allocations";
    }
    EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace retrace::node::test
