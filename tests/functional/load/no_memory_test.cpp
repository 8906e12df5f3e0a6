// SPDX-License-Identifier: MIT
// Events when memory runs out.
#include <gtest/gtest.h>

#include "node/server/http/event.hpp"
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

std::shared_ptr<const ledger::Block> block_with_logs(std::size_t count) {
    auto out = std::make_shared<ledger::Block>();
    for (std::size_t i = 0; i < count; ++i) out->system_logs.push_back({ledger::Address{}, {Hash32{}}, Bytes(100)});
    return out;
}

/// Returns how many logs the subscriber receives before memory runs out, if it does.
std::size_t told(rpc::Event& event, const rpc::Subscribed& subscriber, int allocations) {
    std::size_t out = 0;
    allocations_left = allocations;
    try {
        event.notify(subscriber, [&](const rpc::Text&) {
            ++out;
            return true;
        });
    } catch (const std::bad_alloc&) {
        // The connection is cut off.
    }
    allocations_left = -1;
    return out;
}

// The other subscribers receive everything, even if memory ran out for the first one.
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
