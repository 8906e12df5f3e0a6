// SPDX-License-Identifier: MIT
// What becomes of a transaction, as the validators signed for it, whatever the node says.
#include <gmock/gmock.h>

#include <atomic>
#include <boost/json.hpp>
#include <thread>

#include "node/agents/submitter.hpp"
#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_beginning.hpp"
#include "tests/unit/node/signed_node.hpp"

namespace retrace::node {
namespace {

using ::testing::HasSubstr;
namespace json = boost::json;

struct ProvenChain : ::testing::Test {
    ProvenChain() {
        node.mine();
        node.mine();
    }
    /// A transaction with a log, in a block that is proved.
    Hash32 included() {
        const ledger::TxPtr tx = world.make_tx(1, test::ToyExecutor::contract(), {}, {test::ToyExecutor::emit, 7});
        world.send(tx);
        for (int i = 0; i < 3; ++i) node.mine();
        return tx->hash;
    }
    TxOutcome told(const Hash32& tx) { return client.outcome(tx).value().value(); }

    const test::BeginningExecutor rules;
    test::RpcWorld world{&rules};
    test::SignedNode node{world};
    RpcClient client = *RpcClient::connect(node.url());
    ChainReader reader{client, light::TrustedBlock{1, node.hash_at(1)}, std::chrono::seconds(1)};
};

TEST_F(ProvenChain, AnOutcomeIsWhatTheReceiptsOfItsBlockSay) {
    for (int i = 0; i < 2; ++i) {  // One of two blocks begins with logs of its own.
        const TxOutcome outcome = told(included());
        const auto proven = reader.outcome(outcome);
        ASSERT_TRUE(proven) << proven.error().message;
        EXPECT_TRUE(proven->ok);
        EXPECT_EQ(proven->height, outcome.height);
        EXPECT_EQ(proven->logs, outcome.logs);
        ASSERT_EQ(proven->logs.size(), 1U);
        EXPECT_EQ(proven->logs[0].data, Bytes{7});
        node.mine();
    }
    EXPECT_EQ(reader.chain_id().value(), kDevChainId);
}

TEST_F(ProvenChain, AnOutcomeFarBelowTheNewestBlockIsProvedByItsSuccessors) {
    const TxOutcome outcome = told(included());
    for (int i = 0; i < 20; ++i) node.mine();
    EXPECT_TRUE(reader.outcome(outcome).has_value());
    node.lie("retrace_getHeader", [](json::value& result) {
        std::string encoded(result.at("encoded").as_string());
        encoded.back() = encoded.back() == '0' ? '1' : '0';
        result.at("encoded") = encoded;
    });
    const auto refused = reader.outcome(outcome);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("is not the one that the next one follows"));
}

TEST_F(ProvenChain, ReceiptsThatDifferInAnythingAreRefused) {
    const TxOutcome outcome = told(included());
    const auto first = [](json::value& receipts) -> json::object& { return receipts.at(0).as_object(); };
    const std::map<std::string, test::SignedNode::Lie> changed{
        {"status", [&](json::value& r) { first(r)["status"] = "0x0"; }},
        {"gas", [&](json::value& r) { first(r)["gasUsed"] = "0x1"; }},
        {"sum of gas", [&](json::value& r) { first(r)["cumulativeGasUsed"] = "0x1"; }},
        {"price", [&](json::value& r) { first(r)["effectiveGasPrice"] = "0x1"; }},
        {"no log", [&](json::value& r) { first(r)["logs"] = json::array(); }},
        {"data of a log", [&](json::value& r) { first(r)["logs"].at(0).as_object()["data"] = "0x08"; }},
        {"another transaction", [&](json::value& r) { first(r)["transactionHash"] = to_0x(view(Hash32{{9}})); }},
        {"logs of no transaction",
         [](json::value& r) {
             const json::value of_the_call = r.at(0);
             r.as_array().resize(1);
             r.as_array().push_back(of_the_call);
         }},
        {"no receipt", [](json::value& r) { r = json::array(); }},
        {"too many", [](json::value& r) {
             for (int i = 0; i < 3; ++i) r.as_array().push_back(r.at(0));
         }}};
    for (const auto& [name, lie] : changed) {
        node.lie("eth_getBlockReceipts", lie);
        EXPECT_FALSE(reader.outcome(outcome).has_value()) << name;
    }
    node.lie("eth_getBlockReceipts", {});
    EXPECT_TRUE(reader.outcome(outcome).has_value());
    TxOutcome absent = outcome;
    absent.hash = Hash32{{3}};
    const auto nowhere = reader.outcome(absent);
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error().message, HasSubstr("where the node says it is"));
    absent.height = 1'000'000;
    EXPECT_THAT(reader.outcome(absent).error().message, HasSubstr("does not show a later block"));
}

/// A sender that believed it would send the same again.
TEST_F(ProvenChain, ACallThatWasExecutedIsNotToldAsRefused) {
    const ledger::SecretKey& key = test::dev_key(2);
    Submitter submitter(client, key, kDevChainId, &reader);
    node.lie("eth_getTransactionReceipt", [](json::value& result) {
        if (result.is_object()) result.as_object()["status"] = "0x0";
    });
    std::atomic<bool> stop{false};
    std::thread miner([&] {
        for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(30))) node.mine();
    });
    const auto sent = submitter.send("emit", test::ToyExecutor::contract(), {}, Bytes{test::ToyExecutor::emit, 7});
    const auto outcome = sent ? submitter.wait(*sent) : Result<TxOutcome>(error(sent.error().message));
    stop = true;
    miner.join();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->logs.size(), 1U);
}

TEST_F(ProvenChain, ANonceThatNoBlockAccountsForIsNotUsed) {
    const ledger::Address account = test::dev_key(1).address();
    included();
    EXPECT_EQ(reader.next_nonce(account).value(), 1U);
    node.lie("eth_getTransactionCount", [](json::value& result) { result = "0x0"; });
    EXPECT_EQ(reader.next_nonce(account).value(), 1U) << "one that is used up is not taken either";
    node.lie("eth_getTransactionCount", [](json::value& result) { result = "0x3"; });
    const auto ahead = reader.next_nonce(account);
    ASSERT_FALSE(ahead);
    EXPECT_THAT(ahead.error().message, HasSubstr("2 transactions of this account wait"));
}

TEST_F(ProvenChain, TheChainOfASignatureIsThatOfTheValidators) {
    node.lie("eth_chainId", [](json::value& result) { result = "0x1"; });
    EXPECT_EQ(reader.chain_id().value(), kDevChainId);
}

/// The world's clock is that of its genesis, long before this test.
TEST_F(ProvenChain, AnOldBlockIsReportedOnce) {
    std::vector<std::string> warnings;
    reader.on_old_block([&](const std::string& why) { warnings.push_back(why); });
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.height().has_value());
    node.mine();
    ASSERT_TRUE(reader.height().has_value());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0], HasSubstr("minutes old"));
}

TEST_F(ProvenChain, ALowerBlockThanBeforeIsRefused) {
    for (int i = 0; i < 3; ++i) node.mine();
    ASSERT_TRUE(reader.height().has_value());
    node.mine();
    node.show_up_to(4);
    const auto lower = reader.height();
    ASSERT_FALSE(lower);
    EXPECT_THAT(lower.error().message, HasSubstr("is not above the trusted one"));
}

}  // namespace
}  // namespace retrace::node
