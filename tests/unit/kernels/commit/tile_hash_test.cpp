// SPDX-License-Identifier: MIT
#include "kernels/commit/tile_hash.hpp"

#include <gtest/gtest.h>

#include "kernels/commit/commitment.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

Tensor numbered(DType dtype, Dims dims) {
    Tensor tensor = zeros(dtype, std::move(dims));
    for (std::size_t i = 0; i < tensor.data.size(); ++i)
        tensor.data[i] = static_cast<std::uint8_t>(i * 2654435761u >> 11);
    return tensor;
}

TEST(TileHash, LeavesAreTheHashesOfTaggedTiles) {
    ThreadPool pool(2);
    // Even and odd numbers of tiles, whole and partial ones, elements of four bytes and of one.
    for (const Dims& dims : {Dims{32, 32}, Dims{64, 96}, Dims{33, 100}, Dims{5}, Dims{700, 31}}) {
        for (const DType dtype : {DType::f32, DType::u8}) {
            const Tensor tensor = numbered(dtype, dims);
            const std::vector<Hash32> leaves = tile_leaves(tensor.data.data(), dtype, dims, pool);
            ASSERT_EQ(leaves.size(), geometry(dims).tiles());
            for (std::size_t i = 0; i < leaves.size(); ++i) {
                EXPECT_EQ(leaves[i], merkle::tile_leaf(tile_bytes(tensor, i))) << i;
            }
        }
    }
}

TEST(TileHash, TwoMessagesAtOnceHaveTheirOwnDigests) {
    const HashPair pair = hash_pair();
    if (pair == nullptr) {
        GTEST_SKIP() << "this processor has no SHA extensions (CPU flag sha_ni); one that has them runs this test";
    }
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{3}, std::size_t{55}, std::size_t{56}, std::size_t{200}}) {
        const std::size_t blocks = (length + 9 + 63) / 64;
        Bytes message[2];
        Hash32 digest[2];
        for (int m = 0; m < 2; ++m) {
            message[m].resize(64 * blocks);
            for (std::size_t i = 0; i < length; ++i)
                message[m][i] = static_cast<std::uint8_t>(i * 37 + 11 * static_cast<std::size_t>(m));
            message[m][length] = 0x80;
            for (std::size_t i = 0; i < 8; ++i)
                message[m][64 * blocks - 1 - i] = static_cast<std::uint8_t>(8 * length >> 8 * i);
        }
        pair(message[0].data(), message[1].data(), blocks, digest[0].data(), digest[1].data());
        for (int m = 0; m < 2; ++m) EXPECT_EQ(digest[m], merkle::sha256(View(message[m].data(), length))) << length;
    }
}

}  // namespace
}  // namespace retrace::kernels
