// SPDX-License-Identifier: MIT
// Blocks are pruned when they leave the window; the rest can still be verified, and no crash prunes too much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/chain/keys.hpp"
#include "ledger/storage/fault_store.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using Fault = FaultStore::Fault;
using test::key;
using test::number;
using test::World;

constexpr std::uint64_t kPrunedChain = 12;
constexpr ChainOptions kArchive{.state_window = 3, .proof_window = 2, .threads = 1};
constexpr ChainOptions kPruned{.state_window = 3, .proof_window = 2, .block_window = 4, .threads = 1};

std::vector<TxPtr> pruned_txs(std::uint64_t height) {
    return {sign_tx(test::transfer(height - 1, number(height % 3), height), key(0)),
            sign_tx(test::call(height - 1, Bytes{'s', 'k', static_cast<std::uint8_t>(height)}), key(1))};
}

std::uint64_t count(const Store& store, char letter) {
    const Bytes prefix{static_cast<std::uint8_t>(letter)};
    std::uint64_t out = 0;
    store.scan(prefix, prefix, ~std::size_t{0}, [&](View, View) { return ++out, true; });
    return out;
}

TEST(Pruning, KeepsTheWindowAndBlockZero) {
    MemoryStore store;
    World world(store, kPruned);
    std::vector<std::shared_ptr<const Block>> blocks{world.chain->tip()};
    for (std::uint64_t height = 1; height <= kPrunedChain; ++height) blocks.push_back(world.block(pruned_txs(height)));
    World again(store, kPruned);  // nothing from memory
    EXPECT_EQ(again.chain->oldest_block(), kPrunedChain - 4);
    EXPECT_EQ(again.chain->block(0)->hash, blocks[0]->hash);
    for (std::uint64_t height = 1; height <= kPrunedChain; ++height) {
        const bool kept = height >= kPrunedChain - 4;
        EXPECT_EQ(again.chain->block(height) != nullptr, kept) << height;
        EXPECT_EQ(again.chain->header(height).has_value(), kept) << height;
        EXPECT_EQ(again.chain->bloom(height).has_value(), kept) << height;
        EXPECT_EQ(again.chain->height_of(blocks[height]->hash).has_value(), kept) << height;
        EXPECT_EQ(again.chain->tx(blocks[height]->txs[0].hash).has_value(), kept) << height;
    }
    EXPECT_EQ(count(store, 'b'), 6U);
    EXPECT_EQ(count(store, 'x'), 10U);
    EXPECT_EQ(count(store, 't'), 10U);
}

TEST(Pruning, WithoutAWindowKeepsEverything) {
    MemoryStore store;
    World world(store, kArchive);
    for (std::uint64_t height = 1; height <= kPrunedChain; ++height) world.block(pruned_txs(height));
    EXPECT_EQ(world.chain->oldest_block(), 0U);
    EXPECT_EQ(count(store, 'b'), kPrunedChain + 1);
}

TEST(Pruning, CatchesUpWhenTheWindowIsMadeSmaller) {
    MemoryStore store;
    {
        World world(store, kArchive);
        for (std::uint64_t height = 1; height <= kPrunedChain; ++height) world.block(pruned_txs(height));
    }
    World world(store, kPruned);
    for (std::uint64_t height = kPrunedChain + 1; height <= kPrunedChain + 5; ++height) world.block(pruned_txs(height));
    EXPECT_EQ(world.chain->oldest_block(), kPrunedChain + 5 - 4);
    EXPECT_TRUE(verify_db(store, test::make_genesis(), world.executor));
}

TEST(Pruning, LeavesADataBaseThatCanBeVerified) {
    MemoryStore store;
    World world(store, kPruned);
    for (std::uint64_t height = 1; height <= kPrunedChain; ++height) world.block(pruned_txs(height));
    std::vector<std::uint64_t> heights;
    const auto verified = verify_db(store, test::make_genesis(), world.executor,
                                    [&](std::uint64_t height) { heights.push_back(height); });
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_THAT(heights, testing::ElementsAre(9, 10, 11, 12)) << "from the oldest state that is kept";
}

TEST(Pruning, DoesNotHideDamage) {
    MemoryStore store;
    World world(store, kPruned);
    for (std::uint64_t height = 1; height <= kPrunedChain; ++height) world.block(pruned_txs(height));
    const auto with = [&](const Bytes& at, Bytes value) {
        const Bytes before = store.get(at).value();
        Batch change;
        change.put(at, std::move(value));
        ASSERT_TRUE(store.write(change, true));
        EXPECT_FALSE(verify_db(store, test::make_genesis(), world.executor));
        Batch back;
        back.put(at, before);
        ASSERT_TRUE(store.write(back, true));
    };
    with(keys::account(key(0).address()), encode(Account{1, U256(1)}));
    with(keys::tx(kPrunedChain - 4, 0), store.get(keys::tx(kPrunedChain - 3, 0)).value());
    with(keys::block(kPrunedChain), store.get(keys::block(kPrunedChain - 1)).value());
    EXPECT_TRUE(verify_db(store, test::make_genesis(), world.executor));
}

TEST(Pruning, IsTakenBackOrFinishedWhereverAWriteTore) {
    std::vector<Hash32> expected;
    {
        MemoryStore store;
        World world(store, kArchive);
        expected.push_back(world.chain->tip()->hash);
        for (std::uint64_t height = 1; height <= kPrunedChain; ++height)
            expected.push_back(world.block(pruned_txs(height))->hash);
    }
    for (std::uint64_t nth = 6; nth <= kPrunedChain + 1; ++nth) {
        for (std::size_t ops = 0;; ++ops) {
            SCOPED_TRACE("torn after " + std::to_string(ops) + " operations of write " + std::to_string(nth));
            MemoryStore disk;
            FaultStore store(disk, Fault::tear, nth, ops);
            {
                World world(store, kPruned);
                for (std::uint64_t height = 1; height <= kPrunedChain; ++height) {
                    const auto outcome = world.execute(pruned_txs(height));
                    if (!outcome || !world.chain->commit(*outcome)) break;
                }
            }
            if (ops >= store.last_ops()) break;
            World world(disk, kPruned);
            ASSERT_TRUE(world.chain);
            ASSERT_EQ(world.chain->height(), nth - 2);
            for (std::uint64_t height = world.chain->oldest_block(); height <= world.chain->height(); ++height) {
                const auto block = world.chain->block(height);
                ASSERT_TRUE(block) << height;
                ASSERT_EQ(world.chain->height_of(block->hash), height);
            }
            for (std::uint64_t next = nth - 1; next <= kPrunedChain; ++next)
                ASSERT_EQ(world.block(pruned_txs(next))->hash, expected[next]);
            ASSERT_EQ(world.chain->oldest_block(), kPrunedChain - 4);
            ASSERT_EQ(count(disk, 'b'), 6U) << "no block is forgotten and left";
            ASSERT_EQ(count(disk, 'h'), 6U);
            ASSERT_EQ(count(disk, 'x'), 10U);
            ASSERT_TRUE(verify_db(disk, test::make_genesis(), world.executor));
        }
    }
}

TEST(Pruning, OfAnArchiveNeverHappensAfterATornWrite) {
    MemoryStore disk;
    FaultStore store(disk, Fault::tear, 8, 9);
    {
        World world(store, kArchive);
        for (std::uint64_t height = 1; height <= kPrunedChain; ++height) {
            const auto outcome = world.execute(pruned_txs(height));
            if (!outcome || !world.chain->commit(*outcome)) break;
        }
    }
    World world(disk, kArchive);
    ASSERT_TRUE(world.chain);
    EXPECT_EQ(world.chain->oldest_block(), 0U);
    EXPECT_TRUE(world.chain->block(1));
}

}  // namespace
}  // namespace retrace::ledger
