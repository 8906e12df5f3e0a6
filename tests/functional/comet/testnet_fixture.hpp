// SPDX-License-Identifier: MIT
// Validators and nodes that follow them on this machine, with the real CometBFT: four and one unless a test asks for
// others.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "node/cmd/testnet/testnet.hpp"
#include "node/light/light_client.hpp"
#include "node/rpc_client/rpc_client.hpp"
#include "node/server/comet/home.hpp"
#include "node/server/comet/supervisor.hpp"
#include "node/server/config/dev_chain.hpp"
#include "tests/functional/comet/transfer_load.hpp"

namespace retrace::node {
namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

inline constexpr const char* kReceiver = "0x00000000000000000000000000000000000000bb";
inline constexpr std::size_t kValidators = 4, kFollower = 4, kNodes = 5;

class TestnetTest : public testing::Test {
protected:
    struct Shape {
        std::uint32_t validators = kValidators, followers = kNodes - kValidators;
        std::uint64_t block_ms = 300, snapshot_every = 30;  // milliseconds, blocks
    };

    void SetUp() override {
        require_comet();
        if (!IsSkipped()) start_network({});
    }
    void TearDown() override {
        const bool failed = HasFailure();
        network_.reset();
        std::error_code ignored;
        if (!failed) fs::remove_all(folder_, ignored);
    }

    static void require_comet() {
        // Where `retrace node` looks: beside it, in PATH, in Go's folder.
        const char* const named = std::getenv("RETRACE_COMETBFT");
        if (named != nullptr && !fs::exists(named))
            GTEST_SKIP() << "SKIP: no " << named << "; where Go is installed, ./dev comet 0.40 makes it";
        const fs::path beside = fs::path(RETRACE_PROGRAM).parent_path() / "cometbft";
        if (!fs::exists(beside) && engine::find_comet("").empty())
            GTEST_SKIP() << "SKIP: no cometbft; where Go is installed, ./dev comet makes it";
    }
    /// Makes the nodes' folders.
    void make_network(const Shape& shape) {
        std::string name = (fs::temp_directory_path() / "retrace_testnet_XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        const auto p2p = free_port(), rpc = free_port();
        ASSERT_TRUE(p2p.has_value() && rpc.has_value());
        TestnetPlan plan;
        plan.folder = folder_;
        plan.validators = shape.validators;
        plan.block_ms = shape.block_ms;
        plan.p2p_port = *p2p;
        plan.rpc_port = *rpc;
        const auto made = init_testnet(plan);
        ASSERT_TRUE(made.has_value()) << made.error().message;
        for (std::size_t i = 0; i < shape.validators; ++i)
            edit(i, "snapshot_every", "snapshot_every = " + std::to_string(shape.snapshot_every));
        // A second version of CometBFT.
        if (const char* const named = std::getenv("RETRACE_COMETBFT"))
            for (std::size_t i = 0; i < shape.validators; ++i)
                edit(i, "kind", "kind = \"comet\"\ncometbft = \"" + std::string(named) + "\"");
        // Of another chain than the developers', nodes may answer on other addresses than loopback.
        for (std::size_t i = 0; i < shape.validators; ++i)
            replace_all(config_of(i).parent_path() / "genesis.json", "\"chainId\":" + std::to_string(kDevChainId),
                        "\"chainId\":" + std::to_string(kTestChainId));
        change_genesis();
        for (std::size_t i = 0; i < shape.followers; ++i) add_follower(shape.validators + i);
    }
    void start_processes(const fs::path& program) {
        auto network = TestnetProcesses::start(folder_, program, 60s);
        ASSERT_TRUE(network.has_value()) << network.error().message;
        network_.emplace(std::move(network).value());
    }
    void start_network(const Shape& shape) {
        make_network(shape);
        if (!HasFatalFailure()) start_processes(RETRACE_PROGRAM);
    }

    /// Changes the genesis of all nodes, before they start.
    virtual void change_genesis() {}

    /// The line of a node's configuration that begins with `name`.
    std::string line_of(std::size_t node, const std::string& name) {
        std::ifstream in(config_of(node));
        std::string line;
        while (std::getline(in, line))
            if (line.starts_with(name + " = ")) return line;
        return "";
    }
    fs::path config_of(std::size_t node) const { return folder_ / ("node" + std::to_string(node)) / "retrace.toml"; }
    /// Replaces the line of a node's configuration that begins with `name`.
    void edit(std::size_t node, const std::string& name, const std::string& now) {
        std::ifstream in(config_of(node));
        std::string text, line;
        while (std::getline(in, line)) text += (line.starts_with(name + " = ") ? now : line) + "\n";
        std::ofstream(config_of(node)) << text;
    }
    /// A node without a validator's key: it makes its own at its start, which the genesis does not name.
    void add_follower(std::size_t node) {
        const fs::path from = folder_ / "node0", to = config_of(node).parent_path();
        fs::create_directories(to);
        fs::copy_file(from / "genesis.json", to / "genesis.json");
        // The peers of node 0, and node 0 itself.
        std::string peers = line_of(0, "peers"), port = line_of(0, "p2p_port");
        const auto keys = engine::make_keys(from / "data" / "comet");
        ASSERT_TRUE(keys.has_value()) << keys.error().message;
        const std::string first = "\"" + keys->node_id + "@127.0.0.1:" + port.substr(port.find("= ") + 2) + "\"";
        peers.insert(peers.find(']'), (peers.find('"') == std::string::npos ? "" : ", ") + first);
        std::ifstream in(from / "retrace.toml");
        std::ofstream out(to / "retrace.toml");
        std::string line;
        while (std::getline(in, line)) {
            if (line.starts_with("peers = ")) line = peers;
            if (line.find("host = \"127.0.0.1\"") != std::string::npos)
                line.replace(line.find("0.0.1"), 5, "0.0." + std::to_string(node + 1));
            out << line << '\n';
        }
    }

    /// The block of CometBFT that a node shows to light clients.
    Result<light::LightBlock> comet_block(std::size_t node, std::uint64_t height) {
        return light::node_source(parse_url(network_->urls()[node]).value())(height);
    }
    json::value ask(std::size_t node, const std::string& method, json::array params = {}) {
        auto client = RpcClient::connect(network_->urls()[node]);
        const auto answer = client->call(method, std::move(params));
        return answer ? *answer : json::value();
    }
    std::uint64_t height(std::size_t node) {
        auto client = RpcClient::connect(network_->urls()[node]);
        return client->height().value_or(0);
    }
    ::testing::AssertionResult reaches(std::size_t node, std::uint64_t wanted) {
        const auto end = Clock::now() + 60s;
        while (height(node) < wanted) {
            if (Clock::now() > end)
                return ::testing::AssertionFailure() << "node " << node << " is at " << height(node);
            std::this_thread::sleep_for(50ms);
        }
        return ::testing::AssertionSuccess();
    }
    std::string state_root(std::size_t node, std::uint64_t height) {
        const json::value block = ask(node, "eth_getBlockByNumber", {hex(height), false});
        return block.is_object() ? std::string(block.at("stateRoot").as_string()) : "none";
    }
    /// Runs `retrace` with these arguments, at most a minute, and returns its exit code. `output()` has what it printed.
    int command(const std::vector<std::string>& arguments) {
        std::error_code ignored;
        fs::remove(folder_ / "command.log", ignored);
        auto child = Process::start(RETRACE_PROGRAM, arguments, folder_ / "command.log");
        const auto end = Clock::now() + 60s;
        while (child->running() && Clock::now() < end) std::this_thread::sleep_for(10ms);
        return child->exit_status().value_or(-1);
    }
    std::string output() {
        std::ifstream in(folder_ / "command.log");
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /// Sends a coin through one node; the exit code says that it was mined.
    int send(std::size_t node, const char* value) {
        return command({"wallet", "send", "--dev-account", "5", "--to", kReceiver, "--value", value, "--node",
                        network_->urls()[node]});
    }
    static void replace_all(const fs::path& path, const std::string& from, const std::string& to) {
        std::ifstream in(path);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
        std::ofstream(path) << text;
    }
    static std::string hex(std::uint64_t number) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
        return text;
    }
    /// The child of a process, by whichever thread it was started; 0: there is none.
    static int child_of(int pid) {
        const fs::path tasks = fs::path("/proc") / std::to_string(pid) / "task";
        for (const auto& task : fs::directory_iterator(tasks)) {
            std::ifstream in(task.path() / "children");
            int child = 0;
            if (in >> child) return child;
        }
        return 0;
    }
    /// What the wallet prints of the receiver's account; null if it fails.
    json::value balance(std::size_t node, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"wallet", "balance", kReceiver, "--json", "--node", network_->urls()[node]};
        arguments.insert(arguments.end(), more.begin(), more.end());
        if (command(arguments) != 0) return nullptr;
        return json::parse(output().substr(0, output().find('\n')));
    }
    /// Removes the chain of a node that is stopped, and not the record of what its validator has signed.
    void forget_chain(std::size_t node) {
        const fs::path data = config_of(node).parent_path() / "data";
        fs::remove_all(data / "db");
        std::vector<fs::path> blocks;
        for (const auto& entry : fs::directory_iterator(data / "comet" / "data"))
            if (entry.path().extension() == ".db") blocks.push_back(entry.path());
        EXPECT_FALSE(blocks.empty());
        for (const fs::path& path : blocks) fs::remove_all(path);
    }
    /// Waits, at most a minute, until node 0 has blocks with all of these.
    void expect_mined(const std::vector<TransferLoad::Accepted>& accepted) {
        auto client = RpcClient::connect(network_->urls()[0]);
        const auto end = Clock::now() + 60s;
        std::vector<std::size_t> missing(network_->size());
        std::size_t all = 0;
        for (const auto& [tx, node] : accepted) {
            auto outcome = client->outcome(tx);
            while (!(outcome && *outcome) && Clock::now() < end) {
                std::this_thread::sleep_for(50ms);
                outcome = client->outcome(tx);
            }
            if (outcome && *outcome) continue;
            ++missing[node];
            ++all;
        }
        EXPECT_EQ(all, 0U) << "of " << accepted.size() << " accepted transactions; by the nodes that accepted them: "
                           << ::testing::PrintToString(missing);
    }
    void expect_equal_chains(std::uint64_t at) {
        for (std::size_t i = 0; i < network_->size(); ++i) {
            ASSERT_TRUE(reaches(i, at));
            EXPECT_EQ(state_root(i, at), state_root(0, at)) << i;
            EXPECT_NE(state_root(i, at), "none");
        }
    }

    fs::path folder_;
    std::optional<TestnetProcesses> network_;
};

}  // namespace retrace::node
