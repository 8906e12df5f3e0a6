// SPDX-License-Identifier: MIT
#include "ledger/storage/rocks_store.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

rocksdb::Slice slice(View bytes) {
    if (bytes.empty()) return {};  // RocksDB compares with memcmp, which takes no null pointer
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
View view(const rocksdb::Slice& s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

/// Small settings: an idle node, including the store, stays within 64 MiB.
rocksdb::Options small_options(std::size_t cache_bytes) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(cache_bytes);
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    // Indexes and filters stay in memory with their files: in a small cache they would evict each other.
    table.cache_index_and_filter_blocks = false;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    table.format_version = 5;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    // Each flush is eventually merged with most of the data below it, because a block's leaves are spread over all
    // keys. With 8 MiB this took two fifths of a busy node's time at a million accounts. An idle node never fills these
    // buffers.
    options.write_buffer_size = 32U << 20;
    options.max_write_buffer_number = 2;
    // Most requested keys are not among the latest writes: a filter shows this faster than a search.
    options.memtable_whole_key_filtering = true;
    options.memtable_prefix_bloom_size_ratio = 0.05;
    options.max_background_jobs = 2;
    options.max_open_files = 256;
    options.max_total_wal_size = 64U << 20;
    options.keep_log_file_num = 2;
    options.max_log_file_size = 1U << 20;
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    options.compression = rocksdb::kNoCompression;  // hashes and signatures do not compress
    // A log that ends in a torn record is cut there; any other damage is reported, never skipped.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    options.paranoid_checks = true;
    return options;
}

class RocksStore final : public Store {
public:
    explicit RocksStore(std::shared_ptr<rocksdb::DB> db) : db_(std::move(db)) {}
    /// Reads the state of the database at `snapshot`, which it releases in the end.
    RocksStore(std::shared_ptr<rocksdb::DB> db, const rocksdb::Snapshot* snapshot) : db_(std::move(db)) {
        reading_.snapshot = snapshot;
    }
    ~RocksStore() override {
        if (reading_.snapshot != nullptr) db_->ReleaseSnapshot(reading_.snapshot);
    }
    RocksStore(const RocksStore&) = delete;
    RocksStore& operator=(const RocksStore&) = delete;

    std::optional<Bytes> get(View key) const override {
        rocksdb::PinnableSlice value;
        const rocksdb::Status status = db_->Get(reading_, db_->DefaultColumnFamily(), slice(key), &value);
        if (status.IsNotFound()) return std::nullopt;
        // A read error does not mean absence: continuing would compute a wrong state.
        ensure(status.ok(), "RocksDB: a read failed");
        return to_bytes(view(value));
    }

    void get_many(std::span<const Bytes> keys, const VisitOne& visit) const override {
        constexpr std::size_t kAtOnce = 128;  // measured: larger batches gain nothing
        std::array<rocksdb::Slice, kAtOnce> slices;
        std::array<rocksdb::PinnableSlice, kAtOnce> values;
        std::array<rocksdb::Status, kAtOnce> statuses;
        for (std::size_t first = 0; first < keys.size(); first += kAtOnce) {
            const std::size_t count = std::min(kAtOnce, keys.size() - first);
            for (std::size_t i = 0; i < count; ++i) slices[i] = slice(keys[first + i]);
            db_->MultiGet(reading_, db_->DefaultColumnFamily(), count, slices.data(), values.data(), statuses.data(),
                          /*sorted_input=*/true);
            for (std::size_t i = 0; i < count; ++i) {
                ensure(statuses[i].ok() || statuses[i].IsNotFound(), "RocksDB: a read failed");
                if (statuses[i].ok()) visit(first + i, view(values[i]));
                values[i].Reset();
            }
        }
    }

    Status<> write(const Batch& batch, bool sync) override {
        if (reading_.snapshot != nullptr) return error("this view of the store is for reading");
        rocksdb::WriteBatch out;
        for (const Batch::Op& op : batch.ops) {
            if (op.value) {
                out.Put(slice(op.key), slice(*op.value));
            } else {
                out.Delete(slice(op.key));
            }
        }
        rocksdb::WriteOptions options;
        options.sync = sync;
        const rocksdb::Status status = db_->Write(options, &out);
        if (!status.ok()) return error("RocksDB: " + status.ToString());
        return Unit{};
    }

    void scan(View prefix, View from, std::size_t limit, const Visit& visit) const override {
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(reading_));
        const rocksdb::Slice start = slice(from).compare(slice(prefix)) < 0 ? slice(prefix) : slice(from);
        for (at->Seek(start); at->Valid() && limit > 0; at->Next(), --limit) {
            if (!at->key().starts_with(slice(prefix))) return;
            if (!visit(view(at->key()), view(at->value()))) return;
        }
        ensure(at->status().ok(), "RocksDB: a scan failed");
    }

    std::shared_ptr<const Store> frozen() const override {
        return std::make_shared<RocksStore>(db_, db_->GetSnapshot());
    }

private:
    std::shared_ptr<rocksdb::DB> db_;
    rocksdb::ReadOptions reading_;
};

StoreFailure failure_of(const rocksdb::Status& status, const std::string& directory) {
    const std::string text = status.ToString();
    if (status.IsIOError() && (text.find("lock") != std::string::npos || text.find("LOCK") != std::string::npos)) {
        return {StoreError::in_use, "the data directory " + directory + " is in use by another process"};
    }
    if (status.IsIOError()) {
        return {StoreError::no_access, "the data directory " + directory + " cannot be used: " + text};
    }
    if (status.IsCorruption()) {
        return {StoreError::corrupt, "the data directory " + directory + " is damaged: " + text};
    }
    return {StoreError::other, "the data directory " + directory + " cannot be opened: " + text};
}

}  // namespace

Result<std::unique_ptr<Store>, StoreFailure> open_rocks_store(const std::string& directory, std::size_t cache_bytes) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) {
        return Unexpected{StoreFailure{StoreError::no_access,
                                       "the data directory " + directory + " cannot be made: " + code.message()}};
    }
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(small_options(cache_bytes), directory, &db);
    if (!status.ok()) return Unexpected{failure_of(status, directory)};
    return std::unique_ptr<Store>(std::make_unique<RocksStore>(std::shared_ptr<rocksdb::DB>(db)));
}

Status<StoreFailure> check_rocks_pages(const std::string& directory) {
    rocksdb::DB* opened = nullptr;
    rocksdb::Options options = small_options(std::size_t{1} << 20);
    options.create_if_missing = false;
    rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, directory, &opened);
    const std::unique_ptr<rocksdb::DB> db(opened);
    if (status.ok()) status = db->VerifyChecksum();
    if (!status.ok()) return Unexpected{failure_of(status, directory)};
    return Unit{};
}

}  // namespace retrace::ledger
