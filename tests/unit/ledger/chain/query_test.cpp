// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "ledger/chain/execute.hpp"
#include "ledger/chain/log_search.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::call;
using test::key;
using test::number;
using test::World;

TEST(Queries, FindsBlocksTransactionsAndReceipts) {
    MemoryStore store;
    World world(store);
    const TxPtr first = sign_tx(call(0, bytes("sk1")), key(0));
    const TxPtr second = sign_tx(call(1, Bytes(34, 'l')), key(0));
    world.block({});
    world.block({});
    const auto block = world.block({first, second});  // height 3: begin_block logs
    for (int i = 0; i < 12; ++i) world.block({});     // out of the recent blocks
    const auto found = world.chain->block(3);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->hash, block->hash);
    EXPECT_EQ(found->header, block->header);
    EXPECT_EQ(found->receipts, block->receipts);
    EXPECT_EQ(found->bloom, block->bloom);
    EXPECT_EQ(found->system_logs, block->system_logs);
    EXPECT_EQ(found->txs[1].tx->sender, key(0).address());
    EXPECT_EQ(found->txs[1].tx->raw, second->raw);
    EXPECT_EQ(world.chain->height_of(block->hash), 3U);
    EXPECT_FALSE(world.chain->height_of(Hash32{}));
    const auto record = world.chain->tx(second->hash);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->height, 3U);
    EXPECT_EQ(record->index, 1U);
    EXPECT_EQ(record->first_log_index, 1U) << "after begin_block's log";
    EXPECT_EQ(record->receipt, block->receipts[1]);
    EXPECT_FALSE(world.chain->tx(Hash32{}));
    EXPECT_FALSE(world.chain->tx(3, 2));
    EXPECT_EQ(world.chain->block(100), nullptr);
    EXPECT_FALSE(world.chain->header(100));
}

TEST(Queries, LogsAreFoundByAddressAndTopic) {
    MemoryStore store;
    World world(store);
    const Hash32 topic = merkle::sha256(bytes("topic"));
    Bytes data = bytes("l");
    data.insert(data.end(), topic.bytes.begin(), topic.bytes.end());
    for (std::uint64_t i = 0; i < 9; ++i) world.block({sign_tx(call(i, i % 2 ? data : bytes("p")), key(0))});
    const auto search = [&](const LogFilter& filter) { return search_logs(*world.chain, 0, 100, filter, 100).logs; };
    EXPECT_EQ(search({}).size(), 3U + 4U);
    EXPECT_EQ(search({.addresses = {}, .topics = {{topic}}}).size(), 4U);
    EXPECT_EQ(search({.addresses = {number(5)}, .topics = {}}).size(), 0U);
    EXPECT_EQ(search({.addresses = {number(5), test::kContract}, .topics = {{}}}).size(), 7U);
    EXPECT_EQ(search({.addresses = {}, .topics = {{}, {}}}).size(), 0U) << "no log has two topics";
    const auto found = search({.addresses = {}, .topics = {{Hash32{}, topic}}});
    EXPECT_EQ(found[2].height, 6U);
    EXPECT_EQ(found[2].log_index, 1U) << "height 6 begins with a system log";
    EXPECT_EQ(found[2].tx_index, 0U);
    const auto begun = logs_of(*world.chain->block(6), LogFilter{});
    EXPECT_EQ(begun[0].tx_hash, world.chain->block(6)->hash);
    EXPECT_EQ(begun[0].tx_index, 1U) << "behind the block's only transaction";
    EXPECT_TRUE(search_logs(*world.chain, 5, 4, {}, 6).logs.empty());
}

/// Counts scans, the expensive part of loading a block.
class CountingStore final : public Store {
public:
    std::optional<Bytes> get(View key) const override { return store_.get(key); }
    Status<> write(const Batch& batch, bool sync) override { return store_.write(batch, sync); }
    void scan(View prefix, View from, std::size_t limit, const Visit& visit) const override {
        ++scans;
        store_.scan(prefix, from, limit, visit);
    }
    mutable int scans = 0;

private:
    MemoryStore store_;
};

TEST(Queries, ASearchLoadsNoBlockWithoutLogs) {
    CountingStore store;
    World world(store);
    for (int i = 0; i < 50; ++i) world.block({});  // every third begins with a system log
    store.scans = 0;
    std::size_t work = 0;
    const auto count = [&work](std::size_t more) {
        work += more;
        return true;
    };
    const auto found = search_logs(*world.chain, 0, 50, {}, 100, count);
    EXPECT_EQ(found.logs.size(), 16U);
    EXPECT_EQ(work, 51U + 16 * kBlockWork);
    EXPECT_EQ(store.scans, 0) << "a block without transactions is its record alone";
}

TEST(Queries, ABlockCostsItsTransactionsAndItsBytes) {
    MemoryStore store;
    World world(store);
    world.block({});
    EXPECT_EQ(world.chain->block_work(1), kBlockWork);
    Transaction large = call(0, Bytes(100'000));
    large.gas_limit = 5'000'000;
    world.block({sign_tx(large, key(0))});
    const std::uint64_t work = kBlockWork + 1 + world.chain->block(2)->encoded_size / 4096;
    EXPECT_GT(work, kBlockWork + 24);
    EXPECT_EQ(world.chain->block_work(2), work);
    for (int i = 0; i < 20; ++i) world.block({});
    EXPECT_EQ(world.chain->block_work(2), work) << "from its record";
    EXPECT_EQ(world.chain->block_work(99), 0U);
}

TEST(Queries, ASearchEndsWhereItIsToldAndGoesOnFromThere) {
    MemoryStore store;
    World world(store);
    for (std::uint64_t i = 0; i < 9; ++i) world.block({sign_tx(call(i, bytes("l" + std::string(32, 't'))), key(0))});
    // Heights 3, 6 and 9 hold two logs, the others one.
    const auto full = search_logs(*world.chain, 0, 9, {}, 4);
    EXPECT_EQ(full.end, FoundLogs::End::full);
    EXPECT_EQ(full.logs.size(), 4U);
    EXPECT_EQ(full.next, 4U);
    const auto rest = search_logs(*world.chain, full.next, 9, {}, 8);
    EXPECT_EQ(rest.end, FoundLogs::End::complete);
    EXPECT_EQ(rest.logs.size(), 8U);
    EXPECT_EQ(rest.next, 10U);
    const auto tiny = search_logs(*world.chain, 3, 9, {}, 1);
    EXPECT_EQ(tiny.end, FoundLogs::End::full);
    EXPECT_EQ(tiny.logs.size(), 2U) << "a block over the limit comes whole, or no search would pass it";
    EXPECT_EQ(tiny.next, 4U);
    int asked = 0;
    const auto stopped = search_logs(*world.chain, 0, 9, {}, 100, [&asked](std::size_t) { return ++asked < 6; });
    EXPECT_EQ(stopped.end, FoundLogs::End::stopped);
    EXPECT_LT(stopped.next, 6U);
    EXPECT_EQ(stopped.logs.size(), search_logs(*world.chain, 0, stopped.next - 1, {}, 100).logs.size());
}

TEST(Simulate, CallsLeaveNothingBehind) {
    MemoryStore store;
    World world(store);
    const auto view = world.chain->view();
    const auto run = [&](const SimulatedCall& c) {
        return simulate(c, *view, world.chain->next_context(), 30'000'000, world.executor);
    };
    const Address from = key(0).address();
    const auto done = run({.from = from, .to = test::kContract, .value = 5, .data = bytes("sk1"), .gas = 0});
    ASSERT_FALSE(done.refusal);
    EXPECT_TRUE(done.result.ok);
    EXPECT_EQ(done.result.gas_used, 21'000U + 3 * 16 + 1000);
    EXPECT_TRUE(view->slot(test::kContract, bytes("k")).empty());
    const auto refused = run({.from = from, .to = test::kContract, .value = 0, .data = bytes("r"), .gas = 0});
    EXPECT_FALSE(refused.result.ok);
    EXPECT_EQ(refused.result.output, bytes("refusal"));
    EXPECT_TRUE(run({.from = {}, .to = number(1), .value = 0, .data = {}, .gas = 0}).result.ok);
    EXPECT_EQ(run({.from = {}, .to = number(1), .value = 1, .data = {}, .gas = 0}).refusal->message,
              "insufficient funds for transfer: have 0 wei, need 1 wei");
    EXPECT_EQ(run({.from = {}, .to = std::nullopt, .value = 0, .data = {}, .gas = 0}).refusal->code,
              TxError::creation_not_supported);
    EXPECT_EQ(run({.from = {}, .to = number(1), .value = 0, .data = {}, .gas = 20'000}).refusal->code,
              TxError::intrinsic_gas_too_low);
}

TEST(Simulate, AnEstimateIsEnoughAndExact) {
    MemoryStore store;
    World world(store);
    const Address from = key(0).address();
    const auto estimate = [&](std::optional<Address> to, Bytes data, std::uint64_t gas = 0) {
        return estimate_gas({.from = from, .to = to, .value = 1, .data = std::move(data), .gas = gas},
                            *world.chain->view(), world.chain->next_context(), 30'000'000, world.executor);
    };
    EXPECT_EQ(estimate(number(1), {}).gas, 21'000U);
    EXPECT_EQ(estimate(test::kContract, bytes("p")).gas, 21'000U + 16 + 1000);
    EXPECT_EQ(estimate(test::kContract, bytes("g")).gas, 21'000U + 16 + 5000) << "wants a reserve";
    EXPECT_FALSE(estimate(test::kContract, bytes("r")).ok());
    EXPECT_FALSE(estimate(test::kContract, bytes("p"), 21'500).ok());
    Transaction tx = call(0, bytes("g"), 1);
    tx.gas_limit = estimate(test::kContract, bytes("g")).gas;
    EXPECT_TRUE(world.block({sign_tx(tx, key(0))})->receipts[0].success);
}

}  // namespace
}  // namespace retrace::ledger
