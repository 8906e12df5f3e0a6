// SPDX-License-Identifier: MIT
#include "merkle/tree/tile_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/merkle/naive.hpp"

namespace retrace::merkle {
namespace {

TEST(TileTree, LevelsOfSmallTrees) {
    const std::uint32_t expected[] = {0, 1, 2, 3, 3, 4, 4, 4, 4, 5};
    for (std::uint64_t n = 0; n < 10; ++n) EXPECT_EQ(level_count(n), expected[n]) << n;
    EXPECT_EQ(level_count(~std::uint64_t{0}), 65u);
    const std::uint64_t widths[] = {11, 6, 3, 2, 1, 0, 0};
    for (std::uint32_t level = 0; level < 7; ++level) EXPECT_EQ(level_width(11, level), widths[level]);
    EXPECT_EQ(level_width(0, 0), 0u);
    EXPECT_EQ(level_width(~std::uint64_t{0}, 64), 1u);
}

TEST(TileTree, AgreesWithTheRecursiveDefinition) {
    for (std::uint64_t n = 0; n < 140; ++n) {
        const auto leaves = naive::leaves(n);
        const Hash32 expected = naive::root(leaves);
        const TileTree tree(leaves);
        EXPECT_EQ(tree_root(leaves), expected) << n;
        EXPECT_EQ(tree.root(), expected) << n;
        EXPECT_EQ(tree.leaf_count(), n);
        ASSERT_EQ(tree.levels(), level_count(n));
    }
}

TEST(TileTree, NodesAreRootsOfAlignedRuns) {
    const auto leaves = naive::leaves(77);
    const TileTree tree(leaves);
    for (std::uint32_t level = 0; level < tree.levels(); ++level) {
        for (std::uint64_t i = 0; i < level_width(77, level); ++i) {
            const std::uint64_t begin = i << level;
            const std::uint64_t size = std::min<std::uint64_t>(std::uint64_t{1} << level, 77 - begin);
            EXPECT_EQ(tree.node(level, i), tree_root(std::span(leaves).subspan(begin, size)));
        }
    }
}

TEST(TileTree, AnUpdateIsARebuild) {
    std::mt19937_64 random(1);
    for (const std::uint64_t n : {1, 2, 3, 5, 8, 31, 64, 65, 100}) {
        auto leaves = naive::leaves(n);
        TileTree tree(leaves);
        for (std::uint64_t round = 0; round < 2 * n; ++round) {
            const std::uint64_t index = random() % n;
            leaves[index] = naive::number(random());
            tree.update(index, leaves[index]);
            ASSERT_EQ(tree.root(), naive::root(leaves)) << n;
        }
        const TileTree rebuilt(leaves);
        for (std::uint32_t level = 0; level < tree.levels(); ++level) {
            for (std::uint64_t i = 0; i < level_width(n, level); ++i) {
                EXPECT_EQ(tree.node(level, i), rebuilt.node(level, i));
            }
        }
    }
}

TEST(TileTree, LeavesAndNodesHaveDomainsOfTheirOwn) {
    const auto pair = naive::leaves(2);
    Bytes joined = to_bytes(view(pair[0]));
    joined.insert(joined.end(), pair[1].bytes.begin(), pair[1].bytes.end());
    EXPECT_NE(tile_leaf(joined), node_hash(pair[0], pair[1]));
    EXPECT_NE(indexed_leaf(Tag::state_leaf, 0, joined), indexed_leaf(Tag::trace_leaf, 0, joined));
    EXPECT_NE(indexed_leaf(Tag::state_leaf, 0, joined), indexed_leaf(Tag::state_leaf, 1, joined));
}

TEST(TileTree, OneLeafIsItsOwnRootAndNoneIsZero) {
    const auto leaves = naive::leaves(1);
    EXPECT_EQ(tree_root(leaves), leaves[0]);
    EXPECT_TRUE(tree_root({}).is_zero());
    EXPECT_TRUE(TileTree().root().is_zero());
}

TEST(TileTreeDeathTest, OutOfRangeIsABug) {
    TileTree tree(naive::leaves(3));
    EXPECT_DEATH((void)tree.node(0, 3), "a node of the tree");
    EXPECT_DEATH((void)tree.node(3, 0), "a node of the tree");
    EXPECT_DEATH(tree.update(3, {}), "a leaf of the tree");
    EXPECT_DEATH((void)tree.prove(std::vector<std::uint64_t>{3}), "a leaf of the tree");
    EXPECT_DEATH((void)tree.prove(std::vector<std::uint64_t>{1, 1}), "indices ascend");
}

}  // namespace
}  // namespace retrace::merkle
