// SPDX-License-Identifier: MIT
// A state is exported to files and imported as a chain, or refused; an interrupted operation can be repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"
#include "ledger/snapshot/snapshot_file.hpp"
#include "ledger/storage/fault_store.hpp"
#include "tests/unit/ledger/temp_dir.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

namespace fs = std::filesystem;
using Fault = FaultStore::Fault;
using test::key;
using test::number;
using test::World;

constexpr ChainOptions kSnapshotChain{.state_window = 6, .proof_window = 2, .threads = 1};
const ExportOptions kSmallChunks{.chunk_bytes = 100, .stop = {}};

/// Transfers, a slot that is created, changed and removed, a call with a return value and a refused one.
std::vector<TxPtr> snapshot_txs(std::uint64_t height) {
    const std::uint64_t nonce = height - 1;
    Bytes data{'s', 'k'};
    if (height % 4 != 0) data.push_back(static_cast<std::uint8_t>(height));
    return {sign_tx(test::transfer(nonce, number(1000 + height), height), key(0)),
            sign_tx(test::call(nonce, std::move(data)), key(1)), sign_tx(test::call(nonce, {'h'}), key(2)),
            sign_tx(test::call(nonce, {'r'}), key(3))};
}

std::vector<Receipt> covered_parts(const Block& block) {
    std::vector<Receipt> out = block.receipts;
    for (Receipt& receipt : out) {
        receipt.output.clear();
        receipt.revert_reason.clear();
    }
    return out;
}

class Snapshot : public testing::Test {
protected:
    Snapshot() : world(store, kSnapshotChain) {
        for (std::uint64_t height = 1; height <= 10; ++height) world.block(snapshot_txs(height));
    }
    fs::path folder(const char* name = "snapshot") const { return fs::path(dir.path()) / name; }
    SnapshotManifest export_at(std::uint64_t height, const char* name = "snapshot") {
        auto manifest = export_snapshot(store, test::make_genesis(), height, folder(name), kSmallChunks);
        EXPECT_TRUE(manifest) << (manifest ? "" : manifest.error().message);
        return manifest ? *manifest : SnapshotManifest{};
    }
    Result<Imported, ChainFailure> import(Store& into, const Hash32& trusted, const char* name = "snapshot") const {
        return import_snapshot(into, test::make_genesis(), world.executor, folder(name), trusted);
    }
    Hash32 hash_at(std::uint64_t height) const { return world.chain->block(height)->hash; }

    /// Changes a byte of a file at `offset`.
    void damage(const std::string& name, std::streamoff offset) const {
        std::fstream file(folder() / name, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(offset);
        const char changed = static_cast<char>(file.peek() ^ 1);
        file.seekp(offset);
        file.put(changed);
    }

    test::TempDir dir;
    MemoryStore store;
    World world;
};

TEST_F(Snapshot, BecomesAChainThatGoesOnToTheSameBlocks) {
    for (const std::uint64_t height : {10, 7, 4}) {
        const std::string name = "at" + std::to_string(height);
        const SnapshotManifest manifest = export_at(height, name.c_str());
        EXPECT_GT(manifest.chunks.size(), 3U);
        MemoryStore other;
        const auto imported = import(other, hash_at(height), name.c_str());
        ASSERT_TRUE(imported) << imported.error().message;
        EXPECT_EQ(imported->height, height);
        World copy(other, kSnapshotChain);
        ASSERT_TRUE(copy.chain);
        EXPECT_EQ(copy.chain->tip()->hash, hash_at(height));
        EXPECT_EQ(copy.chain->tip()->txs.size(), 4U);
        EXPECT_EQ(copy.chain->tip()->receipts, covered_parts(*world.chain->block(height)));
        EXPECT_EQ(copy.chain->tip()->bloom, world.chain->block(height)->bloom);
        EXPECT_EQ(copy.chain->block(0)->hash, hash_at(0));
        EXPECT_EQ(copy.chain->oldest_block(), height);
        EXPECT_EQ(copy.chain->oldest_state(), height);
        for (std::uint64_t next = height + 1; next <= 10; ++next)
            EXPECT_EQ(copy.block(snapshot_txs(next))->hash, hash_at(next));
        EXPECT_TRUE(verify(*copy.chain->prove_account(10, key(0).address())));
        const auto verified = verify_db(other, test::make_genesis(), copy.executor);
        EXPECT_TRUE(verified) << verified.error().message;
    }
}

TEST_F(Snapshot, OfOneStateIsTheSameFilesWhoeverMakesIt) {
    const SnapshotManifest first = export_at(8, "first");
    MemoryStore other;
    const SnapshotManifest older = export_at(5, "older");
    ASSERT_TRUE(import(other, hash_at(5), "older"));
    World copy(other, kSnapshotChain);
    const auto again = export_snapshot(other, test::make_genesis(), 5, folder("again"), kSmallChunks);
    ASSERT_TRUE(again);
    EXPECT_EQ(snapshot_root(*again), snapshot_root(older)) << "also by one that never executed that block";
    for (std::uint64_t next = 6; next <= 9; ++next) copy.block(snapshot_txs(next));
    const auto second = export_snapshot(other, test::make_genesis(), 8, folder("second"), kSmallChunks);
    ASSERT_TRUE(second);
    EXPECT_EQ(snapshot_root(*second), snapshot_root(first));
    EXPECT_NE(snapshot_root(older), snapshot_root(first));
}

TEST_F(Snapshot, OfAFrozenStoreDoesNotSeeLaterBlocks) {
    const SnapshotManifest before = export_at(10, "before");
    const auto frozen = store.frozen();
    for (std::uint64_t height = 11; height <= 30; ++height) world.block(snapshot_txs(height));
    const auto after = export_snapshot(*frozen, test::make_genesis(), 10, folder("after"), kSmallChunks);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(snapshot_root(*after), snapshot_root(before));
    EXPECT_EQ(export_snapshot(store, test::make_genesis(), 10, folder("late")).error().code, ChainError::not_kept);
}

TEST_F(Snapshot, IsLeftUnfinishedWhenItIsStopped) {
    ExportOptions options = kSmallChunks;
    int chunks = 0;
    options.stop = [&] { return ++chunks == 3; };
    const auto stopped = export_snapshot(store, test::make_genesis(), 9, folder(), options);
    EXPECT_EQ(stopped.error().code, ChainError::stopped);
    EXPECT_FALSE(fs::exists(folder()));
    export_at(9);
}

TEST_F(Snapshot, OutsideTheWindowIsRefused) {
    EXPECT_EQ(export_snapshot(store, test::make_genesis(), 3, folder()).error().code, ChainError::not_kept);
    EXPECT_EQ(export_snapshot(store, test::make_genesis(), 11, folder()).error().code, ChainError::not_kept);
    EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Snapshot, IsNeverWrittenOverSomethingElse) {
    export_at(9);
    EXPECT_EQ(export_snapshot(store, test::make_genesis(), 9, folder()).error().code, ChainError::bad_snapshot);
    fs::create_directories(folder("second.partial") / "left over");
    export_at(9, "second");
    EXPECT_FALSE(fs::exists(folder("second.partial")));
}

TEST_F(Snapshot, OfAnotherBlockOrChainIsRefused) {
    export_at(9);
    MemoryStore other;
    EXPECT_EQ(import(other, hash_at(8)).error().code, ChainError::bad_snapshot);
    const auto foreign = import_snapshot(other, test::make_genesis(7299), world.executor, folder(), hash_at(9));
    EXPECT_EQ(foreign.error().code, ChainError::other_chain);
    EXPECT_EQ(import(other, hash_at(9), "nowhere").error().code, ChainError::bad_snapshot);
    EXPECT_EQ(import(store, hash_at(9)).error().code, ChainError::bad_snapshot) << "there is a chain already";
    EXPECT_EQ(world.chain->height(), 10U);
}

TEST_F(Snapshot, DamageInAnyFileIsNoticed) {
    const SnapshotManifest manifest = export_at(9);
    std::vector<std::string> files{"block", "manifest"};
    for (std::size_t i = 0; i < manifest.chunks.size(); ++i) files.push_back(chunk_name(i));
    for (const std::string& file : files) {
        for (const std::streamoff offset : {0, 30, 45}) {
            damage(file, offset);
            MemoryStore other;
            EXPECT_FALSE(import(other, hash_at(9))) << file << " at " << offset;
            damage(file, offset);
        }
        fs::rename(folder() / file, folder() / "hidden");
        MemoryStore other;
        EXPECT_FALSE(import(other, hash_at(9))) << file << " is missing";
        fs::rename(folder() / "hidden", folder() / file);
    }
    MemoryStore other;
    EXPECT_TRUE(import(other, hash_at(9)));
}

TEST_F(Snapshot, WithForgedContentsAndRightDigestsIsRefusedByTheStateRoot) {
    SnapshotManifest manifest = export_at(9);
    std::ifstream in(folder() / chunk_name(0), std::ios::binary);
    Bytes chunk((std::istreambuf_iterator<char>(in)), {});
    chunk.back() ^= 1;  // the last byte of a balance
    const auto file = write_snapshot_file(folder() / chunk_name(0), chunk);
    ASSERT_TRUE(file);
    manifest.chunks[0] = *file;
    ASSERT_TRUE(write_snapshot_file(folder() / kManifestFile, encode(manifest)));
    MemoryStore other;
    const auto refused = import(other, hash_at(9));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ChainError::bad_snapshot);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("commits to"));
    EXPECT_EQ(Chain::open(other, test::make_genesis(), world.executor).error().code, ChainError::unfinished);
}

// Data that no root commits to is not imported, and millions of empty entries are not held in memory.
TEST_F(Snapshot, OnlyWhatTheHeaderCommitsToIsBelieved) {
    SnapshotManifest manifest = export_at(9);
    const auto block = world.chain->block(9);
    EXPECT_FALSE(block->receipts[2].output.empty());
    EXPECT_FALSE(block->receipts[3].revert_reason.empty());
    Writer lying;
    lying.bytes(encode(BlockRecord{
        .hash = block->hash, .header = block->header, .encoded_size = 7, .system_logs = block->system_logs}));
    for (std::size_t i = 0; i < block->txs.size(); ++i) {
        Receipt forged = block->receipts[i];
        forged.output = test::bytes("forged");
        forged.revert_reason = "forged: by whoever made the snapshot";
        encode_to(lying.bytes(block->txs[i].bytes()), forged);
    }
    manifest.block = *write_snapshot_file(folder() / kBlockFile, lying.data());
    ASSERT_TRUE(write_snapshot_file(folder() / kManifestFile, encode(manifest)));
    MemoryStore other;
    ASSERT_TRUE(import(other, hash_at(9)));
    World copy(other, kSnapshotChain);
    EXPECT_EQ(copy.chain->tip()->encoded_size, block->encoded_size);
    EXPECT_EQ(copy.chain->tip()->receipts, covered_parts(*block));

    Writer nothing;
    for (int i = 0; i < 1000; ++i) append_entry(nothing, {}, {});
    EXPECT_FALSE(decode_entries(nothing.data()));
    Writer no_value, short_key;
    append_entry(no_value, Bytes(21, 'a'), {});
    append_entry(short_key, Bytes(20, 'a'), Bytes{1});
    EXPECT_FALSE(decode_entries(no_value.data()));
    EXPECT_FALSE(decode_entries(short_key.data()));
}

TEST_F(Snapshot, ImportThatFailsOrTearsAtAnyWriteIsRepeated) {
    export_at(9);
    std::uint64_t writes = 0;
    {
        MemoryStore disk;
        FaultStore counted(disk, Fault::none, 0);
        ASSERT_TRUE(import(counted, hash_at(9)));
        writes = counted.writes();
    }
    ASSERT_GT(writes, 5U);
    for (const Fault fault : {Fault::fail, Fault::fail_written, Fault::tear}) {
        for (std::uint64_t nth = 1; nth <= writes; ++nth) {
            for (std::size_t ops = 0; ops < 40; ops += fault == Fault::tear ? 1 : 40) {
                SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " at write " + std::to_string(nth) +
                             ", operations " + std::to_string(ops));
                MemoryStore disk;
                FaultStore failing(disk, fault, nth, ops);
                ASSERT_FALSE(import(failing, hash_at(9)));
                const bool whole = fault == Fault::fail_written || ops >= failing.last_ops();
                if (!(whole && nth == writes)) {  // otherwise all data is there and only the acknowledgement was lost
                    if (nth > 1 || whole || ops > 0) {
                        ASSERT_EQ(Chain::open(disk, test::make_genesis(), world.executor).error().code,
                                  ChainError::unfinished);
                    }
                    ASSERT_TRUE(import(disk, hash_at(9)));
                }
                World copy(disk, kSnapshotChain);
                ASSERT_TRUE(copy.chain);
                ASSERT_EQ(copy.block(snapshot_txs(10))->hash, hash_at(10));
                ASSERT_TRUE(verify_db(disk, test::make_genesis(), copy.executor));
            }
        }
    }
}

TEST_F(Snapshot, AWriteOfTheImportThatTheDiskLostIsNoticed) {
    export_at(9);
    MemoryStore whole;
    FaultStore counted(whole, Fault::none, 0);
    ASSERT_TRUE(import(counted, hash_at(9)));
    for (std::uint64_t nth = 2; nth <= counted.writes();
         ++nth) {  // nothing is lost without the first write, which is a marker
        MemoryStore disk;
        FaultStore lying(disk, Fault::drop, nth);
        const bool noticed = !import(lying, hash_at(9)) || !Chain::open(disk, test::make_genesis(), world.executor) ||
                             !verify_db(disk, test::make_genesis(), world.executor);
        EXPECT_TRUE(noticed) << "write " << nth;
    }
}

}  // namespace
}  // namespace retrace::ledger
