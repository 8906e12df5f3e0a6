// SPDX-License-Identifier: MIT
// Compares the paged tree with a store that has a key for every node.
#include "ledger/chain/tree_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/paged_tree.hpp"
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

void write_page(MemoryStore& store, const Bytes& page_key, const Bytes& page) {
    Batch batch;
    if (page.empty()) {
        batch.erase(keys::page(page_key));
    } else {
        batch.put(keys::page(page_key), page);
    }
    ASSERT_TRUE(store.write(batch, false));
}

void write_pages(MemoryStore& store, const std::vector<PageChange>& pages) {
    for (const PageChange& change : pages) write_page(store, change.key, change.page);
}

std::map<Bytes, Bytes> pages_in(const MemoryStore& store) {
    std::map<Bytes, Bytes> out;
    const Bytes all = keys::page({});
    store.scan(all, all, SIZE_MAX, [&](View page_key, View page) {
        out.emplace(to_bytes(page_key), to_bytes(page));
        return true;
    });
    return out;
}

/// Checks that every node can be read from the pages, and that the same leaves make the same pages in a new store.
void expect_same_nodes(const MemoryStore& store, const merkle::MemoryNodeStore& plain) {
    const PagedNodes nodes = tip_nodes(store);
    std::vector<merkle::SparseUpdate> leaves;
    for (const auto& [store_key, node] : plain.nodes()) {
        ASSERT_EQ(nodes.get(store_key), node);
        const auto decoded = merkle::SparseNode::decode(node);
        if (decoded->kind == merkle::SparseNode::Kind::leaf) leaves.emplace_back(decoded->left, decoded->right);
    }
    std::sort(leaves.begin(), leaves.end());
    MemoryStore fresh;
    const auto made = change_tree(PageSource(fresh), Hash32{}, leaves);
    ASSERT_TRUE(made);
    write_pages(fresh, made->pages);
    ASSERT_EQ(pages_in(store), pages_in(fresh));
}

std::uint64_t random_of(const Bytes& seed) { return std::mt19937_64(seed.back())(); }

TEST(PagedTree, AgreesWithOneKeyANode) {
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
        const auto paged = change_tree(PageSource(store), root, list, 1 + random() % 3);
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

// Enough updates at once that subtrees are processed in parallel; removals empty whole subtrees again.
TEST(PagedTree, SideBySideItIsTheSameTree) {
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
        const auto paged = change_tree(PageSource(store), root, list, 3);
        const auto alone = change_tree(PageSource(store), root, list, 1);
        const auto expected = merkle::SparseTree(plain, root).apply(list);
        ASSERT_TRUE(paged && alone && expected);
        ASSERT_EQ(paged->root, expected->root) << "round " << round;
        ASSERT_EQ(paged->pages, alone->pages);
        for (const PageChange& change : paged->pages) {
            const Bytes old = store.get(keys::page(change.key)).value_or(Bytes{});
            for (const Bytes& page : {change.page, old}) {  // the patch leads back whether it is written or not
                const auto before = patched(decode_page(page).value(), change.undo);
                ASSERT_TRUE(before);
                ASSERT_EQ(encode_page(*before), old);
            }
        }
        write_pages(store, paged->pages);
        plain.write(expected->writes);
        root = expected->root;
        expect_same_nodes(store, plain);
    }
}

TEST(PagedTree, AMissingOrChangedPageIsNamed) {
    MemoryStore store;
    std::vector<merkle::SparseUpdate> updates;
    for (std::uint64_t i = 0; i < 600; ++i) updates.emplace_back(key(i, false), key(i + 1000, false));
    std::sort(updates.begin(), updates.end());
    const auto made = change_tree(PageSource(store), Hash32{}, updates);
    ASSERT_TRUE(made);
    write_pages(store, made->pages);
    std::size_t buckets = 0, branches = 0;
    for (const auto& [page_key, page, undo] : made->pages) {
        for (auto& update : updates) update.second = key(random_of(page_key), false);
        write_page(store, page_key, {});
        const auto missing = change_tree(PageSource(store), made->root, updates);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error(), merkle::SparseError::missing_node);
        for (const std::size_t at : {std::size_t{0}, std::size_t{1}, page.size() / 2, page.size() - 1}) {
            Bytes wrong = page;
            wrong[at] ^= 1;
            write_page(store, page_key, wrong);
            const auto corrupt = change_tree(PageSource(store), made->root, updates);
            ASSERT_FALSE(corrupt) << to_hex(page_key) << " byte " << at;
            EXPECT_TRUE(at < page.size() - 1 || corrupt.error() == merkle::SparseError::corrupt_node);
        }
        write_page(store, page_key, page);
        ++(page[0] == kMany ? branches : buckets);
        if (buckets >= 4) break;
    }
    EXPECT_GE(branches, 2U);
}

TEST(PagedNodes, WhatIsNoPageHasNoNodes) {
    MemoryStore store;
    const Bytes branch_of_nothing = [] {
        Bytes out(1 + kPlaces);
        out[0] = kMany;
        return out;
    }();
    Bytes twice(1 + 4 * 32, 7);
    twice[0] = 2;  // the same leaf two times
    for (const Bytes& page : {Bytes{1, 0, 7}, Bytes{0}, Bytes{kMany}, Bytes{kMany + 1}, branch_of_nothing, twice}) {
        EXPECT_FALSE(decode_page(page));
        write_page(store, {0, 0}, page);
        EXPECT_FALSE(tip_nodes(store).get({0, 0}));
        EXPECT_EQ(change_tree(PageSource(store), key(1, false), {{key(2, false), key(3, false)}}).error(),
                  merkle::SparseError::corrupt_node);
    }
}

// The limits at which the layout changes: a page takes 32 leaves, one more makes it a branch, one less a page again.
TEST(PagedTree, APageIsSplitAndJoinedAtItsLimit) {
    MemoryStore store;
    merkle::MemoryNodeStore plain;
    Hash32 root;
    const auto apply = [&](const std::vector<merkle::SparseUpdate>& updates) {
        const auto paged = change_tree(PageSource(store), root, updates);
        const auto expected = merkle::SparseTree(plain, root).apply(updates);
        ASSERT_TRUE(paged && expected);
        ASSERT_EQ(paged->root, expected->root);
        write_pages(store, paged->pages);
        plain.write(expected->writes);
        root = expected->root;
    };
    for (std::uint64_t i = 0; i <= kBucketMax; ++i) {
        apply({{key(i, i % 2 == 0), key(i, false)}});
        ASSERT_EQ(pages_in(store).size() == 1, i < kBucketMax) << i;
    }
    expect_same_nodes(store, plain);
    apply({{key(5, false), std::nullopt}});
    EXPECT_EQ(pages_in(store).size(), 1U);
    expect_same_nodes(store, plain);
    for (std::uint64_t i = 0; i <= kBucketMax; ++i) apply({{key(i, i % 2 == 0), std::nullopt}});
    EXPECT_TRUE(pages_in(store).empty());
    EXPECT_TRUE(root.is_zero());
}

TEST(TreePage, APatchOfAnotherPageIsRefused) {
    const Bucket bucket{{key(1, false), key(2, false)}};
    Branch branch{};
    for (Subtree& below : branch) below = {3, key(9, false)};
    Branch other = branch;
    other[4] = {};
    const Bytes of_branch = patch_of(branch, other),
                of_bucket = patch_of(bucket, Bucket{{key(1, false), key(7, false)}});
    EXPECT_EQ(patched(other, of_branch), TreePage{branch});
    EXPECT_FALSE(patched(bucket, of_branch));
    EXPECT_FALSE(patched(branch, of_bucket));
    EXPECT_FALSE(patched(bucket, {}));
    EXPECT_FALSE(patched(bucket, Bytes{3}));
    for (std::size_t size = 2; size < of_branch.size(); ++size) {
        EXPECT_FALSE(patched(other, View(of_branch).first(size))) << size;
    }
    Bytes wild = of_branch;
    wild[1] = kPlaces;
    EXPECT_FALSE(patched(other, wild)) << "a place that no branch has";
    EXPECT_EQ(patched(bucket, patch_of(branch, bucket)), TreePage{branch}) << "the whole page";
}

}  // namespace
}  // namespace retrace::ledger
