// SPDX-License-Identifier: MIT
// The submitter raises the fee of a call that no block includes, within bounds, and detects inclusion.
#include "node/agents/submitter.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <mutex>

#include "contracts/calls/encode.hpp"
#include "ledger/crypto/keccak.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ledger::U256;

/// A node with one account: it keeps the newest transaction of each nonce, and includes those that the test selects.
struct OneAccountsNode : ::testing::Test {
    std::mutex mutex;
    std::uint64_t height = 100;
    std::uint64_t base_fee = 1'000'000'000, gas = 21'000, least_tip = 0;
    std::vector<ledger::DecodedTx> sent;
    std::vector<Hash32> hashes;               ///< Hashes of `sent`.
    std::map<std::uint64_t, Hash32> waiting;  ///< Keyed by nonce.
    std::optional<Hash32> included;
    std::string refusal;  ///< The error object that answers each estimate; none if empty.
    test::HostilePeer peer{[this](const std::string&, const test::HostilePeer::Send& send) {
        const std::lock_guard lock(mutex);
        const json::object call = json::parse(peer.body()).as_object();
        if (!refusal.empty() && call.at("method").as_string() == "eth_estimateGas") {
            send(test::HostilePeer::ok(R"({"jsonrpc":"2.0","id":1,"error":)" + refusal + "}"));
            return;
        }
        send(test::HostilePeer::ok(R"({"jsonrpc":"2.0","id":1,"result":)" +
                                   answer(std::string(call.at("method").as_string()), call.at("params").as_array()) +
                                   "}"));
    }};
    RpcClient client = *RpcClient::connect(peer.url());
    const ledger::SecretKey key = *ledger::SecretKey::from_bytes(Bytes(32, 7));
    Submitter submitter{client, key, 7};

    static std::string quoted(std::uint64_t n) {
        char text[32];
        std::snprintf(text, sizeof text, "\"0x%llx\"", static_cast<unsigned long long>(n));
        return text;
    }
    static Hash32 hash_in(const json::array& params) { return to_hash32(*from_hex(params[0].as_string().c_str())); }
    std::string answer(const std::string& method, const json::array& params) {
        if (method == "eth_blockNumber") return quoted(height);
        if (method == "eth_estimateGas") return quoted(gas);
        if (method == "eth_getTransactionCount") return quoted(waiting.size());
        if (method == "eth_getBlockByNumber") return R"({"baseFeePerGas":)" + quoted(base_fee) + "}";
        if (method == "eth_getTransactionReceipt") {
            if (included != hash_in(params)) return "null";
            return R"({"status":"0x1","blockNumber":"0x7","gasUsed":"0x5208","logs":[],"effectiveGasPrice":"0x1"})";
        }
        if (method == "eth_getTransactionByHash") {
            const Hash32 hash = hash_in(params);
            bool known = included == hash;
            for (const auto& [nonce, tx] : waiting) known = known || tx == hash;
            return known ? "{}" : "null";
        }
        const Bytes raw = *from_hex(params[0].as_string().c_str());
        auto tx = *ledger::decode_tx(raw);
        if (tx.tx.tip_cap < least_tip) return "null";
        sent.push_back(std::move(tx));
        hashes.push_back(ledger::keccak256(raw));
        waiting[sent.back().tx.nonce] = hashes.back();
        return "\"" + to_0x(view(hashes.back())) + "\"";
    }
    /// Passes blocks without the call, and lets the submitter react to each.
    void pass(int blocks) {
        for (int i = 0; i < blocks; ++i) {
            {
                const std::lock_guard lock(mutex);
                ++height;
            }
            EXPECT_TRUE(submitter.poll().empty());
        }
    }
    /// Includes it in a block, and its nonce is used up.
    void include(std::size_t which) {
        const std::lock_guard lock(mutex);
        included = hashes[which];
        waiting.erase(sent[which].tx.nonce);
    }
};

TEST_F(OneAccountsNode, WhatNoBlockTakesIsOfferedAgainForMore) {
    const auto hash = submitter.send("a call", ledger::Address{}, 3, Bytes{1, 2});
    ASSERT_TRUE(hash);
    EXPECT_TRUE(submitter.poll().empty());
    pass(2);
    EXPECT_EQ(sent.size(), 1U) << "two blocks may be full";
    pass(1);
    ASSERT_EQ(sent.size(), 2U);
    const ledger::Transaction& first = sent[0].tx;
    const ledger::Transaction& second = sent[1].tx;
    EXPECT_GE(second.tip_cap * U256{8}, first.tip_cap * U256{9}) << "an eighth more at the least";
    EXPECT_GE(second.fee_cap * U256{8}, first.fee_cap * U256{9});
    ledger::Transaction same = second;
    same.tip_cap = first.tip_cap;
    same.fee_cap = first.fee_cap;
    EXPECT_EQ(same, first) << "else the same: nonce, receiver, value, data, gas";
    pass(3);
    ASSERT_EQ(sent.size(), 3U);
    include(2);
    const auto done = submitter.poll();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].sent, *hash) << "as it was sent";
    EXPECT_EQ(done[0].outcome.hash, hashes[2]) << "as it was taken";
    pass(4);
    EXPECT_EQ(sent.size(), 3U) << "and no more";
}

TEST_F(OneAccountsNode, AFreeCallHasNoTipUnlessTheNodeAsksForOne) {
    ASSERT_TRUE(submitter.send_free("reveal beacon", contracts::RevealBeacon{}));
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].tx.tip_cap, U256{});
    least_tip = 1;
    ASSERT_TRUE(submitter.send_free("reveal beacon", contracts::RevealBeacon{Hash32{{1}}}));
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[1].tx.tip_cap, U256{Submitter::kTip});
}

TEST_F(OneAccountsNode, AnEarlierPriceMayBeTheOneThatIsTaken) {
    const auto hash = submitter.send("a call", ledger::Address{}, 0, {});
    ASSERT_TRUE(hash);
    EXPECT_TRUE(submitter.poll().empty());
    pass(3);
    ASSERT_EQ(sent.size(), 2U);
    include(0);
    const auto done = submitter.wait(*hash, std::chrono::seconds(5));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->hash, hashes[0]);
}

TEST_F(OneAccountsNode, ABaseFeeThatRoseIsFollowedAtOnce) {
    ASSERT_TRUE(submitter.send("a call", ledger::Address{}, 0, {}));
    EXPECT_TRUE(submitter.poll().empty());
    base_fee = 50'000'000'000;
    pass(3);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_GE(sent[1].tx.fee_cap, U256{100'000'000'000});
}

TEST_F(OneAccountsNode, NeverForMoreThanTenCoinsAndNotForEver) {
    gas = 1'000'000'000;  // three coins at the start
    ASSERT_TRUE(submitter.send("a dear call", ledger::Address{}, 0, {}));
    EXPECT_TRUE(submitter.poll().empty());
    pass(60);
    EXPECT_GT(sent.size(), 2U);
    for (const auto& tx : sent) EXPECT_LE(tx.tx.fee_cap * U256{tx.tx.gas_limit}, kFeeMost);
    EXPECT_GT(sent.back().tx.fee_cap * U256{sent.back().tx.gas_limit} * U256{5}, kFeeMost * U256{4}) << "up to them";

    sent.clear();
    gas = 21'000;
    ASSERT_TRUE(submitter.send("a cheap call", ledger::Address{}, 0, Bytes{1}));
    EXPECT_TRUE(submitter.poll().empty());
    pass(100);
    EXPECT_EQ(sent.size(), 1 + Submitter::kFeeBumpsMax) << "whoever keeps it waiting gains no more by it";
}

/// Blocks are full for a while, and agents repeat calls that the chain does not show: each repetition would eventually
/// be included and refused, and its fee charged.
TEST_F(OneAccountsNode, WhatWaitsForABlockIsNotPaidForTwice) {
    const auto hash = submitter.send("a call", ledger::Address{}, 3, Bytes{1, 2});
    ASSERT_TRUE(hash);
    EXPECT_TRUE(submitter.poll().empty());
    pass(2);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(submitter.send("a call", ledger::Address{}, 3, Bytes{1, 2}).value(), *hash);
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_EQ(submitter.pending(), 1U);
    for (const auto& [value, data] : {std::pair{4, Bytes{1, 2}}, std::pair{3, Bytes{1, 3}}})
        EXPECT_TRUE(submitter.send("another", ledger::Address{}, value, data));
    EXPECT_EQ(sent.size(), 3U) << "another value, another call";
    include(0);
    EXPECT_EQ(submitter.poll().size(), 1U);
    EXPECT_NE(submitter.send("a call", ledger::Address{}, 3, Bytes{1, 2}).value(), *hash) << "it was taken";
}

TEST_F(OneAccountsNode, ARefusedCallIsToldInTheRulesWords) {
    const auto told = [&](const std::string& error) {
        refusal = error;
        const auto sent_now = submitter.send("task accept", ledger::Address{}, 0, {});
        return sent_now ? std::string("sent") : sent_now.error().message;
    };
    const auto reverted = [](std::uint16_t code, const std::string& slug) {
        return R"({"code":3,"message":"execution reverted: the node's words","data":")" +
               to_0x(contracts::calldata(contracts::Refused{code, slug})) + R"("})";
    };
    EXPECT_EQ(told(reverted(202, "wrong_task_state")), "task accept: wrong_task_state: the task is in another state");
    EXPECT_EQ(told(reverted(65'000, "a_newer_rule")), "task accept: a_newer_rule (rule 65000)");
    EXPECT_EQ(
        told(
            R"({"code":-32000,"message":"insufficient funds for transfer: have 0 wei, need 1500000000000000001 wei"})"),
        "task accept: insufficient funds for transfer: have 0 coins, need 1.500001 coins");
    for (const std::string& other : {std::string("insufficient funds: have wei, need wei"), std::string("nothing"),
                                     "insufficient funds: have 1 wei, need " + std::string(79, '9') + " wei",
                                     "insufficient funds: have 1 wei, need " + std::string(78, '9') + " wei"})
        EXPECT_EQ(told(R"({"code":-32000,"message":")" + other + R"("})"), "task accept: " + other);
    EXPECT_TRUE(sent.empty());
}

TEST_F(OneAccountsNode, WhatTheNodeForgotIsDropped) {
    ASSERT_TRUE(submitter.send("a call", ledger::Address{}, 0, {}));
    EXPECT_TRUE(submitter.poll().empty());
    pass(3);
    ASSERT_EQ(sent.size(), 2U);
    waiting.clear();
    pass(4);
    EXPECT_EQ(sent.size(), 2U) << "the agent repeats it, and not its prices";
}

}  // namespace
}  // namespace retrace::node
