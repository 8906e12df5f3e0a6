// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "merkle/tree/proof_codec.hpp"
#include "tests/unit/merkle/naive.hpp"

namespace retrace::merkle {
namespace {

struct Case {
    std::vector<Hash32> all;
    Hash32 root;
    std::vector<IndexedLeaf> opened;
    MultiProof proof;

    std::uint64_t count() const { return all.size(); }
    Status<ProofError> check() const { return verify(root, count(), opened, proof); }
};

Case open(std::uint64_t count, const std::vector<std::uint64_t>& indices) {
    Case c;
    c.all = naive::leaves(count);
    c.root = naive::root(c.all);
    for (const std::uint64_t i : indices) c.opened.push_back({i, c.all[i]});
    c.proof = TileTree(c.all).prove(indices);
    return c;
}

Case random_case(std::mt19937_64& random) {
    const std::uint64_t count = 1 + random() % 70;
    std::vector<std::uint64_t> indices;
    const std::uint64_t odds = 1 + random() % 12;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (random() % odds == 0) indices.push_back(i);
    }
    if (indices.empty()) indices.push_back(random() % count);
    return open(count, indices);
}

TEST(MultiProof, EverySubsetOfSmallTreesVerifies) {
    for (std::uint64_t count = 1; count <= 9; ++count) {
        for (std::uint64_t set = 1; set < std::uint64_t{1} << count; ++set) {
            std::vector<std::uint64_t> indices;
            for (std::uint64_t i = 0; i < count; ++i) {
                if (set >> i & 1) indices.push_back(i);
            }
            const Case c = open(count, indices);
            ASSERT_TRUE(c.check()) << count << " leaves, set " << set;
            EXPECT_LE(c.proof.siblings.size(), max_proof_siblings(count, indices.size()));
        }
    }
}

TEST(MultiProof, AllLeavesNeedNoSiblings) {
    EXPECT_TRUE(open(11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).proof.siblings.empty());
}

TEST(MultiProof, NoAlteredProofVerifies) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const Case good = random_case(random);
        ASSERT_TRUE(good.check());

        Case wrong_leaf = good;
        wrong_leaf.opened[random() % wrong_leaf.opened.size()].hash.bytes[random() % 32] ^= 1;
        EXPECT_EQ(wrong_leaf.check().error(), ProofError::wrong_root);

        Case wrong_position = good;
        IndexedLeaf& moved = wrong_position.opened[random() % wrong_position.opened.size()];
        moved.index = random() % (good.count() + 2);
        EXPECT_TRUE(wrong_position.opened == good.opened || !wrong_position.check());

        Case longer = good;
        longer.proof.siblings.push_back({});
        EXPECT_EQ(longer.check().error(), ProofError::too_long);

        if (good.proof.siblings.empty()) continue;
        Case shorter = good;
        shorter.proof.siblings.pop_back();
        EXPECT_EQ(shorter.check().error(), ProofError::too_short);

        Case flipped = good;
        flipped.proof.siblings[random() % flipped.proof.siblings.size()].bytes[random() % 32] ^= 0x80;
        EXPECT_EQ(flipped.check().error(), ProofError::wrong_root);

        Case swapped = good;
        std::swap(swapped.proof.siblings.front(), swapped.proof.siblings.back());
        EXPECT_TRUE(swapped.proof == good.proof || swapped.check().error() == ProofError::wrong_root);
    }
}

TEST(MultiProof, SwappedLeavesDoNotVerify) {
    Case c = open(6, {2, 3});
    std::swap(c.opened[0].hash, c.opened[1].hash);
    EXPECT_EQ(c.check().error(), ProofError::wrong_root);
}

TEST(MultiProof, AnotherLeafCountDoesNotVerifyWhereTheShapeDiffers) {
    Case c = open(5, {4});
    EXPECT_EQ(verify(c.root, 4, c.opened, c.proof).error(), ProofError::out_of_range);
    EXPECT_EQ(verify(c.root, 6, c.opened, c.proof).error(), ProofError::too_short);
    EXPECT_EQ(verify(c.root, ~std::uint64_t{0}, c.opened, c.proof).error(), ProofError::too_short);
}

TEST(MultiProof, RefusesBadSetsOfLeaves) {
    const Case c = open(8, {1, 5});
    EXPECT_EQ(verify(c.root, 8, {}, c.proof).error(), ProofError::no_leaves);
    EXPECT_EQ(verify(c.root, 0, {}, {}).error(), ProofError::no_leaves);
    const std::vector<IndexedLeaf> descending{c.opened[1], c.opened[0]};
    EXPECT_EQ(verify(c.root, 8, descending, c.proof).error(), ProofError::bad_order);
    const std::vector<IndexedLeaf> twice{c.opened[0], c.opened[0]};
    EXPECT_EQ(verify(c.root, 8, twice, c.proof).error(), ProofError::bad_order);
    const std::vector<IndexedLeaf> outside{{8, c.opened[0].hash}};
    EXPECT_EQ(verify(c.root, 8, outside, c.proof).error(), ProofError::out_of_range);
    const std::vector<IndexedLeaf> of_nothing{{0, Hash32{}}};
    EXPECT_EQ(verify(Hash32{}, 0, of_nothing, {}).error(), ProofError::out_of_range);
}

TEST(MultiProof, AnInnerNodeIsNoLeaf) {
    // The classic second preimage: a shorter tree whose leaves are the nodes of a longer one. The leaf count decides.
    const TileTree tree(naive::leaves(8));
    const std::vector<IndexedLeaf> node{{0, tree.node(1, 0)}};
    MultiProof proof{{tree.node(1, 1), tree.node(2, 1)}};
    EXPECT_EQ(verify(tree.root(), 8, node, proof).error(), ProofError::too_short);
    proof.siblings.push_back({});
    EXPECT_EQ(verify(tree.root(), 8, node, proof).error(), ProofError::wrong_root);
}

TEST(MultiProof, EncodingGoesThereAndBack) {
    const Case c = open(33, {0, 7, 32});
    Writer out;
    encode_to(out, c.proof);
    EXPECT_EQ(out.data().size(), 4 + 32 * c.proof.siblings.size());
    Reader in(out.data());
    EXPECT_EQ(decode_multi_proof(in, 64), c.proof);
    EXPECT_TRUE(in.finish());
}

TEST(MultiProof, DecodingKeepsToItsLimits) {
    Writer out;
    encode_to(out, open(33, {0}).proof);
    Reader over(out.data());
    EXPECT_TRUE(decode_multi_proof(over, 5).siblings.empty());
    EXPECT_EQ(over.finish().error(), CodecError::too_long);
    const Bytes lie{0xff, 0xff, 0xff, 0xff, 0, 0};
    Reader huge(lie);
    EXPECT_TRUE(decode_multi_proof(huge, ~std::size_t{0}).siblings.empty());
    EXPECT_EQ(huge.finish().error(), CodecError::truncated);
}

TEST(MultiProof, NamesItsErrors) {
    EXPECT_EQ(slug(ProofError::no_leaves), "no_leaves");
    EXPECT_EQ(slug(ProofError::wrong_root), "wrong_root");
    EXPECT_EQ(slug(static_cast<ProofError>(0)), "unknown");
}

}  // namespace
}  // namespace retrace::merkle
