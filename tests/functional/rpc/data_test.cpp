// SPDX-License-Identifier: MIT
// Data directories of real nodes: proofs that a separate program checks, a snapshot from which another node starts,
// pruned blocks, and the refusals of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "node/platform/process.hpp"
#include "node/rpc_client/rpc_client.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace json = boost::json;

class DataDirectory : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("retrace_data_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override {
        node_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string text(const std::string& name) const {
        std::ifstream file(folder_ / name);
        std::ostringstream out;
        out << file.rdbuf();
        return out.str();
    }

    void start(const std::string& data, const std::string& block_ms, std::vector<std::string> more = {}) {
        const auto port = free_port();
        ASSERT_TRUE(port.has_value());
        url_ = "http://127.0.0.1:" + std::to_string(*port);
        std::vector<std::string> arguments{
            "node", "--dev", "--data-dir", path(data), "--rpc-port", std::to_string(*port), "--block-ms", block_ms};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto started = Process::start(RETRACE_PROGRAM, arguments, folder_ / "node.log");
        ASSERT_TRUE(started.has_value());
        node_.emplace(std::move(started).value());
        wait_for(0);
    }
    void wait_for(std::uint64_t height) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < end) {
            const auto now = std::move(RpcClient::connect(url_)).value().height();
            if (now && *now >= height) return;
            ASSERT_TRUE(node_->running()) << text("node.log");
            std::this_thread::sleep_for(20ms);
        }
        FAIL() << "no block " << height << ": " << text("node.log");
    }
    json::value call(const std::string& method, json::array params) {
        const auto answer = std::move(RpcClient::connect(url_)).value().call(method, std::move(params));
        EXPECT_TRUE(answer.has_value()) << method << ": " << (answer ? "" : answer.error().message);
        return answer ? *answer : json::value();
    }
    std::string error(const std::string& method, json::array params) {
        const auto answer = std::move(RpcClient::connect(url_)).value().call(method, std::move(params));
        EXPECT_FALSE(answer.has_value()) << method;
        return answer ? "" : answer.error().message;
    }
    /// Runs a program to its end and returns its exit code; its output goes to run.log.
    int run(const char* program, const std::vector<std::string>& arguments) {
        std::filesystem::remove(folder_ / "run.log");
        auto child = Process::start(program, arguments, folder_ / "run.log");
        EXPECT_TRUE(child.has_value());
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (child->running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
        return child->exit_status().value_or(-1);
    }
    static std::string str(const json::value& value) { return json::value_to<std::string>(value); }

    std::filesystem::path folder_;
    std::string url_;
    std::optional<Process> node_;
};

TEST_F(DataDirectory, ProofsHoldForAProgramThatSharesNothingWithTheNode) {
    start("data", "250");  // proofs can be made for a block until 64 more follow it
    wait_for(3);
    const std::string rich = ledger::to_0x(wallet::account_key(kDevMnemonic, "", 0)->address());
    const std::string poor = "0x00000000000000000000000000000000000000ff";
    const std::string market = "0x0000000000000000000000000000000000001002";
    const std::string root = str(call("eth_getBlockByNumber", {"0x3", false}).at("stateRoot"));
    const auto proof = [&](json::value leaf) { return str(call("retrace_getProof", {leaf, "0x3"}).at("encoded")); };
    const auto check = [&](const std::vector<std::string>& arguments) { return run(VERIFY_PROGRAM, arguments); };

    ASSERT_EQ(check({root, "account", rich, proof(json::value(rich))}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), HasSubstr("nonce 0 balance 0x"));
    ASSERT_EQ(check({root, "account", poor, proof(json::value(poor))}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), HasSubstr("absent"));
    const auto slot = [&](const char* key) { return json::object{{"contract", market}, {"key", key}}; };
    ASSERT_EQ(check({root, "slot", market, "0x77", proof(slot("0x77"))}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), HasSubstr("absent"));

    std::string forged = proof(json::value(rich));
    forged[2 + 2 * 100] = forged[2 + 2 * 100] == '0' ? '1' : '0';  // in the value
    EXPECT_EQ(check({root, "account", rich, forged}), 1) << text("run.log");
    EXPECT_EQ(check({root, "account", poor, proof(json::value(rich))}), 1) << "another leaf";
    EXPECT_EQ(check({"0x" + std::string(64, '7'), "account", rich, proof(json::value(rich))}), 1) << "another root";
    EXPECT_EQ(check({root, "account", rich, proof(json::value(rich)) + "00"}), 1) << "a byte behind it";
    EXPECT_EQ(check({root, "account", rich, proof(json::value(rich)).substr(0, 200)}), 1) << "cut off";
    EXPECT_EQ(check({root, "account", "0x12", "0x"}), 2);
    EXPECT_EQ(check({}), 2);
}

TEST_F(DataDirectory, ASnapshotBecomesANodeThatGoesOn) {
    start("data", "10");
    wait_for(20);
    node_.reset();
    ASSERT_EQ(run(RETRACE_PROGRAM, {"snapshot", "export", "--dev", "--data-dir", path("data"), "--height", "15",
                                    "--out", path("files"), "--json"}),
              0)
        << text("run.log");
    const json::value made = json::parse(text("run.log"));
    const std::string hash = str(made.at("block_hash"));
    ASSERT_EQ(run(RETRACE_PROGRAM, {"snapshot", "show", path("files"), "--json"}), 0);
    EXPECT_EQ(json::parse(text("run.log")), made);

    const auto import = [&](const std::string& trusted) {
        return run(RETRACE_PROGRAM, {"snapshot", "import", "--dev", "--data-dir", path("other"), "--from",
                                     path("files"), "--trusted", trusted});
    };
    EXPECT_EQ(import("0x12"), 2);
    EXPECT_EQ(import("0x" + std::string(64, '7')), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("not the one that is trusted"));
    ASSERT_EQ(import(hash), 0) << text("run.log");
    EXPECT_EQ(import(hash), 1) << "a directory with a chain is not filled again";
    ASSERT_EQ(run(RETRACE_PROGRAM, {"node", "--dev", "--data-dir", path("other"), "--verify-db"}), 0)
        << text("run.log");
    start("other", "10");
    wait_for(18);
    EXPECT_EQ(str(call("eth_getBlockByNumber", {"0xf", false}).at("hash")), hash);
    EXPECT_THAT(error("eth_getBlockByNumber", {"0x5", false}), HasSubstr("pruned history unavailable"));
    EXPECT_EQ(call("retrace_status", {}).at("oldest_block"), 15);
    EXPECT_FALSE(call("eth_getBlockByNumber", {"earliest", false}).is_null());
    EXPECT_FALSE(call("eth_feeHistory", {"0xa", "latest", json::array{}}).is_null());
}

TEST_F(DataDirectory, PrunedBlocksAreNamedAndTheRestIsVerified) {
    start("data", "10", {"--keep-states", "128", "--keep-blocks", "128"});
    wait_for(140);
    EXPECT_THAT(error("eth_getBlockByNumber", {"0x2", false}), HasSubstr("pruned history unavailable"));
    EXPECT_THAT(error("eth_getLogs", {json::object{{"fromBlock", "0x1"}}}), HasSubstr("pruned history unavailable"));
    EXPECT_THAT(error("eth_getBalance", {"0x00000000000000000000000000000000000000ff", "0x2"}), HasSubstr("not kept"));
    EXPECT_FALSE(call("eth_getBlockByNumber", {"latest", false}).is_null());
    node_.reset();
    ASSERT_EQ(run(RETRACE_PROGRAM, {"node", "--dev", "--data-dir", path("data"), "--verify-db"}), 0) << text("run.log");
    EXPECT_EQ(run(RETRACE_PROGRAM, {"node", "--dev", "--data-dir", path("data"), "--keep-blocks", "5"}), 2)
        << "fewer blocks than states";
    EXPECT_EQ(run(RETRACE_PROGRAM, {"node", "--dev", "--data-dir", path("data"), "--archive", "--keep-blocks", "5000"}),
              2);
}

}  // namespace
}  // namespace retrace::node
