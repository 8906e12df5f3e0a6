// SPDX-License-Identifier: MIT
// Commands that need a node wait for one, with a message and a timeout.
#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <thread>

#include "node/platform/process.hpp"
#include "tests/functional/task_fixture.hpp"

namespace retrace::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

class WithoutNode : public TaskTest {
protected:
    void SetUp() override {
        TaskTest::SetUp();
        const auto port = node::free_port();
        ASSERT_TRUE(port.has_value());
        port_ = std::to_string(*port);
    }
    std::string node() const { return " --node http://127.0.0.1:" + port_; }
    Result<node::Process> start_node() const {
        return node::Process::start(
            RETRACE_PROGRAM,
            {"node", "--dev", "--data-dir", path("node").string(), "--rpc-port", port_, "--block-ms", "100"},
            path("node.log"));
    }

    static constexpr const char* kAccount = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    std::string port_;
};

TEST_F(WithoutNode, ACommandThatComesBeforeItsNodeWaitsForIt) {
    auto early = std::async(std::launch::async, [&] {
        return retrace("wallet balance " + std::string(kAccount) + node() + " --timeout 60");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const auto started = start_node();
    const Ran ran = early.get();
    ASSERT_TRUE(started.has_value());
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "1000000 coins\n");
    EXPECT_THAT(ran.err, HasSubstr("waiting for the node at http://127.0.0.1:" + port_));
    EXPECT_THAT(ran.err, HasSubstr("answers"));
}

TEST_F(WithoutNode, ItEndsWhenNobodyComes) {
    for (const std::string& command : {"stake show " + std::string(kAccount), std::string("task list"),
                                       std::string("task follow 1"), std::string("stake deposit 5 --dev-account 1")}) {
        const auto start = Clock::now();
        const Ran ran = retrace(command + node() + " --timeout 1");
        EXPECT_EQ(ran.status, 1) << command;
        EXPECT_GE(Clock::now() - start, std::chrono::seconds(1)) << command;
        EXPECT_THAT(ran.err, HasSubstr("waiting for the node at")) << command;
        EXPECT_THAT(ran.err, HasSubstr("error: no answer from the node at")) << command;
    }
    EXPECT_THAT(retrace("task list" + node() + " --patience 0").err, HasSubstr("--patience is now --timeout"));
    const Ran impatient = retrace("task list" + node() + " --timeout 0");
    EXPECT_EQ(impatient.status, 1);
    EXPECT_THAT(impatient.err, Not(HasSubstr("waiting")));
}

TEST_F(WithoutNode, WhatWasSentBeforeTheNodeDiedIsSentAgain) {
    auto first = start_node();
    ASSERT_TRUE(first.has_value());
    ASSERT_EQ(retrace("wallet balance " + std::string(kAccount) + node() + " --timeout 60").status, 0);
    auto deposits = node::Process::start(
        RETRACE_PROGRAM,
        {"stake", "deposit", "5", "--dev-account", "1", "--timeout", "60", "--node", "http://127.0.0.1:" + port_},
        path("deposit.log"));
    ASSERT_TRUE(deposits.has_value());
    first->kill();  // Before, while or after the transaction was sent.
    auto second = start_node();
    ASSERT_TRUE(second.has_value());
    for (int i = 0; i < 1200 && deposits->running(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(deposits->exit_status(), 0);
    const Ran stake = retrace("stake show 0x70997970C51812dc3A010C7d01b50e0d17dc79C8" + node());
    EXPECT_THAT(stake.out, HasSubstr("bonded 5 coins,")) << "once, not twice";
}

}  // namespace
}  // namespace retrace::testing
