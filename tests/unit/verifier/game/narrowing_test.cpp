// SPDX-License-Identifier: MIT
#include "verifier/game/narrowing.hpp"

#include <gtest/gtest.h>

namespace retrace::verifier {
namespace {

Hash32 numbered(std::uint64_t n) {
    Hash32 hash;
    store_u64(hash.data(), n + 1);
    return hash;
}

TEST(Search, FindsEveryPositionInTheLeastRounds) {
    for (const std::uint64_t high : {2u, 3u, 15u, 16u, 17u, 100u, 256u, 257u, 1000u}) {
        std::uint32_t least = 0;
        for (std::uint64_t reach = 1; reach < high; reach *= kArity) ++least;
        for (std::uint64_t wrong = 1; wrong <= high; ++wrong) {  // The first disputed position.
            Search search{0, high, numbered(0), numbered(high)};
            std::uint32_t rounds = 0;
            while (search.high - search.low > 1) {
                std::vector<Hash32> posted;
                std::uint64_t index = 0;
                for (const std::uint64_t position : search_positions(search)) {
                    EXPECT_TRUE(search.low < position && position < search.high);
                    posted.push_back(numbered(position));
                    if (position < wrong) ++index;
                }
                EXPECT_LT(posted.size(), kArity);
                search = narrow(search, posted, index);
                ++rounds;
            }
            EXPECT_EQ(search.high, wrong);
            EXPECT_EQ(search.high_hash, numbered(wrong));
            EXPECT_EQ(search.low_hash, numbered(wrong - 1));
            EXPECT_LE(rounds, least);
        }
    }
}

TEST(Descent, ReachesEveryLeafAndProvesWhatLiesLeftOfIt) {
    for (std::uint64_t count = 1; count <= 70; ++count) {
        std::vector<Hash32> leaves;
        for (std::uint64_t i = 0; i < count; ++i) leaves.push_back(numbered(i));
        const merkle::TileTree tree(leaves);
        for (std::uint64_t wanted = 0; wanted < count; ++wanted) {
            Descent descent = descend_from(count, tree.root());
            std::vector<Hash32> left;
            while (descent.level > 0) {
                const Children children = children_of(descent);
                ASSERT_TRUE(children.count >= 2 && children.count <= kArity);
                std::vector<Hash32> posted;
                for (std::uint64_t i = 0; i < children.count; ++i) {
                    posted.push_back(tree.node(children.level, children.first + i));
                }
                ASSERT_TRUE(are_children(descent, posted));
                const std::uint64_t index = (wanted >> children.level) - children.first;
                for (const Hash32& root : left_of_path(descent, posted, index)) left.push_back(root);
                descent = descend_to(descent, index, posted[index]);
            }
            ASSERT_EQ(descent.index, wanted);
            ASSERT_EQ(descent.node, leaves[wanted]);
            for (std::uint64_t before = 0; before < wanted; ++before) {
                const LeftSubtree subtree = left_subtree(wanted, before);
                ASSERT_LT(subtree.place, left.size());
                EXPECT_EQ(left[subtree.place], tree.node(subtree.level, before >> subtree.level));
            }
        }
    }
}

}  // namespace
}  // namespace retrace::verifier
