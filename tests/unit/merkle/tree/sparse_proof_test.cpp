// SPDX-License-Identifier: MIT
#include "merkle/tree/sparse_proof.hpp"

#include <gtest/gtest.h>

#include "merkle/tree/sparse_tree.hpp"
#include "tests/unit/merkle/naive.hpp"

namespace retrace::merkle {
namespace {

class SparseProofs : public testing::Test {
protected:
    SparseProofs() {
        std::vector<SparseUpdate> updates;
        for (std::uint64_t i = 0; i < 200; ++i) values_[naive::number(i)] = naive::number(i + 1000);
        for (const auto& item : values_) updates.emplace_back(item);
        auto change = SparseTree(store_, {}).apply(updates);
        store_.write(change->writes);
        root_ = change->root;
    }
    SparseProof prove(const Hash32& key) const { return *SparseTree(store_, root_).prove(key); }

    MemoryNodeStore store_;
    std::map<Hash32, Hash32> values_;
    Hash32 root_;
};

TEST_F(SparseProofs, ShowPresenceAndNothingElse) {
    for (const auto& [key, value] : values_) {
        const SparseProof proof = prove(key);
        EXPECT_TRUE(verify_sparse(root_, key, value, proof));
        EXPECT_EQ(verify_sparse(root_, key, std::nullopt, proof).error(), SparseError::wrong_root);
        EXPECT_EQ(verify_sparse(root_, key, naive::number(1), proof).error(), SparseError::wrong_root);
        EXPECT_EQ(verify_sparse(root_, naive::number(9999), value, proof).error(), SparseError::wrong_root);
    }
}

TEST_F(SparseProofs, ShowAbsenceInBothWays) {
    int by_leaf = 0;
    int by_nothing = 0;
    for (std::uint64_t i = 5000; i < 5400; ++i) {
        const Hash32 key = naive::number(i);
        const SparseProof proof = prove(key);
        ++(proof.other ? by_leaf : by_nothing);
        EXPECT_TRUE(verify_sparse(root_, key, std::nullopt, proof));
        EXPECT_FALSE(verify_sparse(root_, key, naive::number(1), proof));
    }
    EXPECT_GT(by_leaf, 0);
    EXPECT_GT(by_nothing, 0);
}

TEST_F(SparseProofs, AbsenceOfAPresentKeyCannotBeShown) {
    for (const auto& [key, value] : values_) {
        // Every way to end the path early: with an empty subtree, or with any leaf of the tree as witness.
        SparseProof proof = prove(key);
        EXPECT_FALSE(verify_sparse(root_, key, std::nullopt, proof));
        proof.other = SparseLeaf{key, value};
        EXPECT_EQ(verify_sparse(root_, key, std::nullopt, proof).error(), SparseError::misplaced_leaf);
        for (const auto& [other_key, other_value] : values_) {
            SparseProof forged = prove(other_key);
            forged.other = SparseLeaf{other_key, other_value};
            ASSERT_FALSE(verify_sparse(root_, key, std::nullopt, forged));
        }
    }
}

TEST_F(SparseProofs, AlteredProofsDoNotVerify) {
    std::mt19937_64 random(5);
    for (std::uint64_t i = 0; i < 400; ++i) {
        const Hash32 key = naive::number(i);
        const auto found = values_.find(key);
        const std::optional<Hash32> value = found == values_.end() ? std::nullopt : std::optional(found->second);
        const SparseProof good = prove(key);
        ASSERT_TRUE(verify_sparse(root_, key, value, good));

        SparseProof bad = good;
        bad.siblings[random() % bad.siblings.size()].bytes[random() % 32] ^= 4;
        EXPECT_EQ(verify_sparse(root_, key, value, bad).error(), SparseError::wrong_root);
        bad = good;
        bad.siblings.pop_back();
        EXPECT_FALSE(verify_sparse(root_, key, value, bad));
        bad = good;
        bad.siblings.push_back({});
        EXPECT_FALSE(verify_sparse(root_, key, value, bad));
        bad = good;
        std::swap(bad.siblings[0], bad.siblings[1]);
        EXPECT_EQ(verify_sparse(root_, key, value, bad).error(), SparseError::wrong_root);
        if (value) {
            bad = good;
            bad.other = SparseLeaf{naive::number(1), naive::number(1)};
            EXPECT_EQ(verify_sparse(root_, key, value, bad).error(), SparseError::needless_leaf);
        }
    }
}

TEST_F(SparseProofs, HaveALimit) {
    SparseProof proof;
    proof.siblings.resize(257);
    EXPECT_EQ(verify_sparse(root_, naive::number(1), std::nullopt, proof).error(), SparseError::too_long);
    Writer out;
    encode_to(out, proof);
    Reader in(out.data());
    decode_sparse_proof(in, 1000);
    EXPECT_EQ(in.finish().error(), CodecError::too_long);
}

TEST_F(SparseProofs, TheEmptyTreeHoldsNothing) {
    EXPECT_TRUE(verify_sparse({}, naive::number(1), std::nullopt, {}));
    EXPECT_FALSE(verify_sparse({}, naive::number(1), naive::number(1), {}));
    EXPECT_FALSE(verify_sparse(root_, naive::number(5000), std::nullopt, {}));
}

TEST_F(SparseProofs, EncodingGoesThereAndBackAndHasNoOtherSpelling) {
    for (std::uint64_t i = 190; i < 260; ++i) {
        const SparseProof proof = prove(naive::number(i));
        Writer out;
        encode_to(out, proof);
        Reader in(out.data());
        EXPECT_EQ(decode_sparse_proof(in), proof);
        EXPECT_TRUE(in.finish());
        for (std::size_t size = 0; size < out.data().size(); ++size) {
            Reader cut(View(out.data()).first(size));
            decode_sparse_proof(cut);
            ASSERT_FALSE(cut.finish()) << size;
        }
    }
}

TEST(SparseErrors, HaveNames) {
    EXPECT_EQ(slug(SparseError::missing_node), "missing_node");
    EXPECT_EQ(slug(SparseError::misplaced_leaf), "misplaced_leaf");
    EXPECT_EQ(slug(static_cast<SparseError>(0)), "unknown");
}

}  // namespace
}  // namespace retrace::merkle
