// SPDX-License-Identifier: MIT
#include "merkle/tree/sparse_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/merkle/naive.hpp"

namespace retrace::merkle {
namespace {

using Values = std::map<Hash32, Hash32>;

// A tree, its store and the expected contents.
struct Sparse {
    MemoryNodeStore store;
    Hash32 root;
    Values twin;

    SparseTree tree() const { return {store, root}; }
    NodeWrites apply(const std::map<Hash32, std::optional<Hash32>>& updates) {
        const auto change = tree().apply({updates.begin(), updates.end()});
        EXPECT_TRUE(change.has_value());
        for (const auto& [key, value] : updates) {
            if (value) {
                twin[key] = *value;
            } else {
                twin.erase(key);
            }
        }
        store.write(change->writes);
        root = change->root;
        return change->writes;
    }
};

// Keys with long common prefixes: `spread` random bytes at the front, zeros, and the number in the last byte.
Hash32 close_key(std::mt19937_64& random, int spread) {
    Hash32 key;
    for (int i = 0; i < spread; ++i) key.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(random() % 3);
    key.bytes[31] = static_cast<std::uint8_t>(random());
    return key;
}

// The store holds exactly the nodes of the present tree: none is missing and none is left over.
void expect_store_is_exact(const Sparse& s) {
    MemoryNodeStore fresh;
    std::vector<SparseUpdate> all(s.twin.begin(), s.twin.end());
    const auto change = SparseTree(fresh, Hash32{}).apply(all);
    ASSERT_TRUE(change.has_value());
    fresh.write(change->writes);
    EXPECT_EQ(change->root, s.root);
    EXPECT_EQ(fresh.nodes(), s.store.nodes());
}

TEST(SparseTree, EmptyIsZeroAndOneLeafIsTheRoot) {
    Sparse s;
    EXPECT_TRUE(s.root.is_zero());
    const Hash32 key = naive::number(1);
    const Hash32 value = naive::number(2);
    s.apply({{key, value}});
    EXPECT_EQ(s.root, naive::tagged(8, key, value));
    EXPECT_EQ(s.store.nodes().size(), 1u);
    s.apply({{key, std::nullopt}});
    EXPECT_TRUE(s.root.is_zero());
    EXPECT_TRUE(s.store.nodes().empty());
}

TEST(SparseTree, AgreesWithTheTwinUnderRandomChanges) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const int spread = static_cast<int>(random() % 4);
        Sparse s;
        for (int round = 0; round < 30; ++round) {
            std::map<Hash32, std::optional<Hash32>> updates;
            for (std::uint64_t n = random() % 8; n > 0; --n) {
                const Hash32 key = random() % 2 ? close_key(random, spread) : naive::number(random() % 40);
                updates[key] = random() % 3 ? std::optional(naive::number(random() % 5)) : std::nullopt;
            }
            s.apply(updates);
            ASSERT_EQ(s.root, naive::sparse_root(s.twin)) << round;
        }
        expect_store_is_exact(s);
    }
}

TEST(SparseTree, TheRootForgetsItsHistory) {
    std::mt19937_64 random(3);
    std::vector<Hash32> keys = naive::leaves(60);
    Sparse at_once;
    std::map<Hash32, std::optional<Hash32>> all;
    for (const Hash32& key : keys) all[key] = naive::number(key.bytes[0]);
    at_once.apply(all);
    for (int round = 0; round < 5; ++round) {
        std::shuffle(keys.begin(), keys.end(), random);
        Sparse one_by_one;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            one_by_one.apply({{naive::number(1000 + i), naive::number(i)}});  // Added here and removed by the next
                                                                              // change.
            one_by_one.apply({{naive::number(1000 + i), std::nullopt}, {keys[i], all[keys[i]]}});
        }
        EXPECT_EQ(one_by_one.root, at_once.root);
        EXPECT_EQ(one_by_one.store.nodes(), at_once.store.nodes());
    }
}

TEST(SparseTree, KeysThatDifferInTheLastBitLieAtTheBottom) {
    Hash32 a = naive::number(1);
    Hash32 b = a;
    b.bytes[31] ^= 1;
    Sparse s;
    s.apply({{a, naive::number(2)}, {b, naive::number(3)}});
    EXPECT_EQ(s.root, naive::sparse_root(s.twin));
    EXPECT_EQ(s.store.nodes().size(), 258u);
    EXPECT_EQ(s.tree().prove(a)->siblings.size(), 256u);
    s.apply({{b, std::nullopt}});
    EXPECT_EQ(s.root, naive::tagged(8, a, naive::number(2)));
    EXPECT_EQ(s.store.nodes().size(), 1u);
}

TEST(SparseTree, WritesOnlyWhatChanges) {
    Sparse s;
    std::map<Hash32, std::optional<Hash32>> updates;
    for (std::uint64_t i = 0; i < 1000; ++i) updates[naive::number(i)] = naive::number(i);
    s.apply(updates);
    EXPECT_LE(s.apply({{naive::number(7), naive::number(8)}}).size(), 24u);
    EXPECT_TRUE(s.apply({{naive::number(7), naive::number(8)}}).empty());  // Unchanged.
    EXPECT_TRUE(s.apply({{naive::number(5000), std::nullopt}}).empty());   // Did not exist.
    EXPECT_TRUE(s.apply({}).empty());
}

TEST(SparseTree, FindsWhatItHolds) {
    Sparse s;
    for (std::uint64_t i = 0; i < 50; ++i) s.apply({{naive::number(i), naive::number(i + 100)}});
    for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(*s.tree().find(naive::number(i)), naive::number(i + 100));
    EXPECT_EQ(*s.tree().find(naive::number(50)), std::nullopt);
}

TEST(SparseTree, ADamagedStoreIsAnErrorAndNoAnswer) {
    Sparse s;
    for (std::uint64_t i = 0; i < 50; ++i) s.apply({{naive::number(i), naive::number(i)}});
    const std::vector<SparseUpdate> update{{naive::number(1), naive::number(9)}};
    const Bytes root_key = NodePath{}.store_key();

    Sparse missing = s;
    missing.store.write({{root_key, Bytes{}}});
    EXPECT_EQ(missing.tree().find(naive::number(1)).error(), SparseError::missing_node);
    EXPECT_EQ(missing.tree().apply(update).error(), SparseError::missing_node);

    for (const std::size_t at : {0, 1, 40, 64}) {
        Sparse corrupt = s;
        Bytes node = *s.store.get(root_key);
        node[at] ^= 1;
        corrupt.store.write({{root_key, node}});
        EXPECT_EQ(corrupt.tree().prove(naive::number(1)).error(), SparseError::corrupt_node) << at;
        EXPECT_EQ(corrupt.tree().apply(update).error(), SparseError::corrupt_node) << at;
    }
    Sparse cut = s;
    cut.store.write({{root_key, Bytes(64, 1)}});
    EXPECT_EQ(cut.tree().find(naive::number(1)).error(), SparseError::corrupt_node);
}

TEST(SparseTree, ALeafInTheWrongPlaceIsCorrupt) {
    // A root that commits to a leaf on the wrong side, which only a forged snapshot can contain.
    Hash32 key;  // Bit 0 is 0: belongs to the left.
    const SparseNode leaf = SparseNode::leaf({key, naive::number(1)});
    const SparseNode top = SparseNode::inner(naive::number(2), leaf.hash());
    MemoryNodeStore store;
    store.write({{NodePath{}.store_key(), top.encode()}, {NodePath{}.child(true).store_key(), leaf.encode()}});
    Hash32 right;
    right.bytes[0] = 0x80;
    EXPECT_EQ(SparseTree(store, top.hash()).find(right).error(), SparseError::corrupt_node);
}

TEST(SparseTree, PathsAndTheirStoreKeys) {
    Hash32 key;
    key.bytes = {0b10110000, 0xff};
    EXPECT_EQ(to_hex(NodePath::of(key, 0).store_key()), "0000");
    EXPECT_EQ(to_hex(NodePath::of(key, 3).store_key()), "0003a0");
    EXPECT_EQ(to_hex(NodePath::of(key, 12).store_key()), "000cb0f0");
    EXPECT_EQ(NodePath::of(key, 256).store_key().size(), 34u);
    NodePath path;
    for (std::uint16_t depth = 0; depth < 256; ++depth) {
        EXPECT_EQ(path, NodePath::of(key, depth));
        path = path.child(key_bit(key, depth));
    }
    EXPECT_EQ(path.prefix, key);
}

TEST(SparseTree, PrefixesAreComparedBitByBit) {
    Hash32 a = naive::number(1);
    for (std::uint16_t bit = 0; bit < 256; ++bit) {
        Hash32 b = a;
        b.bytes[bit / 8] ^= static_cast<std::uint8_t>(0x80 >> bit % 8);
        EXPECT_TRUE(shares_prefix(a, b, bit));
        EXPECT_FALSE(shares_prefix(a, b, static_cast<std::uint16_t>(bit + 1)));
    }
    EXPECT_TRUE(shares_prefix(a, a, 256));
}

TEST(SparseTreeDeathTest, UpdatesMustAscend) {
    const Sparse s;
    const SparseUpdate update{naive::number(1), naive::number(1)};
    EXPECT_DEATH((void)s.tree().apply({update, update}), "keys ascend");
}

}  // namespace
}  // namespace retrace::merkle
