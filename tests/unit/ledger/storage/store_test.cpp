// SPDX-License-Identifier: MIT
#include "ledger/storage/store.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "ledger/storage/fault_store.hpp"
#include "ledger/storage/rocks_store.hpp"
#include "tests/unit/ledger/temp_dir.hpp"
#include "tests/unit/ledger/vectors.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::TempDir;

using Pairs = std::vector<std::pair<Bytes, Bytes>>;

Pairs scan(const Store& store, View prefix, View from, std::size_t limit) {
    Pairs out;
    store.scan(prefix, from, limit, [&](View key, View value) {
        out.emplace_back(to_bytes(key), to_bytes(value));
        return true;
    });
    return out;
}

TEST(Store, AFrozenViewDoesNotChangeAndOutlivesTheStore) {
    const TempDir dir;
    auto rocks = open_rocks_store(dir.path());
    ASSERT_TRUE(rocks) << rocks.error().message;
    MemoryStore memory, beneath;
    FaultStore above(beneath, FaultStore::Fault::none, 0);
    std::vector<std::shared_ptr<const Store>> views;
    for (Store* store : std::initializer_list<Store*>{&memory, rocks->get(), &above}) {
        Batch batch;
        batch.put(bytes("a"), bytes("1"));
        batch.put(bytes("b"), bytes("2"));
        ASSERT_TRUE(store->write(batch, false));
        views.push_back(store->frozen());
        Batch later;
        later.put(bytes("a"), bytes("changed"));
        later.erase(bytes("b"));
        later.put(bytes("c"), bytes("3"));
        ASSERT_TRUE(store->write(later, false));
        EXPECT_EQ(scan(*store, {}, {}, 9), (Pairs{{bytes("a"), bytes("changed")}, {bytes("c"), bytes("3")}}));
    }
    rocks->reset();
    for (const auto& view : views) {
        EXPECT_EQ(scan(*view, {}, {}, 9), (Pairs{{bytes("a"), bytes("1")}, {bytes("b"), bytes("2")}}));
        EXPECT_EQ(view->get(bytes("a")), bytes("1"));
        EXPECT_FALSE(view->get(bytes("c")));
        std::size_t seen = 0;
        const std::vector<Bytes> keys{bytes("b"), bytes("c")};
        view->get_many(keys, [&](std::size_t, View value) { seen += value.size(); });
        EXPECT_EQ(seen, 1U);
    }
    EXPECT_TRUE(open_rocks_store(dir.path()).error().code == StoreError::in_use);
    views.clear();
    EXPECT_TRUE(open_rocks_store(dir.path()));
}

TEST(Store, ManyKeysAtOnceAreWhatOneAtATimeAre) {
    const TempDir dir;
    auto rocks = open_rocks_store(dir.path());
    ASSERT_TRUE(rocks) << rocks.error().message;
    MemoryStore memory;
    Batch batch;
    std::vector<Bytes> keys;
    for (int i = 0; i < 500; ++i) {  // more than RocksDB is asked for in one call
        Bytes key{static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
        if (i % 3 != 0) batch.put(key, Bytes(static_cast<std::size_t>(i % 7), 9));
        keys.push_back(std::move(key));
    }
    ASSERT_TRUE(memory.write(batch, false) && (*rocks)->write(batch, false));
    FaultStore above(**rocks, FaultStore::Fault::none, 0);
    const auto many = [&](const Store& store) {
        std::vector<std::optional<Bytes>> out(keys.size());
        std::size_t last = 0;
        store.get_many(keys, [&](std::size_t i, View value) {
            EXPECT_LE(last, i) << "in order";
            last = i;
            out[i] = to_bytes(value);
        });
        return out;
    };
    const auto expected = many(memory);
    EXPECT_EQ(many(**rocks), expected);
    EXPECT_EQ(many(above), expected);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ((*rocks)->get(keys[i]), expected[i]) << i;
    (*rocks)->get_many({}, [](std::size_t, View) { FAIL() << "nothing was asked for"; });
}

TEST(Store, RocksAndMemoryAgree) {
    const TempDir dir;
    auto rocks = open_rocks_store(dir.path());
    ASSERT_TRUE(rocks) << rocks.error().message;
    MemoryStore memory;
    std::mt19937_64 random(5);
    const auto any_key = [&] {
        Bytes key(random() % 4);
        for (auto& b : key) b = static_cast<std::uint8_t>(random() % 3);
        return key;
    };
    for (int round = 0; round < 300; ++round) {
        Batch batch;
        for (int i = 0; i < 5; ++i) {
            if (random() % 3 == 0) {
                batch.erase(any_key());
            } else {
                batch.put(any_key(), Bytes(random() % 3, static_cast<std::uint8_t>(round)));
            }
        }
        ASSERT_TRUE(memory.write(batch, false));
        ASSERT_TRUE((*rocks)->write(batch, round % 50 == 0));
        const Bytes key = any_key();
        ASSERT_EQ(memory.get(key), (*rocks)->get(key)) << "round " << round;
        const Bytes prefix = any_key();
        const Bytes from = any_key();
        const std::size_t limit = random() % 8;
        ASSERT_EQ(scan(memory, prefix, from, limit), scan(**rocks, prefix, from, limit)) << "round " << round;
    }
}

TEST(Store, ScanStopsWhenTold) {
    MemoryStore store;
    Batch batch;
    for (std::uint8_t i = 0; i < 5; ++i) batch.put({'p', i}, {i});
    batch.put({'q'}, {});
    ASSERT_TRUE(store.write(batch, true));
    int visits = 0;
    store.scan(bytes("p"), bytes("p"), 100, [&](View, View) { return ++visits < 3; });
    EXPECT_EQ(visits, 3);
    EXPECT_EQ(scan(store, bytes("p"), Bytes{'p', 3}, 100).size(), 2U);
    EXPECT_EQ(scan(store, bytes("p"), bytes("p"), 100).size(), 5U);
}

TEST(RocksStore, SurvivesAReopen) {
    const TempDir dir;
    {
        auto store = open_rocks_store(dir.path());
        Batch batch;
        batch.put(bytes("key"), bytes("value"));
        ASSERT_TRUE((*store)->write(batch, true));
    }
    auto store = open_rocks_store(dir.path());
    EXPECT_EQ((*store)->get(bytes("key")), bytes("value"));
}

TEST(RocksStore, ADirectoryInUseIsRefusedByName) {
    const TempDir dir;
    auto first = open_rocks_store(dir.path());
    ASSERT_TRUE(first);
    const auto second = open_rocks_store(dir.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, StoreError::in_use);
    EXPECT_NE(second.error().message.find(dir.path()), std::string::npos);
}

TEST(RocksStore, ADirectoryThatCannotBeMadeIsRefusedByName) {
    const auto store = open_rocks_store("/proc/nothing/here");
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, StoreError::no_access);
}

TEST(RocksStore, DamagedFilesAreRefusedByName) {
    const TempDir dir;
    open_rocks_store(dir.path()).value().reset();
    for (const auto& file : std::filesystem::directory_iterator(dir.path())) {
        if (file.path().filename().string().starts_with("MANIFEST")) std::filesystem::resize_file(file.path(), 3);
    }
    const auto store = open_rocks_store(dir.path());
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, StoreError::corrupt) << store.error().message;
}

TEST(FaultStore, EachFaultLeavesWhatItSays) {
    using Fault = FaultStore::Fault;
    const auto left = [](Fault fault, std::size_t torn_ops) {
        MemoryStore disk;
        FaultStore store(disk, fault, 2, torn_ops);
        for (std::uint8_t i = 1; i <= 3; ++i) {
            Batch batch;
            batch.put({'a', i}, {});
            batch.put({'b', i}, {});
            (void)store.write(batch, true);
        }
        return scan(disk, {}, {}, 100).size();
    };
    EXPECT_EQ(left(Fault::none, 0), 6U);
    EXPECT_EQ(left(Fault::fail, 0), 2U);
    EXPECT_EQ(left(Fault::fail_written, 0), 4U);
    EXPECT_EQ(left(Fault::tear, 1), 3U);
    EXPECT_EQ(left(Fault::drop, 0), 4U);
}

}  // namespace
}  // namespace retrace::ledger
