// SPDX-License-Identifier: MIT
// Logs at the beginning of a block, and the system transaction that represents their source.
#include <gtest/gtest.h>

#include "tests/unit/node/rpc_beginning.hpp"

namespace retrace::node::test {
namespace {

const std::string kZero = "0x" + std::string(40, '0');

class RpcSystemTx : public testing::Test {
protected:
    /// Block 1 has a transaction; block 2 has logs at its beginning and a transaction with one log.
    RpcSystemTx() : world(&executor) {
        for (int i = 0; i < 2; ++i) {
            sent = world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::emit, 7}));
            world.mine();
        }
        block = world.result("eth_getBlockByNumber", {"0x2"}).as_object();
        hash = text(block.at("hash"));
    }

    BeginningExecutor executor;
    RpcWorld world;
    std::string sent, hash;
    json::object block;
};

TEST_F(RpcSystemTx, LogsNameATransactionThatIsThere) {
    const json::array logs = world.result("eth_getLogs", {json::object{{"fromBlock", "0x2"}}}).as_array();
    ASSERT_EQ(logs.size(), 3U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(text(logs[i].at("transactionHash")), hash);
        EXPECT_EQ(logs[i].at("transactionIndex"), "0x1") << "behind the last that was sent";
        EXPECT_EQ(text(logs[i].at("logIndex")), rpc::quantity(i));
    }
    EXPECT_EQ(text(logs[2].at("transactionHash")), sent);
    EXPECT_EQ(logs[2].at("transactionIndex"), "0x0");
    EXPECT_EQ(logs[2].at("logIndex"), "0x2");

    const json::value tx = world.result("eth_getTransactionByHash", {hash});
    EXPECT_EQ(text(tx.at("hash")), hash);
    EXPECT_EQ(text(tx.at("blockHash")), hash);
    EXPECT_EQ(tx.at("blockNumber"), "0x2");
    EXPECT_EQ(tx.at("transactionIndex"), "0x1");
    for (const char* side : {"from", "to"}) EXPECT_EQ(text(tx.at(side)), kZero);
    for (const char* none : {"gas", "gasPrice", "value", "nonce", "type", "v", "r", "s"})
        EXPECT_EQ(tx.at(none), "0x0") << none;
    EXPECT_EQ(tx.at("input"), "0x");
    EXPECT_EQ(tx.at("chainId"), "0x1c82");
    EXPECT_EQ(world.result("eth_getTransactionByBlockHashAndIndex", {hash, "0x1"}), tx);
    EXPECT_EQ(world.result("eth_getTransactionByBlockNumberAndIndex", {"0x2", "0x1"}), tx);
    EXPECT_TRUE(world.result("eth_getTransactionByBlockNumberAndIndex", {"0x2", "0x2"}).is_null());

    const json::value receipt = world.result("eth_getTransactionReceipt", {hash});
    EXPECT_EQ(receipt.at("logs"), (json::array{logs[0], logs[1]}));
    EXPECT_EQ(receipt.at("status"), "0x1");
    EXPECT_EQ(receipt.at("gasUsed"), "0x0");
    EXPECT_EQ(receipt.at("effectiveGasPrice"), "0x0");
    EXPECT_EQ(receipt.at("cumulativeGasUsed"), block.at("gasUsed"));
    EXPECT_EQ(receipt.at("transactionIndex"), "0x1");
    EXPECT_EQ(text(receipt.at("transactionHash")), hash);
    EXPECT_NE(text(receipt.at("logsBloom")), "0x" + std::string(512, '0'));
    const json::array receipts = world.result("eth_getBlockReceipts", {"0x2"}).as_array();
    ASSERT_EQ(receipts.size(), 2U);
    EXPECT_EQ(text(receipts[0].at("transactionHash")), sent);
    EXPECT_EQ(receipts[1], receipt);
}

TEST_F(RpcSystemTx, IsNoneOfTheTransactionsThatTheBlockCommitsTo) {
    EXPECT_EQ(block.at("transactions"), json::array{sent});
    EXPECT_EQ(world.result("eth_getBlockTransactionCountByHash", {hash}), "0x1");
    const std::string other = text(world.result("eth_getBlockByNumber", {"0x1"}).at("hash"));
    for (const char* method : {"eth_getTransactionByHash", "eth_getTransactionReceipt"})
        EXPECT_TRUE(world.result(method, {other}).is_null()) << "its logs are a transaction's";
    EXPECT_EQ(world.result("eth_getBlockReceipts", {"0x1"}).as_array().size(), 1U);
    EXPECT_TRUE(world.result("eth_getTransactionByBlockNumberAndIndex", {"0x1", "0x1"}).is_null());
}

/// It is loaded together with its block, which would block other requests for too long.
TEST_F(RpcSystemTx, IsNotLookedUpWhereOthersWait) {
    const auto is_light = [this](const std::string& name, const std::string& asked) {
        const std::string body = R"({"jsonrpc":"2.0","id":1,"method":")" + name + R"(","params":[")" + asked + "\"]}";
        return world.dispatcher->is_light(rpc::RequestBody(body, {}), body.size());
    };
    for (const char* method : {"eth_getTransactionByHash", "eth_getTransactionReceipt"}) {
        EXPECT_TRUE(is_light(method, sent)) << method;
        EXPECT_TRUE(is_light(method, "nonsense")) << method;
        EXPECT_FALSE(is_light(method, hash)) << method;
    }
}

}  // namespace
}  // namespace retrace::node::test
