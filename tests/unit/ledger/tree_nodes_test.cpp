// SPDX-License-Identifier: MIT
// Pages against a store with a key for every node.
#include "ledger/chain/tree_nodes.hpp"

#include <gtest/gtest.h>

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

TEST(PagedNodes, agree_with_one_key_a_node) {
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
        const PagedNodes nodes = tip_nodes(store);
        const auto paged = merkle::SparseTree(nodes, root).apply(list);
        const auto expected = merkle::SparseTree(plain, root).apply(list);
        ASSERT_TRUE(paged && expected);
        ASSERT_EQ(paged->root, expected->root) << "round " << round;
        ASSERT_EQ(paged->writes, expected->writes) << "round " << round;
        Batch batch;
        for (const auto& [page_key, page] : nodes.change(paged->writes).pages) {
            if (page.empty()) {
                batch.erase(keys::page(page_key));
            } else {
                batch.put(keys::page(page_key), page);
            }
        }
        ASSERT_TRUE(store.write(batch, false));
        plain.write(expected->writes);
        root = expected->root;
    }
    const PagedNodes nodes = tip_nodes(store);
    for (const auto& [store_key, node] : plain.nodes()) ASSERT_EQ(nodes.get(store_key), node);
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
