// SPDX-License-Identifier: MIT
// An agent asks again only for the slots that its node names as changed, and for all of them where the node names none.
#include "node/agents/slot_cache.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "merkle/hash/sha256.hpp"
#include "node/agents/chain_reader.hpp"
#include "node/platform/json_values.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

/// A node whose slots hold the number of the block that changed them last.
struct CachedSlots : ::testing::Test {
    std::map<std::uint64_t, std::set<std::uint8_t>> changes;  ///< By height: keys.
    std::uint8_t chain = 1;                                   ///< Another number is another chain.
    bool tells = true;
    std::size_t slots_asked_for = 0;
    test::HostilePeer peer{[this](const std::string&, const test::HostilePeer::Send& send) {
        const json::object call = json::parse(peer.body()).as_object();
        const json::array& params = call.at("params").as_array();
        const bool slots = call.at("method") == "retrace_getSlots";
        send(test::HostilePeer::ok(json::serialize(
            json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"result", slots ? slots_of(params) : changed(params)}})));
    }};
    RpcClient client = *RpcClient::connect(peer.url());
    ChainReader reader{client};
    const ledger::Address contract{};

    json::value slots_of(const json::array& params) {
        const std::uint64_t height = *rpc::parse_u64(params[1]);
        json::array values;
        for (const json::value& name : params[0].as_array()) {
            ++slots_asked_for;
            const std::uint8_t key = rpc::parse_data(name.as_object().at("key"))->at(0);
            std::uint8_t value = 0;
            for (const auto& [at, keys] : changes)
                if (at <= height && keys.contains(key)) value = static_cast<std::uint8_t>(at);
            const Bytes bytes{chain, value};
            values.emplace_back(rpc::data(View(bytes)));
        }
        return json::object{{"values", std::move(values)}};
    }
    Hash32 hash_of(std::uint64_t height) const {
        Hash32 out;
        out.bytes[0] = chain, out.bytes[1] = static_cast<std::uint8_t>(height);
        return out;
    }
    json::value changed(const json::array& params) {
        if (!tells) return nullptr;
        const std::uint64_t from = *rpc::parse_u64(params[0]), to = *rpc::parse_u64(params[1]);
        Bytes tags;
        for (const auto& [at, keys] : changes) {
            if (at <= from || at > to) continue;
            for (const std::uint8_t key : keys) {
                const Hash32 hash = merkle::sha256({view(contract), View(&key, 1)});
                tags.insert(tags.end(), hash.bytes.begin(), hash.bytes.begin() + 4);
            }
        }
        return json::object{{"from_hash", rpc::data(hash_of(from))},
                            {"hash", rpc::data(hash_of(to))},
                            {"changed", rpc::data(View(tags))}};
    }
    /// Reads ten slots of a block, checks them, and returns of how many the node was asked.
    std::size_t read(std::uint64_t height) {
        const std::size_t before = slots_asked_for;
        const RemoteState state = reader.state(height);
        for (std::uint8_t key = 0; key < 10; ++key) {
            std::uint8_t value = 0;
            for (const auto& [at, keys] : changes)
                if (at <= height && keys.contains(key)) value = static_cast<std::uint8_t>(at);
            EXPECT_EQ(state.slot(contract, View(&key, 1)), (Bytes{chain, value})) << int{key} << " at " << height;
        }
        EXPECT_FALSE(state.failure());
        return slots_asked_for - before;
    }
};

TEST_F(CachedSlots, OnlyChangedOnesAreAskedForAgain) {
    changes = {{3, {1, 2}}, {5, {2}}, {6, {7}}, {8, {8}}};
    EXPECT_EQ(read(1), 10u);
    EXPECT_EQ(read(2), 10u) << "the hash of block 1 was not known";
    EXPECT_EQ(read(2), 0u);
    EXPECT_EQ(read(3), 2u);
    EXPECT_EQ(read(4), 0u);
    EXPECT_EQ(read(7), 2u) << "blocks that were not looked at count as well";
    EXPECT_EQ(read(8), 1u);
}

TEST_F(CachedSlots, AStateKeepsToItsBlock) {
    changes = {{3, {1}}};
    read(1);
    read(2);
    const RemoteState old = reader.state(2);
    const std::uint8_t key = 1;
    EXPECT_EQ(old.slot(contract, View(&key, 1)), (Bytes{chain, 0}));
    EXPECT_EQ(read(3), 1u);
    EXPECT_EQ(old.slot(contract, View(&key, 1)), (Bytes{chain, 0}));
    EXPECT_EQ(read(2), 10u) << "an older block is read anew";
}

TEST_F(CachedSlots, AnotherChainOrANodeThatTellsNothingIsReadAnew) {
    EXPECT_EQ(read(1), 10u);
    EXPECT_EQ(read(2), 10u);
    EXPECT_EQ(read(3), 0u);
    chain = 2;
    EXPECT_EQ(read(4), 10u);
    EXPECT_EQ(read(5), 0u);
    tells = false;
    EXPECT_EQ(read(6), 10u);
    tells = true;
    EXPECT_EQ(read(7), 10u);
    EXPECT_EQ(read(8), 0u);
}

TEST_F(CachedSlots, WhatNobodyReadsIsForgotten) {
    read(1);
    read(2);
    for (std::uint64_t height = 3; height < 3 + SlotCache::kUnreadBlocks; ++height) reader.state(height);
    EXPECT_EQ(read(3 + SlotCache::kUnreadBlocks), 10u);
}

}  // namespace
}  // namespace retrace::node
