// SPDX-License-Identifier: MIT
#include "merkle/tree/append_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/merkle/naive.hpp"

namespace retrace::merkle {
namespace {

class Nodes final : public AppendNodeStore {
public:
    void keep(const std::vector<AppendNode>& nodes) {
        for (const AppendNode& node : nodes) {
            EXPECT_TRUE(nodes_.emplace(std::pair{node.level, node.index}, node.hash).second) << "written twice";
        }
    }
    void drop(std::uint32_t level, std::uint64_t index) { nodes_.erase({level, index}); }
    std::optional<Hash32> get(std::uint32_t level, std::uint64_t index) const override {
        const auto found = nodes_.find({level, index});
        if (found == nodes_.end()) return std::nullopt;
        return found->second;
    }

private:
    std::map<std::pair<std::uint32_t, std::uint64_t>, Hash32> nodes_;
};

TEST(AppendTree, HasTheRootOfATileTreeAtEveryLength) {
    const auto leaves = naive::leaves(150);
    AppendTree tree;
    EXPECT_TRUE(tree.root().is_zero());
    for (std::size_t n = 0; n < leaves.size(); ++n) {
        tree.append(leaves[n]);
        ASSERT_EQ(tree.size(), n + 1);
        ASSERT_EQ(tree.root(), naive::root(std::span(leaves).first(n + 1))) << n;
    }
}

TEST(AppendTree, ProvesEveryLeafAtEveryLength) {
    const auto leaves = naive::leaves(40);
    AppendTree tree;
    Nodes nodes;
    for (const Hash32& leaf : leaves) nodes.keep(tree.append(leaf));
    for (std::uint64_t size = 1; size <= leaves.size(); ++size) {
        const TileTree whole(std::vector<Hash32>(leaves.begin(), leaves.begin() + static_cast<long>(size)));
        for (std::uint64_t index = 0; index < size; ++index) {
            const auto proof = prove_append(nodes, size, index);
            ASSERT_TRUE(proof) << size << " " << index;
            EXPECT_EQ(*proof, whole.prove(std::vector{index}));
            const std::vector<IndexedLeaf> opened{{index, leaves[index]}};
            EXPECT_TRUE(verify(whole.root(), size, opened, *proof)) << size << " " << index;
        }
        EXPECT_EQ(prove_append(nodes, size, size), std::nullopt);
    }
}

TEST(AppendTree, AMissingNodeMakesNoProof) {
    AppendTree tree;
    Nodes nodes;
    for (const Hash32& leaf : naive::leaves(7)) nodes.keep(tree.append(leaf));
    nodes.drop(1, 1);
    EXPECT_EQ(prove_append(nodes, 7, 0), std::nullopt);
    EXPECT_NE(prove_append(nodes, 7, 2), std::nullopt);
}

TEST(AppendTree, StateGoesThereAndBack) {
    const auto leaves = naive::leaves(50);
    AppendTree tree;
    for (std::size_t n = 0; n < 37; ++n) tree.append(leaves[n]);
    Writer out;
    tree.encode_to(out);
    EXPECT_EQ(out.data().size(), 8u + 3 * 32);  // 37 = 100101 in binary.
    Reader in(out.data());
    AppendTree again = AppendTree::decode(in);
    ASSERT_TRUE(in.finish());
    EXPECT_EQ(again, tree);
    for (std::size_t n = 37; n < 50; ++n) EXPECT_EQ(again.append(leaves[n]), tree.append(leaves[n]));
    EXPECT_EQ(again.root(), naive::root(leaves));
}

TEST(AppendTree, RefusesAStateThatIsCutShort) {
    Bytes bytes(8 + 63 * 32, 0);
    std::fill_n(bytes.begin(), 8, std::uint8_t{0xff});
    Reader in(bytes);
    EXPECT_EQ(AppendTree::decode(in), AppendTree{});
    EXPECT_EQ(in.finish().error(), CodecError::truncated);
}

TEST(AppendTree, LeavesHaveADomainOfTheirOwn) {
    const Bytes content{1, 2, 3};
    EXPECT_EQ(append_leaf(content), Sha256().update_u8(9).update(content).finish());
    EXPECT_NE(append_leaf(content), tile_leaf(content));
}

}  // namespace
}  // namespace retrace::merkle
