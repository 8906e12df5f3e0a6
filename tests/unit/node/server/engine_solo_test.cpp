// SPDX-License-Identifier: MIT
// The embedded engine: order of calls, the block log, and recovery after a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "node/server/engine/block_log.hpp"
#include "node/server/engine/solo.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using engine::BlockLog;
using engine::StoredBlock;
using testing::HasSubstr;

/// Records the calls that it receives.
class Recorder final : public engine::Application {
public:
    engine::AppInfo info() const override { return {height, time, {}, Hash32{{1}}}; }
    engine::CheckResult check_tx(View, bool) override { return {}; }
    std::vector<Bytes> propose(const engine::BlockView&, std::size_t) override {
        calls += "p";
        return next;
    }
    bool process(const engine::BlockView&) override {
        calls += "c";
        return accepts;
    }
    Result<engine::BlockResult> finalize(const engine::BlockView& block) override {
        calls += "f";
        if (fails) return error("disk full");
        EXPECT_EQ(block.height, height + 1);
        EXPECT_GT(block.time, time);
        staged = block.time;
        seen.emplace_back();
        for (const View tx : block.txs) seen.back().push_back(to_bytes(tx));
        engine::BlockResult out;
        out.txs.resize(block.txs.size());
        return out;
    }
    Status<> commit() override {
        calls += "m";
        time = staged;
        ++height;
        return Unit{};
    }

    engine::Height height = 0;
    engine::TimeNs time = 0, staged = 0;
    std::vector<Bytes> next;
    std::vector<std::vector<Bytes>> seen;
    std::string calls;
    bool accepts = true, fails = false;
};

engine::SoloOptions options(const std::string& path) {
    engine::SoloOptions out;
    out.log_path = path;
    out.block_interval = std::chrono::milliseconds(0);
    out.clock = [] { return engine::TimeNs{1'000'000'000}; };
    return out;
}

void make_blocks(const std::string& path, Recorder& app, int count) {
    engine::SoloEngine engine(options(path));
    ASSERT_TRUE(engine.start(app).has_value());
    for (int i = 0; i < count; ++i) ASSERT_TRUE(engine.produce().has_value());
}

std::uint64_t size_of(const std::string& path) { return std::filesystem::file_size(path); }

TEST(SoloEngine, FollowsTheCallGrammar) {
    TempFolder folder;
    Recorder app;
    app.next = {{1, 2}};
    make_blocks(folder.file("log"), app, 2);
    EXPECT_EQ(app.calls, "pcfmpcfm");
    EXPECT_EQ(app.seen[0], app.next);
}

TEST(SoloEngine, TimeRisesThoughTheClockStands) {
    TempFolder folder;
    Recorder app;
    make_blocks(folder.file("log"), app, 3);
    EXPECT_EQ(app.time, 1'002'000'000U);
}

TEST(SoloEngine, SkipsEmptyBlocksWhenTold) {
    TempFolder folder;
    Recorder app;
    auto opts = options(folder.file("log"));
    opts.empty_blocks = false;
    engine::SoloEngine engine(opts);
    ASSERT_TRUE(engine.start(app).has_value());
    EXPECT_FALSE(*engine.produce());
    app.next = {{1}};
    EXPECT_TRUE(*engine.produce());
}

TEST(SoloEngine, ReplaysWhatTheApplicationLost) {
    TempFolder folder;
    Recorder first;
    first.next = {{7}};
    make_blocks(folder.file("log"), first, 3);
    Recorder second;  // an application that lost everything, and one that lost the last block
    second.height = 1;
    second.time = 1'000'000'000;
    make_blocks(folder.file("log"), second, 0);
    EXPECT_EQ(second.calls, "fmfm");
    EXPECT_EQ(second.height, 3U);
    EXPECT_EQ(second.time, first.time);
    EXPECT_EQ(second.seen[0], first.next);
}

TEST(SoloEngine, EveryTornTailIsCutAndTheChainGoesOn) {
    TempFolder folder;
    const std::string path = folder.file("log");
    Recorder app;
    app.next = {{1, 2, 3}};
    make_blocks(path, app, 1);
    const std::uint64_t one = size_of(path);
    make_blocks(path, app, 1);
    const std::uint64_t two = size_of(path);
    for (std::uint64_t cut = one; cut < two; ++cut) {
        std::filesystem::copy_file(path, folder.file("torn"), std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(folder.file("torn"), cut);
        Recorder restarted;  // executed block 1 before it died
        restarted.height = 1;
        restarted.time = 1'000'000'000;
        make_blocks(folder.file("torn"), restarted, 1);
        EXPECT_EQ(restarted.height, 2U) << cut;
    }
}

TEST(SoloEngine, DamageOfWhatWasExecutedIsAnErrorAndNothingIsCut) {
    TempFolder folder;
    const std::string path = folder.file("log");
    Recorder app;
    app.next = {{1, 2, 3}};
    make_blocks(path, app, 2);
    const std::uint64_t size = size_of(path);
    std::filesystem::resize_file(path, size - 3);
    Recorder restarted;
    restarted.height = 2;
    engine::SoloEngine engine(options(path));
    const auto started = engine.start(restarted);
    ASSERT_FALSE(started.has_value());
    EXPECT_THAT(started.error().message, HasSubstr("1 blocks are intact, 2 were executed"));
    EXPECT_EQ(size_of(path), size - 3);
}

TEST(SoloEngine, AFlippedBitIsFound) {
    TempFolder folder;
    const std::string path = folder.file("log");
    Recorder app;
    app.next = {{1, 2, 3}};
    make_blocks(path, app, 2);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.put('\x55');
    file.close();
    Recorder restarted;
    engine::SoloEngine engine(options(path));
    EXPECT_THAT(engine.start(restarted).error().message, HasSubstr("checksum"));
}

TEST(SoloEngine, RefusesALogOfAnotherChain) {
    TempFolder folder;
    ASSERT_TRUE(BlockLog::open(folder.file("log"), Hash32{{1}}, 0).has_value());
    EXPECT_THAT(BlockLog::open(folder.file("log"), Hash32{{2}}, 0).error().message, HasSubstr("another chain"));
    std::ofstream(folder.file("other")) << std::string(100, 'x');
    EXPECT_THAT(BlockLog::open(folder.file("other"), Hash32{{1}}, 0).error().message, HasSubstr("not a block log"));
    EXPECT_FALSE(BlockLog::open(folder.file("no/such/folder"), Hash32{{1}}, 0).has_value());
}

TEST(SoloEngine, HaltsAndSaysWhyWhenTheApplicationFails) {
    TempFolder folder;
    Recorder app;
    app.fails = true;
    std::atomic<bool> halted = false;
    auto opts = options(folder.file("log"));
    opts.block_interval = std::chrono::milliseconds(1);
    opts.on_halt = [&halted](const std::string&) { halted = true; };
    engine::SoloEngine engine(opts);
    ASSERT_TRUE(engine.start(app).has_value());
    while (!halted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(engine.status().halted);
    EXPECT_EQ(engine.status().reason, "disk full");
    engine.stop();
    engine.stop();
}

TEST(SoloEngine, MakesBlocksByItselfUntilItIsStopped) {
    TempFolder folder;
    Recorder app;
    auto opts = options(folder.file("log"));
    opts.block_interval = std::chrono::milliseconds(1);
    engine::SoloEngine engine(opts);
    ASSERT_TRUE(engine.start(app).has_value());
    while (engine.status().height < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    engine.stop();
    const engine::Height height = app.height;
    EXPECT_EQ(engine.block(height)->height, height);
    EXPECT_FALSE(engine.block(height + 1).has_value());
    EXPECT_EQ(app.height, height);
}

TEST(LedgerApplication, SurvivesLosingTheChainBehindTheLog) {
    RpcWorld world;
    const std::string hash = world.send(world.make_tx(0, dev_key(1).address(), 5));
    world.mine();
    world.engine->stop();
    // The same log, but the store of a node that died between the log and the commit.
    ledger::MemoryStore empty;
    auto chain = ledger::Chain::open(empty, world.chain->genesis(), world.executor, {});
    ASSERT_TRUE(chain.has_value());
    ledger::Mempool pool(world.executor);
    LedgerApplication application(**chain, pool);
    engine::SoloEngine engine(options(world.folder.file("blocks.log")));
    ASSERT_TRUE(engine.start(application).has_value());
    EXPECT_EQ((*chain)->height(), 1U);
    EXPECT_EQ((*chain)->tip()->hash, world.chain->tip()->hash);
}

TEST(LedgerApplication, TakesWaitingTransactionsOfTheLastRunBack) {
    TempFolder folder;
    const std::string path = folder.file("pool");
    {
        auto journal = ledger::MempoolJournal::open(path);
        ASSERT_TRUE(journal.has_value());
        RpcWorld world;
        EXPECT_EQ(world.application->attach(**journal), 0U);
        world.send(world.make_tx(0, dev_key(1).address(), 5));
        world.send(world.make_tx(0, dev_key(1).address(), 5, {}, 3));
    }
    auto journal = ledger::MempoolJournal::open(path);
    ASSERT_TRUE(journal.has_value());
    RpcWorld restarted;
    EXPECT_EQ(restarted.application->attach(**journal), 2U);
    EXPECT_EQ(restarted.pool.stats().pending, 1U);
    EXPECT_EQ(restarted.pool.stats().queued, 1U);
}

}  // namespace
}  // namespace retrace::node::test
