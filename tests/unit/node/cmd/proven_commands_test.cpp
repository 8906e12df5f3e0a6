// SPDX-License-Identifier: MIT
// Commands that trust a block say what its validators signed for, or fail, whatever the node answers.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "node/cmd/cli.hpp"
#include "tests/unit/node/rpc_market_world.hpp"
#include "tests/unit/node/signed_node.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

using ::testing::AllOf;
using ::testing::HasSubstr;

struct ProvenCommands : test::MarketWorld {
    ProvenCommands() {
        for (const std::uint32_t i : {1, 2}) add_solver(i);
        world.mine();
        post();
        world.mine();
        node.emplace(world);
        trusted = {"--node", node->url(), "--trust-height", "2", "--trust-hash", node->hash_at(2)};
    }
    /// Runs a command, with blocks meanwhile; what it printed is in `out` and `problem`.
    int run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "retrace");
        arguments.insert(arguments.end(), trusted.begin(), trusted.end());
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        std::atomic<bool> stop{false};
        std::thread miner([&] {
            for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(50))) node->mine();
        });
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int code = cli::run_main(static_cast<int>(argv.size()), argv.data());
        out = testing::internal::GetCapturedStdout();
        problem = testing::internal::GetCapturedStderr();
        stop = true;
        miner.join();
        return code;
    }

    std::optional<test::SignedNode> node;
    std::vector<std::string> trusted;
    std::string out, problem;
};

TEST_F(ProvenCommands, OfAnHonestNodeNameTheBlockThatProvesThem) {
    EXPECT_EQ(run({"task", "show", "1"}), 0) << problem;
    EXPECT_THAT(out, AllOf(HasSubstr("task 1 \"digits\": "), HasSubstr("proved at block ")));
    EXPECT_EQ(run({"task", "list", "--json"}), 0) << problem;
    EXPECT_THAT(out, AllOf(HasSubstr(R"("name":"digits")"), HasSubstr(R"("proven":{"height":)")));
    EXPECT_EQ(run({"wallet", "balance", address(8)}), 0) << problem;
    EXPECT_THAT(out, HasSubstr("proved at block "));
    EXPECT_EQ(run({"stake", "show", address(1), "--json"}), 0) << problem;
    EXPECT_THAT(out, HasSubstr(R"("bonded":"100000000000000000000")"));
    EXPECT_EQ(run({"stake", "unbond", "1", "--dev-account", "1", "--json"}), 0) << problem;
    EXPECT_THAT(out, AllOf(HasSubstr(R"("unbonding":"1000000000000000000")"), HasSubstr(R"("proven":{"height":)")));
    EXPECT_EQ(run({"task", "accept", "1", "--dev-account", "0"}), 1) << "there is no model yet";
    EXPECT_EQ(out, "");
    EXPECT_THAT(problem, HasSubstr("minutes old")) << "the chain of this test is";
}

TEST_F(ProvenCommands, OfANodeWithOneWrongByteInAProofFail) {
    node->lie("retrace_getProof", [](json::value& result) {
        std::string encoded(result.at("encoded").as_string());
        encoded[encoded.size() / 2] = encoded[encoded.size() / 2] == '0' ? '1' : '0';
        result.at("encoded") = encoded;
    });
    const std::vector<std::vector<std::string>> commands{
        {"task", "show", "1"}, {"task", "list"}, {"wallet", "balance", address(8)}, {"stake", "show", address(1)}};
    for (const std::vector<std::string>& command : commands) {
        EXPECT_EQ(run(command), 1) << command[0] << command[1];
        EXPECT_EQ(out, "");
        EXPECT_THAT(problem, HasSubstr("proof"));
    }
}

/// Their user would pay again.
TEST_F(ProvenCommands, AreNotRefusedBecauseANodeSaysSo) {
    node->lie("eth_getTransactionReceipt", [](json::value& result) {
        if (result.is_object()) result.as_object()["status"] = "0x0";
    });
    EXPECT_EQ(run({"stake", "deposit", "1", "--dev-account", "8"}), 0) << problem;
    EXPECT_EQ(run({"wallet", "send", "--to", address(8), "--value", "1", "--dev-account", "0"}), 0) << problem;
    EXPECT_THAT(out, HasSubstr("sent 0x"));
    node->lie("eth_getBlockReceipts", [](json::value& result) {
        for (json::value& receipt : result.as_array()) receipt.as_object()["status"] = "0x1";
        if (!result.as_array().empty()) result.at(0).as_object()["gasUsed"] = "0x5207";
    });
    EXPECT_EQ(run({"wallet", "send", "--to", address(8), "--value", "1", "--dev-account", "0"}), 1);
    EXPECT_EQ(out, "");
    EXPECT_THAT(problem, HasSubstr("are not those of block"));
}

}  // namespace
}  // namespace retrace::node
