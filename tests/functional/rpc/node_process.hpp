// SPDX-License-Identifier: MIT
// A developer node as a separate process, and commands that use it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "node/platform/process.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

using namespace std::chrono_literals;
using testing::HasSubstr;

inline const std::string kReceiver = "0x00000000000000000000000000000000000000bb";

class NodeProcess : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() /
                  ("retrace_functional_" + std::to_string(::getpid()) + "_" + std::to_string(counter_++));
        std::filesystem::create_directories(folder_);
        const auto port = free_port();
        ASSERT_TRUE(port.has_value());
        port_ = std::to_string(*port);
        url_ = "http://127.0.0.1:" + port_;
    }
    void TearDown() override {
        node_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::vector<std::string> node_arguments() const {
        std::vector<std::string> out{"node",       "--dev", "--data-dir", (folder_ / "data").string(),
                                     "--rpc-port", port_,   "--block-ms", block_ms_};
        out.insert(out.end(), more_arguments_.begin(), more_arguments_.end());
        return out;
    }

    void start_node() {
        auto started = Process::start(RETRACE_PROGRAM, node_arguments(), folder_ / "node.log");
        ASSERT_TRUE(started.has_value());
        node_.emplace(std::move(started).value());
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (std::chrono::steady_clock::now() < end) {
            if (client().height()) return;
            ASSERT_TRUE(node_->running()) << text("node.log");
            std::this_thread::sleep_for(20ms);
        }
        FAIL() << "the node does not answer: " << text("node.log");
    }

    RpcClient client() const { return std::move(RpcClient::connect(url_)).value(); }

    ledger::U256 balance() const {
        auto rpc = client();
        const auto account = rpc.account(*ledger::parse_address(kReceiver));
        EXPECT_TRUE(account.has_value());
        return account ? account->balance : ledger::U256{};
    }

    /// Runs `retrace ARGUMENTS` to its end and returns the exit code.
    int run(const std::vector<std::string>& arguments) {
        std::filesystem::remove(folder_ / "run.log");
        auto child = Process::start(RETRACE_PROGRAM, arguments, folder_ / "run.log");
        EXPECT_TRUE(child.has_value());
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (child->running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
        const auto status = child->exit_status();
        return status.value_or(-1);
    }
    int send_one_coin() {
        return run({"wallet", "send", "--dev-account", "0", "--to", kReceiver, "--value", "1", "--node", url_});
    }

    std::string text(const std::string& name) const {
        std::ifstream file(folder_ / name);
        std::ostringstream out;
        out << file.rdbuf();
        return out.str();
    }

    static inline int counter_ = 0;
    std::filesystem::path folder_;
    std::string port_, url_, block_ms_ = "100";
    std::vector<std::string> more_arguments_;
    std::optional<Process> node_;
};

inline const ledger::U256 kCoin{1'000'000'000'000'000'000};

}  // namespace retrace::node
