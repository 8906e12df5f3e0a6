// SPDX-License-Identifier: MIT
// Compares with roots and proofs that tests/vectors/merkle/generate.py computed with Python's hashlib.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "merkle/hash/sha256.hpp"
#include "merkle/tree/append_tree.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::merkle {
namespace {

Bytes tile(std::uint64_t i) {
    Bytes out;
    for (std::uint64_t j = 0; j < i % 50; ++j) out.push_back(static_cast<std::uint8_t>(i * 7 + j));
    return out;
}

std::vector<Hash32> tiles(std::uint64_t count) {
    std::vector<Hash32> out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(tile_leaf(tile(i)));
    return out;
}

Hash32 append_root(std::uint64_t count) {
    AppendTree tree;
    for (std::uint64_t i = 0; i < count; ++i) tree.append(append_leaf(tile(i)));
    return tree.root();
}

Hash32 sparse_root(std::uint64_t count) {
    std::map<Hash32, std::optional<Hash32>> values;
    for (std::uint32_t i = 0; i < count; ++i) {
        values[Sha256().update(view("key")).update_u32(i).finish()] =
            Sha256().update(view("value")).update_u32(i).finish();
    }
    const MemoryNodeStore store;
    return SparseTree(store, {}).apply({values.begin(), values.end()})->root;
}

std::string proof_text(std::uint64_t count, const std::string& opened) {
    std::vector<std::uint64_t> indices;
    std::istringstream in(opened);
    for (std::string number; std::getline(in, number, ',');) indices.push_back(std::stoull(number));
    std::string out;
    for (const Hash32& sibling : TileTree(tiles(count)).prove(indices).siblings) {
        out += (out.empty() ? "" : ",") + to_hex(view(sibling));
    }
    return out.empty() ? "-" : out;
}

TEST(MerkleVectors, AgreeWithPython) {
    std::ifstream file(RETRACE_VECTORS "/merkle/trees.txt");
    ASSERT_TRUE(file.is_open());
    int checked = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) continue;
        SCOPED_TRACE(line.substr(0, 60));
        std::istringstream words(line);
        std::string what;
        std::uint64_t count = 0;
        std::string expected;
        words >> what >> count;
        if (what == "tile") {
            words >> expected;
            EXPECT_EQ(to_hex(view(tree_root(tiles(count)))), expected);
        } else if (what == "append") {
            words >> expected;
            EXPECT_EQ(to_hex(view(append_root(count))), expected);
        } else if (what == "sparse") {
            words >> expected;
            EXPECT_EQ(to_hex(view(sparse_root(count))), expected);
        } else if (what == "proof") {
            std::string opened;
            words >> opened >> expected;
            EXPECT_EQ(proof_text(count, opened), expected);
        } else if (what == "indexed") {
            std::uint32_t index = 0;
            words >> index >> expected;
            EXPECT_EQ(to_hex(view(indexed_leaf(static_cast<Tag>(count), index, tile(33)))), expected);
        } else {
            FAIL() << "unknown kind of vector";
        }
        ++checked;
    }
    EXPECT_EQ(checked, 78);
}

}  // namespace
}  // namespace retrace::merkle
