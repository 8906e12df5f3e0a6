// SPDX-License-Identifier: MIT
// The embedded engine on a chain whose genesis names this node as its only validator. Contracts' SPEC 20.8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "ledger/block/report_log.hpp"
#include "node/cmd/testnet/testnet.hpp"
#include "node/server/comet/home.hpp"
#include "node/server/node.hpp"
#include "node/server/rules.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SoloValidator : public testing::Test {
protected:
    Result<Testnet> init(std::uint32_t validators, bool embedded) {
        TestnetPlan plan;
        plan.folder = folder_.path() / std::to_string(validators);
        plan.validators = validators;
        plan.embedded = embedded;
        return init_testnet(plan);
    }
    static Config config_of(const fs::path& folder) {
        Config config;
        config.data_dir = (folder / "data").string();
        config.genesis = (folder / "genesis.json").string();
        config.engine.block_ms = 5;
        config.rpc.port = 0;
        return config;
    }
    static std::string refusal(const Config& config) {
        const auto node = Node::open(config, native_rules());
        if (!node) return node.error().message;
        const auto port = (*node)->start();
        return port ? "" : port.error().message;
    }
    static void reach(Node& node, std::uint64_t height) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (node.chain().height() < height && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ASSERT_GE(node.chain().height(), height) << node.status().reason;
    }

    test::TemporaryFolder folder_;
};

TEST_F(SoloValidator, ItsSharesAreMixedIntoTheBeacon) {
    const auto made = init(1, true);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    const Config config = config_of(made->folders[0]);
    for (const std::uint64_t target : {21, 31}) {  // Epochs of 10 blocks; the second time after a restart.
        const auto node = Node::open(config, native_rules());
        ASSERT_TRUE(node.has_value()) << node.error().message;
        const auto port = (*node)->start();
        ASSERT_TRUE(port.has_value()) << port.error().message;
        reach(**node, target);
        (*node)->stop();
        const auto& chain = (*node)->chain();
        const ledger::Validator validator = chain.genesis().validators.front();
        for (std::uint64_t height = 1; height <= target; ++height) {
            const auto block = chain.block(height);
            ASSERT_TRUE(block != nullptr);
            EXPECT_EQ(block->header.proposer, validator.account);
            const auto report = ledger::read_report(block->system_logs);
            ASSERT_TRUE(report.has_value());
            EXPECT_TRUE(report->missed.empty());
            ASSERT_EQ(report->shares.size(), height % 10 == 0 ? 1U : 0U) << height;
            for (const ledger::BeaconShare& share : report->shares)
                EXPECT_EQ(share.validator, ledger::consensus_address(validator.key));
        }
    }
    const auto verified = verify_data(config, native_rules(), {});
    EXPECT_TRUE(verified.has_value()) << verified.error().message;
}

TEST_F(SoloValidator, DecidesOnlyWithTheKeysThatTheGenesisNames) {
    const auto made = init(1, true);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    Config config = config_of(made->folders[0]);
    const fs::path keys = fs::path(config.data_dir) / "comet" / "config";
    config.engine.proposer = ledger::Address{};
    EXPECT_THAT(refusal(config), HasSubstr("drop --proposer"));
    config.engine.proposer.reset();
    fs::rename(keys / "vrf_key", keys / "vrf_key.kept");
    EXPECT_THAT(refusal(config), HasSubstr("restore comet/config/vrf_key"));
    fs::rename(keys / "vrf_key.kept", keys / "vrf_key");
    EXPECT_EQ(refusal(config), "");
    fs::remove(keys / "priv_validator_key.json");
    EXPECT_THAT(refusal(config), HasSubstr("this node has another one: restore the validator's keys"));
}

TEST_F(SoloValidator, WithDeveloperAccountsAnswersOnLoopbackOnly) {
    const auto made = init(1, true);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    Config config = config_of(made->folders[0]);
    config.rpc.host = "0.0.0.0";
    EXPECT_THAT(refusal(config), HasSubstr("published keys and listens on loopback only"));
}

TEST_F(SoloValidator, SeveralValidatorsNeedCometBft) {
    EXPECT_THAT(init(4, true).error().message, HasSubstr("--engine solo is for --validators 1"));
    const auto made = init(4, false);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_THAT(refusal(config_of(made->folders[0])), HasSubstr("start the node with --engine comet"));
}

}  // namespace
}  // namespace retrace::node
