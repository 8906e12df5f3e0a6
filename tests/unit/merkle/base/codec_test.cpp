// SPDX-License-Identifier: MIT
#include "merkle/base/codec.hpp"

#include <gtest/gtest.h>

namespace retrace {
namespace {

CodecError error_of(const Reader& in) { return in.finish().error(); }

TEST(Codec, WritesFixedWidthLittleEndian) {
    Writer out;
    out.u8(1).u16(0x0302).u32(0x07060504).u64(0x0f0e0d0c0b0a0908).boolean(true).bytes(Bytes{0xaa, 0xbb}).raw(Bytes{9});
    EXPECT_EQ(to_hex(out.data()), "0102030405060708090a0b0c0d0e0f0102000000aabb09");
}

TEST(Codec, ReadsWhatItWrote) {
    Hash32 hash;
    hash.bytes[5] = 0x42;
    Writer out;
    out.u8(200).u16(60000).u32(4000000000u).u64(~std::uint64_t{0}).boolean(false).hash(hash).text("héllo").u8(3);
    const Bytes bytes = std::move(out).take();
    Reader in(bytes);
    EXPECT_EQ(in.u8(), 200);
    EXPECT_EQ(in.u16(), 60000);
    EXPECT_EQ(in.u32(), 4000000000u);
    EXPECT_EQ(in.u64(), ~std::uint64_t{0});
    EXPECT_FALSE(in.boolean());
    EXPECT_EQ(in.hash(), hash);
    EXPECT_EQ(in.text(10), "héllo");
    EXPECT_EQ(in.enumerated(1, 3), 3);
    EXPECT_TRUE(in.finish());
}

TEST(Codec, EveryTruncationIsAnError) {
    Writer out;
    out.u64(7).bytes(Bytes{1, 2, 3}).hash({}).u16(1);
    const Bytes bytes = std::move(out).take();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Reader in(View(bytes).first(size));
        in.u64();
        in.bytes(3);
        in.hash();
        in.u16();
        ASSERT_FALSE(in.ok()) << size;
        EXPECT_EQ(error_of(in), CodecError::truncated) << size;
    }
}

TEST(Codec, RefusesALengthOverTheLimit) {
    Writer out;
    out.bytes(Bytes(5));
    Reader in(out.data());
    EXPECT_TRUE(in.bytes(4).empty());
    EXPECT_EQ(error_of(in), CodecError::too_long);
}

TEST(Codec, RefusesALengthOverWhatIsLeft) {
    const Bytes bytes{0xff, 0xff, 0xff, 0x7f, 1, 2};
    Reader in(bytes);
    EXPECT_TRUE(in.bytes(~std::size_t{0}).empty());
    EXPECT_EQ(error_of(in), CodecError::truncated);
}

TEST(Codec, RefusesACountThatCannotFit) {
    Writer out;
    out.u32(3).raw(Bytes(64));
    Reader fits(out.data());
    EXPECT_EQ(fits.count(3, 21), 3u);
    Reader short_of_bytes(out.data());
    EXPECT_EQ(short_of_bytes.count(3, 32), 0u);
    EXPECT_EQ(error_of(short_of_bytes), CodecError::truncated);
    Reader over_limit(out.data());
    EXPECT_EQ(over_limit.count(2, 1), 0u);
    EXPECT_EQ(error_of(over_limit), CodecError::too_long);
}

TEST(Codec, RefusesBooleansOtherThanZeroAndOne) {
    for (int v = 2; v < 256; ++v) {
        const Bytes bytes{static_cast<std::uint8_t>(v)};
        Reader in(bytes);
        EXPECT_FALSE(in.boolean());
        EXPECT_EQ(error_of(in), CodecError::not_canonical);
    }
}

TEST(Codec, RefusesEnumsOutOfRange) {
    const Bytes bytes{0, 5};
    Reader low(bytes);
    EXPECT_EQ(low.enumerated(1, 4), 1);
    EXPECT_EQ(error_of(low), CodecError::not_canonical);
    Reader high(View(bytes).subspan(1));
    EXPECT_EQ(high.enumerated(1, 4), 1);
    EXPECT_EQ(error_of(high), CodecError::not_canonical);
}

TEST(Codec, RefusesTrailingBytes) {
    const Bytes bytes{1, 2};
    Reader in(bytes);
    in.u8();
    EXPECT_EQ(error_of(in), CodecError::trailing);
}

TEST(Codec, KeepsTheFirstErrorAndReadsZerosAfterIt) {
    const Bytes bytes{9, 1, 1, 1, 1, 1, 1, 1, 1};
    Reader in(bytes);
    in.boolean();
    EXPECT_EQ(in.u32(), 0u);
    EXPECT_EQ(in.u64(), 0u);
    EXPECT_TRUE(in.hash().is_zero());
    EXPECT_EQ(in.text(100), "");
    EXPECT_EQ(error_of(in), CodecError::not_canonical);
}

TEST(Codec, NamesItsErrors) {
    EXPECT_EQ(slug(CodecError::truncated), "truncated");
    EXPECT_EQ(slug(CodecError::too_long), "too_long");
    EXPECT_EQ(slug(CodecError::not_canonical), "not_canonical");
    EXPECT_EQ(slug(CodecError::trailing), "trailing_bytes");
}

}  // namespace
}  // namespace retrace
