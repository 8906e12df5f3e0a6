// SPDX-License-Identifier: MIT
// Fees suggested to wallets: derived from recent payments, within bounds.
#include <gtest/gtest.h>

#include "node/platform/json_values.hpp"
#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

constexpr std::uint64_t kGwei = 1'000'000'000;
const ledger::U256 kLeast = 100'000'000;

struct RpcTips : ::testing::Test {
    RpcWorld world;
    std::uint64_t nonce = 0;

    void pay(std::uint64_t tip) {
        ledger::Transaction tx;
        tx.chain_id = kDevChainId;
        tx.nonce = nonce++;
        tx.tip_cap = tip;
        tx.fee_cap = ledger::U256{2 * kGwei} + ledger::U256{tip};
        tx.gas_limit = ledger::kTransferGas;
        tx.to = dev_key(1).address();
        world.send(ledger::sign_tx(std::move(tx), dev_key(0)));
    }
    void blocks(int count, std::uint64_t tip) {
        for (int i = 0; i < count; ++i) {
            if (tip != 0) pay(tip);
            world.mine();
        }
    }
    ledger::U256 suggested() {
        const auto tip = rpc::parse_u256(world.result("eth_maxPriorityFeePerGas"));
        EXPECT_EQ(rpc::parse_u256(world.result("eth_gasPrice")).value(), world.chain->next_base_fee() + tip.value());
        return tip.value();
    }
};

TEST_F(RpcTips, FollowWhatMostBlocksWerePaid) {
    EXPECT_EQ(suggested(), kLeast);
    blocks(20, 3 * kGwei);
    EXPECT_EQ(suggested(), ledger::U256{3 * kGwei});
    blocks(8, 5 * kGwei);
    EXPECT_EQ(suggested(), ledger::U256{3 * kGwei});
    blocks(1, 5 * kGwei);
    EXPECT_EQ(suggested(), ledger::U256{5 * kGwei}) << "nine of twenty: the sixtieth percentile";
    blocks(12, 0);
    EXPECT_EQ(suggested(), kLeast) << "and forget";
}

TEST_F(RpcTips, OneWhoPaysMuchSaysLittle) {
    blocks(4, 0);
    blocks(1, 400 * kGwei);
    blocks(4, 0);
    EXPECT_EQ(suggested(), kLeast);
    for (const std::uint64_t tip : {std::uint64_t{1}, 400 * kGwei, std::uint64_t{2}}) pay(tip);
    world.mine();
    EXPECT_EQ(suggested(), kLeast);
}

TEST_F(RpcTips, NobodyIsToldToPayWithoutBound) {
    blocks(20, 4'000 * kGwei);
    EXPECT_EQ(suggested(), ledger::U256{10 * kGwei});
}

TEST_F(RpcTips, TheNextBaseFeeIsThatOfTheRules) {
    blocks(3, 0);
    const json::object history = world.result("eth_feeHistory", {"0x4", "latest"}).as_object();
    EXPECT_EQ(history.at("baseFeePerGas"),
              json::array({"0x3b9aca00", "0x3b9aca00", "0x3b9aca00", "0x3b9aca00", "0x3b9aca00"}))
        << "genesis' is the least";
}

}  // namespace
}  // namespace retrace::node::test
