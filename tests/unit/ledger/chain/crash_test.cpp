// SPDX-License-Identifier: MIT
// A disk that fails at every possible write: acknowledged blocks exist after the next start, other blocks exist
// completely or not at all, and the chain continues with the same blocks as one that never crashed.
#include <gtest/gtest.h>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/tree_page.hpp"
#include "ledger/storage/fault_store.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using Fault = FaultStore::Fault;
using test::key;
using test::number;
using test::World;

constexpr std::uint64_t kCrashedChain = 8;
constexpr ChainOptions kOptions{.state_window = 3, .proof_window = 2, .threads = 1};

/// Enough accounts for the root's page of the state tree to become a branch in the second block.
Genesis many_accounts() {
    Genesis genesis = test::make_genesis();
    for (std::uint64_t i = 0; i < 20; ++i) genesis.alloc[number(100 + i)] = 1;
    return genesis;
}

std::vector<TxPtr> crashed_txs(std::uint64_t height) {
    const std::uint64_t nonce = height - 1;
    return {sign_tx(test::transfer(nonce, number(height % 3), height), key(0)),
            sign_tx(test::call(nonce, Bytes{'s', 'k', static_cast<std::uint8_t>(height)}), key(1))};
}

/// Hashes of the blocks of a chain that never crashed.
std::vector<Hash32> undisturbed() {
    MemoryStore store;
    World world(store, kOptions, many_accounts());
    std::vector<Hash32> out{world.chain->tip()->hash};
    for (std::uint64_t height = 1; height <= kCrashedChain; ++height)
        out.push_back(world.block(crashed_txs(height))->hash);
    EXPECT_EQ(store.get(keys::page({0, 0})).value().at(0), kMany);
    return out;
}

/// Runs until the store fails; returns the last acknowledged height; nullopt: not even genesis.
std::optional<std::uint64_t> run_until_crash(FaultStore& store) {
    test::FakeExecutor executor;
    auto chain = Chain::open(store, many_accounts(), executor, kOptions);
    if (!chain) return std::nullopt;
    for (std::uint64_t height = 1; height <= kCrashedChain; ++height) {
        std::vector<View> raw;
        const auto txs = crashed_txs(height);
        for (const TxPtr& tx : txs) raw.push_back(tx->raw);
        const auto outcome = (*chain)->execute_block({.height = height,
                                                      .time_ns = (*chain)->tip()->header.time_ns + 1'000'000'000,
                                                      .proposer = number(0xbeef),
                                                      .txs = raw,
                                                      .known = {}});
        if (!outcome || !(*chain)->commit(*outcome)) return height - 1;
    }
    return kCrashedChain;
}

/// Restarts on the remaining disk contents, plays the rest, and compares with the undisturbed chain.
void recover(MemoryStore& disk, std::optional<std::uint64_t> acknowledged, const std::vector<Hash32>& expected) {
    World world(disk, kOptions, many_accounts());
    ASSERT_TRUE(world.chain);
    const std::uint64_t height = world.chain->height();
    if (acknowledged) {
        ASSERT_GE(height, *acknowledged) << "an acknowledged block is lost";
        ASSERT_LE(height, *acknowledged + 1);
    }
    ASSERT_EQ(world.chain->tip()->hash, expected[height]);
    for (std::uint64_t at = world.chain->oldest_state(); at <= height; ++at) {
        const Account account = world.chain->view_at(at).value()->account(key(0).address());
        ASSERT_EQ(account.nonce, at);
    }
    const auto proof = world.chain->prove_account(height, key(0).address());
    ASSERT_TRUE(proof);
    ASSERT_TRUE(verify(*proof));
    for (std::uint64_t next = height + 1; next <= kCrashedChain; ++next) {
        ASSERT_EQ(world.block(crashed_txs(next))->hash, expected[next]);
    }
    const auto verified = verify_db(disk, many_accounts(), world.executor);
    ASSERT_TRUE(verified) << verified.error().message;
}

TEST(Crash, NothingAcknowledgedIsLostAtAnyWrite) {
    const auto expected = undisturbed();
    for (const Fault fault : {Fault::fail, Fault::fail_written}) {
        for (std::uint64_t nth = 1; nth <= kCrashedChain + 1; ++nth) {
            SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " at write " + std::to_string(nth));
            MemoryStore disk;
            FaultStore store(disk, fault, nth);
            const auto acknowledged = run_until_crash(store);
            ASSERT_TRUE(store.off());
            recover(disk, acknowledged, expected);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(Crash, ATornBatchIsTakenBackWhereverItTore) {
    // A store may guarantee whole batches, but the chain survives one that breaks the guarantee.
    const auto expected = undisturbed();
    for (std::uint64_t nth = 1; nth <= kCrashedChain + 1; ++nth) {
        for (std::size_t ops = 0;; ++ops) {
            SCOPED_TRACE("torn after " + std::to_string(ops) + " operations of write " + std::to_string(nth));
            MemoryStore disk;
            FaultStore store(disk, Fault::tear, nth, ops);
            const auto acknowledged = run_until_crash(store);
            if (ops >= store.last_ops()) break;
            recover(disk, acknowledged, expected);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(Crash, ADiskThatLiesIsFoundOut) {
    // An acknowledged write is missing: only its own last block may disappear unnoticed.
    const auto expected = undisturbed();
    for (std::uint64_t nth = 1; nth <= kCrashedChain + 1; ++nth) {
        SCOPED_TRACE("lost write " + std::to_string(nth));
        MemoryStore disk;
        FaultStore store(disk, Fault::drop, nth);
        const auto reached = run_until_crash(store);
        test::FakeExecutor executor;
        const auto chain = Chain::open(disk, many_accounts(), executor, kOptions);
        if (nth == kCrashedChain + 1) {
            ASSERT_TRUE(chain);
            EXPECT_EQ((*chain)->height(), kCrashedChain - 1);
            continue;
        }
        const bool noticed =
            !chain || !reached || reached < kCrashedChain || !verify_db(disk, many_accounts(), executor);
        EXPECT_TRUE(noticed);
    }
}

TEST(Crash, AChainWhoseWriteFailedTakesNoMoreBlocks) {
    MemoryStore disk;
    FaultStore store(disk, Fault::fail, 2);
    World world(store, kOptions);
    const auto outcome = world.execute({});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(world.chain->commit(*outcome).error().code, ChainError::store_failed);
    EXPECT_EQ(world.chain->commit(*outcome).error().code, ChainError::store_failed);
    EXPECT_EQ(world.chain->height(), 0U);
    EXPECT_EQ(world.chain->view()->account(key(0).address()).nonce, 0U) << "reads go on";
}

}  // namespace
}  // namespace retrace::ledger
