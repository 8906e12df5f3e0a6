// SPDX-License-Identifier: MIT
// Pages against a store with a key for every node.
#include "ledger/chain/paged_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ledger/chain/keys.hpp"
#include "merkle/hash/sha256.hpp"
#include "merkle/tree/sparse_tree.hpp"
#include "tests/unit/ledger/vectors.hpp"

namespace retrace::ledger {
namespace {

Hash32 key(std::uint64_t n, bool crowded) {
    Bytes bytes(8);
    store_u64(bytes.data(), n);
    Hash32 out = merkle::sha256(bytes);
    if (crowded) std::fill(out.bytes.begin(), out.bytes.begin() + 30, 0);  // a path 240 levels long
    return out;
}

void write_pages(MemoryStore& store, const PageWrites& pages) {
    Batch batch;
    for (const auto& [page_key, page] : pages) {
        if (page.empty()) {
            batch.erase(keys::page(page_key));
        } else {
            batch.put(keys::page(page_key), page);
        }
    }
    ASSERT_TRUE(store.write(batch, false));
}

/// Every node is in its page, and no page holds one more.
void expect_same_nodes(const MemoryStore& store, const merkle::MemoryNodeStore& plain) {
    const PagedNodes nodes = tip_nodes(store);
    for (const auto& [store_key, node] : plain.nodes()) ASSERT_EQ(nodes.get(store_key), node);
    std::size_t count = 0;
    const Bytes all = keys::page({});
    store.scan(all, all, SIZE_MAX, [&](View, View page) {
        for (const auto& node : decode_page(page)) count += node.kind != merkle::SparseNode::Kind::empty;
        return true;
    });
    ASSERT_EQ(count, plain.nodes().size());
}

std::uint64_t random_of(const Bytes& seed) { return std::mt19937_64(seed.back())(); }

TEST(PagedTree, agrees_with_one_key_a_node) {
    std::mt19937_64 random(9);
    MemoryStore store;
    merkle::MemoryNodeStore plain;
    Hash32 root;
    for (int round = 0; round < 60; ++round) {
        std::map<Hash32, std::optional<Hash32>> updates;
        for (int i = 0; i < 20; ++i) {
            const Hash32 at = key(random() % 200, random() % 5 == 0);
            if (random() % 3 == 0) {
                updates[at] = std::nullopt;
            } else {
                updates[at] = merkle::sha256(test::bytes(std::to_string(random())));
            }
        }
        const std::vector<merkle::SparseUpdate> list(updates.begin(), updates.end());
        const auto paged = change_tree(store, root, list, 1 + random() % 3);
        const auto expected = merkle::SparseTree(plain, root).apply(list);
        ASSERT_TRUE(paged && expected);
        ASSERT_EQ(paged->root, expected->root) << "round " << round;
        write_pages(store, paged->pages);
        plain.write(expected->writes);
        root = expected->root;
        if (round % 10 == 9) expect_same_nodes(store, plain);
    }
    expect_same_nodes(store, plain);
}

// Enough updates at once that the subtrees are worked on side by side; removals empty whole subtrees again.
TEST(PagedTree, side_by_side_it_is_the_same_tree) {
    std::mt19937_64 random(10);
    MemoryStore store;
    merkle::MemoryNodeStore plain;
    Hash32 root;
    for (int round = 0; round < 12; ++round) {
        const bool emptying = round % 4 == 3;
        std::map<Hash32, std::optional<Hash32>> updates;
        for (std::uint64_t i = 0; i < 700; ++i) {
            const Hash32 at = key(emptying ? i : random() % 700, random() % 50 == 0);
            updates[at] = emptying && i % 100 != 0 ? std::nullopt : std::optional<Hash32>(key(random(), false));
        }
        const std::vector<merkle::SparseUpdate> list(updates.begin(), updates.end());
        const auto paged = change_tree(store, root, list, 3);
        const auto alone = change_tree(store, root, list, 1);
        const auto expected = merkle::SparseTree(plain, root).apply(list);
        ASSERT_TRUE(paged && alone && expected);
        ASSERT_EQ(paged->root, expected->root) << "round " << round;
        ASSERT_EQ(paged->pages, alone->pages);
        ASSERT_EQ(paged->old_pages, alone->old_pages);
        for (const auto& [page_key, page] : paged->old_pages) {
            ASSERT_EQ(store.get(keys::page(page_key)).value_or(Bytes{}), page);
        }
        write_pages(store, paged->pages);
        plain.write(expected->writes);
        root = expected->root;
        expect_same_nodes(store, plain);
    }
}

TEST(PagedTree, a_missing_or_changed_page_is_named) {
    MemoryStore store;
    std::vector<merkle::SparseUpdate> updates;
    for (std::uint64_t i = 0; i < 600; ++i) updates.emplace_back(key(i, false), key(i + 1000, false));
    std::sort(updates.begin(), updates.end());
    const auto made = change_tree(store, Hash32{}, updates);
    ASSERT_TRUE(made);
    write_pages(store, made->pages);
    for (const auto& [page_key, page] : made->pages) {
        Batch without;
        without.erase(keys::page(page_key));
        ASSERT_TRUE(store.write(without, false));
        for (auto& update : updates) update.second = key(random_of(page_key), false);
        const auto missing = change_tree(store, made->root, updates);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error(), merkle::SparseError::missing_node);
        Bytes wrong = page;
        wrong.back() ^= 1;
        write_pages(store, {{page_key, wrong}});
        const auto corrupt = change_tree(store, made->root, updates);
        ASSERT_FALSE(corrupt);
        EXPECT_EQ(corrupt.error(), merkle::SparseError::corrupt_node);
        write_pages(store, {{page_key, page}});
        if (page_key[1] >= 8) break;  // one page of each of the upper levels is enough
    }
}

TEST(PagedNodesDeathTest, a_damaged_page_is_not_read) {
    MemoryStore store;
    Batch batch;
    batch.put(keys::page({0, 0}), {1, 0, 7});
    ASSERT_TRUE(store.write(batch, false));
    const PagedNodes nodes = tip_nodes(store);
    EXPECT_DEATH((void)nodes.get({0, 0}), "does not decode");
}

}  // namespace
}  // namespace retrace::ledger
