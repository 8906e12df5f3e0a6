// SPDX-License-Identifier: MIT
// Limits of one request: the reads and bytes that it pays for, and a timeout that stops it at any point.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using namespace std::chrono_literals;
using Clock = rpc::Budget::Clock;
using testing::HasSubstr;

/// Parameters of a call of the toy contract with these bytes.
json::array toy(const Bytes& data) {
    return {json::object{{"to", to_0x(ToyExecutor::contract())}, {"data", to_0x(View(data))}}};
}

struct Asked {
    rpc::Answer answer;
    std::chrono::duration<double> took;
};
Asked ask(RpcWorld& world, const char* method, const json::array& params, rpc::Caller caller) {
    const auto start = Clock::now();
    rpc::Answer answer = world.router.call(method, params, caller);
    return {std::move(answer), Clock::now() - start};
}

TEST(RpcBudget, CallsAndEstimatesEndBetweenTwoReads) {
    RpcWorld world;
    const std::atomic<bool> stopping{false};
    for (const char* method : {"eth_call", "eth_estimateGas"}) {
        const auto deadline = Clock::now() + 100ms;
        rpc::Budget budget(deadline, stopping);
        rpc::Caller caller;
        caller.budget = &budget;
        const Asked asked = ask(world, method, toy({ToyExecutor::read_much, 0}), caller);
        EXPECT_GE(Clock::now(), deadline) << method;
        ASSERT_FALSE(asked.answer) << method;
        EXPECT_EQ(asked.answer.error().code, -32002);
        EXPECT_EQ(asked.answer.error().message, "request timed out");
        EXPECT_LT(asked.took.count(), 1) << method;
    }
}

TEST(RpcBudget, NobodyReadsForAClientThatHasGone) {
    RpcWorld world;
    const std::atomic<bool> stopping{false};
    rpc::Budget budget(Clock::now() + 1h, stopping);
    rpc::Caller caller;
    caller.budget = &budget;
    std::thread client([&budget] {
        std::this_thread::sleep_for(50ms);
        budget.hang_up();
    });
    const Asked asked = ask(world, "eth_estimateGas", toy({ToyExecutor::read_much, 0}), caller);
    client.join();
    ASSERT_FALSE(asked.answer);
    EXPECT_EQ(asked.answer.error().message, "the connection is closed");
    EXPECT_LT(asked.took.count(), 1);
}

/// Tokens that a request takes from a bucket of a thousand, in addition to the one that every request costs.
int price(RpcWorld& world, const char* method, const json::array& params) {
    rpc::RateLimiter limiter(0.0001, 1000);
    rpc::Allowance allowance(&limiter, "a");
    rpc::Caller caller;
    caller.allowance = &allowance;
    EXPECT_TRUE(world.router.call(method, params, caller)) << method;
    int left = 0;
    while (allowance.take()) ++left;
    return 1000 - left;
}

TEST(RpcBudget, WhatIsReadIsPaidFor) {
    RpcWorld world;
    EXPECT_EQ(price(world, "eth_call", toy({ToyExecutor::echo})), 0);
    const json::array balance{to_0x(dev_key(0).address()), "latest"};
    EXPECT_EQ(price(world, "eth_getBalance", balance), 0);
    for (int i = 0; i < 160; ++i) world.send(world.make_tx(0, dev_key(1).address(), 1, {}, {}, 21'000));
    world.mine();
    world.mine();
    for (const char* method : {"eth_getBlockByNumber", "eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber"})
        EXPECT_EQ(price(world, method, {"0x1"}), 12) << method << ": 160 transactions of 18 KiB and their block";
    EXPECT_EQ(price(world, "eth_getBlockByNumber", {"latest"}), 0) << "it is empty, and in memory";
    // A proof reads the pages of its path; the changes of two blocks are small.
    EXPECT_EQ(price(world, "retrace_getProof", {to_0x(dev_key(0).address()), "latest"}), 4);
    EXPECT_GE(price(world, "retrace_getProof", {to_0x(dev_key(0).address()), "0x0"}), 5);
}

TEST(RpcBudget, ACallHoldsNoMoreThanATransaction) {
    RpcWorld world;
    const Bytes most(ledger::kTxBytesMax, ToyExecutor::echo), more(ledger::kTxBytesMax + 1, ToyExecutor::echo);
    EXPECT_EQ(text(world.result("eth_call", toy(most))).size(), 2 + 2 * most.size());
    for (const char* method : {"eth_call", "eth_estimateGas"}) {
        const json::object error = world.error(method, toy(more));
        EXPECT_EQ(error.at("code"), -32000);
        EXPECT_EQ(error.at("message"), "oversized data: transaction size 131073, limit 131072");
    }
    json::array keys(4096, json::value(to_0x(view(Hash32{}))));
    json::array call = toy({ToyExecutor::echo});
    call[0].as_object()["accessList"] =
        json::array{json::object{{"address", to_0x(dev_key(0).address())}, {"storageKeys", std::move(keys)}}};
    EXPECT_THAT(text(world.error("eth_estimateGas", call).at("message")), HasSubstr("oversized data"));
}

}  // namespace
}  // namespace retrace::node::test
