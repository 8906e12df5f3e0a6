// SPDX-License-Identifier: MIT
// A history whose reading ends early says what it has, and from where on to go on.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "node/cmd/cli.hpp"
#include "tests/unit/node/fake_node.hpp"

namespace retrace::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A node of 1,100 empty blocks that does what a test asks where one is read.
struct WalletHistory : testing::Test {
    WalletHistory() {
        node.height = 1'100;
        node.answers = [this](const std::string& method, const boost::json::array& params) -> std::string {
            if (method == "retrace_status") return R"("result":{"oldest_block":0})";
            if (method != "eth_getBlockByNumber") return {};
            const std::uint64_t height = *rpc::parse_u64(params.at(0));
            if (height >= refused_from) return R"("error":{"code":-32603,"message":"its disk is broken"})";
            if (height == interrupted_at && !interrupted) {
                interrupted = std::chrono::steady_clock::now();
                std::raise(SIGINT);
            }
            if (height == interrupted_at && limited) return R"("error":{"code":-32005,"message":"rate limit"})";
            if (height == interrupted_at) std::this_thread::sleep_for(held);
            if (height == lacked && lacks-- > 0) return R"("result":null)";
            return R"("result":{"number":)" + boost::json::serialize(rpc::quantity(height)) + R"(,"transactions":[]})";
        };
    }
    int run(const std::string& from) {
        std::vector<std::string> words{"retrace", "wallet", "history",  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
                                       "--csv",   "--node", node.url(), "--from",
                                       from};
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int code = cli::run_main(static_cast<int>(argv.size()), argv.data());
        out = testing::internal::GetCapturedStdout();
        problem = testing::internal::GetCapturedStderr();
        return code;
    }
    test::FakeNode node;
    std::uint64_t refused_from = UINT64_MAX, interrupted_at = UINT64_MAX, lacked = UINT64_MAX;
    int lacks = 1;                      ///< Answers of a node that lacks that block.
    std::chrono::milliseconds held{0};  ///< For which the node keeps a client waiting that is interrupted.
    bool limited = false;               ///< Or it refuses it by its rate limit.
    std::optional<std::chrono::steady_clock::time_point> interrupted;
    std::string out, problem;
};

TEST_F(WalletHistory, HasTheBlocksBeforeOneThatTheNodeRefuses) {
    refused_from = 1'050;
    EXPECT_EQ(run("800"), 1);
    EXPECT_THAT(out, HasSubstr("height,kind,hash"));
    EXPECT_THAT(problem, AllOf(HasSubstr("these are the blocks 800 to 1049 of those up to 1100"),
                               HasSubstr("its disk is broken"), HasSubstr("go on with --from 1050")));
    refused_from = UINT64_MAX;
    EXPECT_EQ(run("1050"), 0) << problem;
    EXPECT_EQ(problem, "");
}

TEST_F(WalletHistory, HasThePagesBeforeAnInterrupt) {
    interrupted_at = 1'010;
    EXPECT_EQ(run("700"), 1);
    EXPECT_THAT(problem, AllOf(HasSubstr("these are the blocks 700 to 899 of those up to 1100 (interrupted)"),
                               HasSubstr("go on with --from 900")));
    interrupted_at = UINT64_MAX;
    EXPECT_EQ(run("1000"), 0) << "an earlier interrupt is forgotten: " << problem;
}

TEST_F(WalletHistory, EndsAtOnceWhenItIsInterrupted) {
    using std::chrono::steady_clock;
    interrupted_at = 1'010;
    for (const bool by_limit : {true, false}) {
        limited = by_limit;
        held = std::chrono::milliseconds(by_limit ? 0 : 3'000);
        interrupted.reset();
        EXPECT_EQ(run("1000"), 1);
        ASSERT_TRUE(interrupted);
        EXPECT_LT(steady_clock::now() - *interrupted, std::chrono::seconds(1)) << by_limit;
        EXPECT_THAT(problem, HasSubstr("interrupted"));
    }
}

TEST_F(WalletHistory, ABlockThatALaggingNodeLacksIsReadFromAnother) {
    lacked = 1'050;
    EXPECT_EQ(run("1000"), 0) << problem;
    lacks = 1'000;
    EXPECT_EQ(run("1000"), 1);
    EXPECT_THAT(problem, HasSubstr("does not have block 1050"));
}

}  // namespace
}  // namespace retrace::node
