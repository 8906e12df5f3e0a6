// SPDX-License-Identifier: MIT
#include "merkle/base/bytes.hpp"

#include <gtest/gtest.h>

namespace retrace {
namespace {

TEST(Bytes, HexGoesThereAndBack) {
    const Bytes bytes{0x00, 0x7f, 0x80, 0xff};
    EXPECT_EQ(to_hex(bytes), "007f80ff");
    EXPECT_EQ(to_0x(bytes), "0x007f80ff");
    EXPECT_EQ(from_hex("007f80ff"), bytes);
    EXPECT_EQ(from_hex("0x007F80fF"), bytes);
    EXPECT_EQ(from_hex(""), Bytes{});
}

TEST(Bytes, HexRefusesOddLengthsAndForeignCharacters) {
    for (const char* text : {"0", "0x0", "0g", "0x 1", "zz", "00 11", "0x0x00"}) {
        EXPECT_EQ(from_hex(text), std::nullopt) << text;
    }
}

TEST(Bytes, IntegersAreLittleEndian) {
    const std::uint8_t raw[8] = {1, 2, 3, 4, 5, 6, 7, 0xf8};
    EXPECT_EQ(load_u16(raw), 0x0201);
    EXPECT_EQ(load_u32(raw), 0x04030201u);
    EXPECT_EQ(load_u64(raw), 0xf807060504030201u);
    std::uint8_t out[8];
    store_u64(out, 0xf807060504030201u);
    EXPECT_TRUE(equal(out, raw));
}

TEST(Bytes, HashesAreOrderedBytewise) {
    Hash32 a;
    Hash32 b;
    a.bytes[0] = 0x01;
    b.bytes[31] = 0xff;
    EXPECT_LT(b, a);
    EXPECT_TRUE(Hash32{}.is_zero());
    EXPECT_FALSE(b.is_zero());
}

TEST(BytesDeathTest, AHashHas32Bytes) {
    EXPECT_DEATH(to_hash32(Bytes(31)), "a hash has 32 bytes");
    EXPECT_DEATH(to_hash32(Bytes(33)), "a hash has 32 bytes");
}

}  // namespace
}  // namespace retrace
