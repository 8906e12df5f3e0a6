// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/wire/artifact_codec.hpp"

namespace retrace::wire {
namespace {

using kernels::DType;

TileRange small_range() {
    return {{DType::u8, {40, 40}, Hash32{{3}}}, 1, Bytes(2048, 7), {{Hash32{{1}}, Hash32{{2}}}}};
}

TEST(ArtifactCodec, MessagesComeBack) {
    EXPECT_EQ(*decode_tile_range(encode(small_range())), small_range());
    const StateManifest manifest{Hash32{{1}}, Hash32{{2}}, 77, {Hash32{{3}}, Hash32{{4}}}};
    EXPECT_EQ(*decode_state_manifest(encode(manifest)), manifest);
    Info info;
    info.kind = Kind::tensor;
    info.header = {DType::f32, {320, 32}, Hash32{{5}}};
    info.missing = {{0, 2}, {4, 6}};
    const auto back = decode_info(encode(info));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, info);
    EXPECT_TRUE(decode_info(encode(Info{})));
    const Refusal refusal{"not_wanted", "no task names it"};
    EXPECT_EQ(*decode_refusal(encode(refusal)), refusal);
}

TEST(ArtifactCodec, TheRootOfAManifestIsTheStateRoot) {
    const auto expected = kernels::commit_roots(Hash32{{2}}, 77, {Hash32{{3}}, Hash32{{4}}});
    EXPECT_EQ((StateManifest{expected.header.contract, Hash32{{2}}, 77, expected.tensor_roots}.root()), expected.root);
}

template <class T>
WireError error_of(const Result<T, WireError>& result) {
    return result ? WireError{} : result.error();
}

TEST(ArtifactCodec, EveryTruncationIsAnErrorOrAnotherMessage) {
    const Bytes whole = encode(small_range());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto cut = decode_tile_range(View(whole).first(size));
        EXPECT_TRUE(!cut || *cut != small_range()) << size;
    }
}

TEST(ArtifactCodec, BadTileRangesAreRefused) {
    auto bad = small_range();
    bad.tiles.push_back(0);
    EXPECT_EQ(error_of(decode_tile_range(encode(bad))), WireError::bad_length);
    bad = small_range();
    bad.tiles.resize(1024 * 1025);
    EXPECT_EQ(error_of(decode_tile_range(encode(bad))), WireError::too_long);
    bad = small_range();
    bad.proof.siblings.resize(129);
    EXPECT_EQ(error_of(decode_tile_range(encode(bad))), WireError::too_long);
    for (const unsigned code : {0u, 5u, 7u, 255u}) {
        bad = small_range();
        bad.header.dtype = static_cast<DType>(code);
        bad.tiles.clear();
        EXPECT_EQ(error_of(decode_tile_range(encode(bad))), WireError::bad_header) << code;
    }
    for (const kernels::Dims& dims : {kernels::Dims(7, 1), {1ull << 37}, {1ull << 63, 2}, {1ull << 40, 0}}) {
        bad = small_range();
        bad.header.dims = dims;
        EXPECT_EQ(error_of(decode_tile_range(encode(bad))), WireError::bad_header);
    }
}

TEST(ArtifactCodec, LongOrForeignBytesAreRefused) {
    EXPECT_EQ(error_of(decode_tile_range(Bytes(kMessageBytesMax + 1))), WireError::too_long);
    EXPECT_EQ(error_of(decode_tile_range(Bytes(100, 0xff))), WireError::malformed);
    EXPECT_EQ(error_of(decode_state_manifest({})), WireError::bad_length);
    EXPECT_EQ(error_of(decode_info(Bytes(10, 0xff))), WireError::malformed);
    EXPECT_EQ(error_of(decode_refusal(encode(Refusal{std::string(101, 'x'), ""}))), WireError::too_long);
}

TEST(ArtifactCodec, GapsMustAscendInsideTheTensor) {
    Info info{Kind::tensor, false, 0, {DType::u8, {320, 32}, {}}, {}};  // 10 tiles.
    for (const std::vector<Range>& gaps : std::vector<std::vector<Range>>{
             {{0, 0}}, {{0, 11}}, {{10, 1}}, {{3, ~0ull}}, {{4, 1}, {2, 1}}, {{2, 3}, {4, 1}}}) {
        info.missing = gaps;
        EXPECT_EQ(error_of(decode_info(encode(info))), WireError::malformed);
    }
    info.missing.assign(kMissingRangesMax + 1, {0, 1});
    EXPECT_EQ(error_of(decode_info(encode(info))), WireError::too_long);
}

}  // namespace
}  // namespace retrace::wire
