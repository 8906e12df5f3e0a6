// SPDX-License-Identifier: MIT
// A log that does not start at the first block: after a snapshot, and after old blocks were pruned.
#include "node/server/engine/block_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using engine::BlockLog;
using engine::StoredBlock;
using testing::HasSubstr;

const Hash32 kGenesis{{1}};

StoredBlock block(std::uint64_t height) {
    StoredBlock out;
    out.height = height;
    out.time = 1000 * height;
    out.txs = {Bytes(height % 7 + 1, static_cast<std::uint8_t>(height))};
    return out;
}

class BlockLogTest : public testing::Test {
protected:
    std::unique_ptr<BlockLog> open(std::uint64_t committed) {
        auto log = BlockLog::open(path(), kGenesis, committed);
        EXPECT_TRUE(log.has_value()) << (log ? "" : log.error().message);
        return log ? std::move(log).value() : nullptr;
    }
    std::unique_ptr<BlockLog> filled(std::uint64_t blocks) {
        auto log = open(0);
        for (std::uint64_t height = 1; height <= blocks; ++height) EXPECT_TRUE(log->append(block(height)).has_value());
        return log;
    }
    static void expect_range(const BlockLog& log, std::uint64_t first, std::uint64_t last) {
        EXPECT_EQ(log.base(), first - 1);
        EXPECT_EQ(log.tip(), last);
        EXPECT_FALSE(log.read(first - 1).has_value());
        EXPECT_FALSE(log.read(last + 1).has_value());
        for (std::uint64_t height = first; height <= last; ++height) {
            const auto read = log.read(height);
            ASSERT_TRUE(read.has_value()) << height;
            EXPECT_EQ(read->txs, block(height).txs);
        }
    }
    std::string path() const { return folder_.file("blocks.log"); }

    TempFolder folder_;
};

TEST_F(BlockLogTest, ANewOneBeginsAfterWhatWasExecuted) {
    {
        const auto log = open(41);
        expect_range(*log, 42, 41);
        ASSERT_TRUE(log->append(block(42)).has_value());
    }
    expect_range(*open(42), 42, 42);
    expect_range(*open(41), 42, 42);
}

TEST_F(BlockLogTest, ForgetsOldBlocksAndGoesOn) {
    {
        const auto log = filled(10);
        ASSERT_TRUE(log->prune_below(7).has_value());
        expect_range(*log, 7, 10);
        ASSERT_TRUE(log->prune_below(3).has_value()) << "nothing to do";
        ASSERT_TRUE(log->append(block(11)).has_value());
        expect_range(*log, 7, 11);
    }
    const auto again = open(10);
    expect_range(*again, 7, 11);
    ASSERT_TRUE(again->prune_below(12).has_value());
    expect_range(*again, 12, 11);
    ASSERT_TRUE(again->append(block(12)).has_value());
    expect_range(*again, 12, 12);
}

TEST_F(BlockLogTest, WhatACrashLeftBesideIsOverwritten) {
    const auto log = filled(6);
    std::ofstream(path() + ".new") << std::string(5000, 'x');
    ASSERT_TRUE(log->prune_below(5).has_value());
    EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
    expect_range(*open(6), 5, 6);
}

TEST_F(BlockLogTest, OneThatCannotBeWrittenAnewStaysInUse) {
    const auto log = filled(6);
    std::filesystem::create_directory(path() + ".new");
    EXPECT_FALSE(log->prune_below(5).has_value());
    expect_range(*log, 1, 6);
    EXPECT_TRUE(log->append(block(7)).has_value());
}

TEST_F(BlockLogTest, ACopyThatDoesNotFitLeavesNothingBehind) {
    const auto log = filled(200);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{4096, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    const auto refused = log->prune_below(5);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_FALSE(refused.has_value());
    EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
    expect_range(*log, 1, 200);
    ASSERT_TRUE(log->append(block(201)).has_value());
    ASSERT_TRUE(log->prune_below(150).has_value());
    expect_range(*log, 150, 201);
}

TEST_F(BlockLogTest, OneThatBeginsBehindTheDataBaseIsRefused) {
    ASSERT_TRUE(filled(6)->prune_below(5).has_value());
    const auto refused = BlockLog::open(path(), kGenesis, 3);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("begins after block 4"));
}

/// An engine on a toy chain that keeps its last four blocks.
struct FourBlocks {
    explicit FourBlocks(const std::string& log)
        : chain(std::move(ledger::Chain::open(store, dev_genesis({}), executor, {})).value()),
          application(*chain, pool),
          engine(options(log)) {}

    static engine::SoloOptions options(const std::string& log) {
        engine::SoloOptions out;
        out.log_path = log;
        out.block_interval = std::chrono::milliseconds(0);
        out.keep_blocks = 4;
        return out;
    }

    ToyExecutor executor;
    ledger::MemoryStore store;
    std::unique_ptr<ledger::Chain> chain;
    ledger::Mempool pool{executor};
    LedgerApplication application;
    engine::SoloEngine engine;
};

TEST_F(BlockLogTest, TheEngineKeepsAsManyAsItIsTold) {
    FourBlocks kept(path());
    engine::SoloEngine& engine = kept.engine;
    ASSERT_TRUE(engine.start(kept.application).has_value());
    for (int i = 0; i < 21; ++i) ASSERT_TRUE(engine.produce().has_value());
    EXPECT_FALSE(engine.block(13).has_value());
    for (std::uint64_t height = 18; height <= 21; ++height) EXPECT_TRUE(engine.block(height).has_value());
}

TEST_F(BlockLogTest, TheEngineGoesOnWithALogThatCannotBeShortened) {
    FourBlocks kept(path());
    engine::SoloEngine& engine = kept.engine;
    ASSERT_TRUE(engine.start(kept.application).has_value());
    std::filesystem::create_directory(path() + ".new");
    for (int i = 0; i < 21; ++i) ASSERT_TRUE(engine.produce().has_value());
    EXPECT_TRUE(engine.block(1).has_value());
    std::filesystem::remove(path() + ".new");
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(engine.produce().has_value());
    EXPECT_FALSE(engine.block(17).has_value()) << "tried again";
    EXPECT_TRUE(engine.block(22).has_value());
}

}  // namespace
}  // namespace retrace::node::test
