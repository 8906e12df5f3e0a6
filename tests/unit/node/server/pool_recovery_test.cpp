// SPDX-License-Identifier: MIT
// Transactions that a killed node recovers from those it had accepted.
#include <gtest/gtest.h>

#include <filesystem>

#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using ledger::TxPtr;

/// One run of a node: its chain starts anew, but the journal of its pool persists.
struct NodeRun {
    explicit NodeRun(const std::string& path, ledger::MempoolLimits limits = {})
        : chain(std::move(ledger::Chain::open(store, dev_genesis({}), executor, {})).value()),
          pool(executor, limits),
          application(*chain, pool),
          journal(ledger::MempoolJournal::open(path).value()),
          taken(application.attach(*journal)) {}

    bool submit(const TxPtr& tx) { return application.submit(tx->raw).has_value(); }
    bool has(const TxPtr& tx) const { return pool.find(tx->hash) != nullptr; }
    /// Executes the transactions that the pool chooses in blocks, and keeps no result.
    void mine() {
        std::vector<View> raw;
        const std::vector<Bytes> txs = application.propose({}, 1 << 20);
        for (const Bytes& tx : txs) raw.emplace_back(tx);
        const engine::BlockView block{chain->height() + 1, chain->tip()->header.time_ns + 1, {}, raw, {}, {}};
        ASSERT_TRUE(application.finalize(block).has_value());
        ASSERT_TRUE(application.commit().has_value());
    }

    ToyExecutor executor;
    ledger::MemoryStore store;
    std::unique_ptr<ledger::Chain> chain;
    ledger::Mempool pool;
    LedgerApplication application;
    std::unique_ptr<ledger::MempoolJournal> journal;
    std::size_t taken;
};

TxPtr make(std::uint32_t who, std::uint64_t nonce, std::uint64_t tip, std::size_t data = 0) {
    ledger::Transaction tx;
    tx.chain_id = kDevChainId;
    tx.nonce = nonce;
    tx.tip_cap = tip;
    tx.fee_cap = ledger::U256{1'000'000'000} + ledger::U256{tip};
    tx.gas_limit = 21'000 + 16 * data;
    tx.to = dev_key(9).address();
    tx.data = Bytes(data, 0xff);
    return ledger::sign_tx(std::move(tx), dev_key(who));
}

struct PoolRecovery : ::testing::Test {
    TempFolder folder;
    std::string path = folder.file("pool");
};

TEST_F(PoolRecovery, ABaseFeeThatRoseMeanwhileLosesNothing) {
    ledger::Transaction low = make(0, 0, 0)->tx;
    low.fee_cap = 999'999'999;  // was enough when it was accepted
    const TxPtr first = ledger::sign_tx(low, dev_key(0));
    const TxPtr second = make(0, 1, 5);
    {
        const auto journal = ledger::MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*first));
        ASSERT_TRUE(journal->append(*second));
    }
    for (int run = 0; run < 2; ++run) {
        const NodeRun restarted(path);
        EXPECT_EQ(restarted.taken, 2U);
        EXPECT_TRUE(restarted.has(first)) << "it waits for the fee to fall";
        EXPECT_TRUE(restarted.has(second));
        EXPECT_EQ(restarted.pool.stats().pending, 2U);
    }
}

TEST_F(PoolRecovery, WhatAFullPoolGaveUpDoesNotDisplaceWhatTookItsNonce) {
    const TxPtr given_up = make(0, 1, 1'000), later = make(0, 1, 10), first = make(0, 0, 10);
    {
        NodeRun run(path, {.count = 2});
        ASSERT_TRUE(run.submit(given_up));
        ASSERT_TRUE(run.submit(make(1, 0, 100)));
        ASSERT_TRUE(run.submit(make(2, 0, 50)));
        ASSERT_FALSE(run.has(given_up)) << "it waited behind a hole";
        run.mine();
        ASSERT_TRUE(run.submit(later));
        ASSERT_TRUE(run.submit(first));
    }
    const NodeRun restarted(path);
    EXPECT_TRUE(restarted.has(later));
    EXPECT_TRUE(restarted.has(first));
    EXPECT_FALSE(restarted.has(given_up));
}

TEST_F(PoolRecovery, WhatAFullPoolGaveUpStaysAwayAndWhatCameAgainIsThere) {
    const TxPtr away = make(0, 1, 1'000), again = make(3, 1, 1'000);
    {
        NodeRun run(path, {.count = 3});
        ASSERT_TRUE(run.submit(away));
        ASSERT_TRUE(run.submit(again));
        for (std::uint32_t who = 4; who < 7; ++who) ASSERT_TRUE(run.submit(make(who, 0, 100)));
        ASSERT_FALSE(run.has(away) || run.has(again));
        run.mine();
        ASSERT_TRUE(run.submit(again));
    }
    const NodeRun restarted(path);
    EXPECT_FALSE(restarted.has(away));
    EXPECT_TRUE(restarted.has(again));
}

TEST_F(PoolRecovery, WhatWasReplacedStaysAwayThoughItsSuccessorWasGivenUp) {
    const TxPtr old = make(0, 1, 1'000), newer = make(0, 1, 500'000'000);
    {
        NodeRun run(path, {.count = 2});
        ASSERT_TRUE(run.submit(old));
        ASSERT_TRUE(run.submit(newer));
        ASSERT_TRUE(run.submit(make(1, 0, 100)));
        ASSERT_TRUE(run.submit(make(2, 0, 50)));
        ASSERT_FALSE(run.has(newer)) << "it waited behind a hole";
    }
    const NodeRun restarted(path);
    EXPECT_FALSE(restarted.has(newer));
    EXPECT_FALSE(restarted.has(old)) << "its sender had taken it back";
    EXPECT_EQ(restarted.taken, 2U);
}

TEST_F(PoolRecovery, OfReplacementsTheNewestHoldsInWhateverOrderTheyCanBePaid) {
    const TxPtr old = make(0, 0, 1'000'000'000), newer = make(0, 0, 2'000'000'000), behind = make(0, 70, 5);
    {
        NodeRun run(path);
        ASSERT_TRUE(run.submit(old));
        ASSERT_TRUE(run.submit(newer));
    }
    {
        const auto journal = ledger::MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*behind)) << "a hole that was narrow when it came";
    }
    const NodeRun restarted(path);
    EXPECT_EQ(restarted.taken, 2U);
    EXPECT_TRUE(restarted.has(newer));
    EXPECT_FALSE(restarted.has(old));
    EXPECT_TRUE(restarted.has(behind));
}

TEST_F(PoolRecovery, AJournalIsTrimmedThoughNoBlockComes) {
    constexpr std::size_t kData = 100'000;
    std::uint64_t tip = 1'000;
    TxPtr last;
    {
        NodeRun run(path);
        for (int i = 0; i < 90; ++i, tip += tip / 8) {
            ledger::Transaction tx = make(0, 0, tip, kData)->tx;
            tx.fee_cap = ledger::U256{1'000'000'000} * ledger::U256{tip};
            last = ledger::sign_tx(tx, dev_key(0));
            ASSERT_TRUE(run.submit(last)) << i;
            ASSERT_LT(std::filesystem::file_size(path), (4U << 20) + 4 * kData) << i;
        }
    }
    const NodeRun restarted(path);
    EXPECT_EQ(restarted.taken, 1U);
    EXPECT_TRUE(restarted.has(last));
}

}  // namespace
}  // namespace retrace::node::test
