// SPDX-License-Identifier: MIT
// Packed int32 and bool tensors: round trips of every width, and the refusal of all other bytes.
#include "solver/artifacts/packed_tensor.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <random>

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using kernels::Tensor;

Tensor words(const std::vector<std::uint32_t>& values) {
    Tensor out = kernels::zeros(DType::i32, {values.size()});
    for (std::size_t i = 0; i < values.size(); ++i) store_u32(out.data.data() + 4 * i, values[i]);
    return out;
}

Tensor bools(const Bytes& values) { return {DType::boolean, {values.size()}, values}; }

std::string refusal(const Bytes& bytes, DType dtype, Dims dims) {
    const Result<Tensor> found = unpack(bytes, dtype, std::move(dims));
    return found ? "accepted" : found.error().message;
}

/// Packs bit by bit.
Bytes packed_slowly(const Tensor& tensor) {
    std::uint32_t any = 0;
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) any |= tensor.bits(i);
    const auto width = static_cast<std::uint32_t>(std::bit_width(any));
    std::vector<bool> bits;
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
        for (std::uint32_t b = 0; b < width; ++b) bits.push_back((tensor.bits(i) >> b & 1) != 0);
    }
    Bytes out(1 + (bits.size() + 7) / 8);
    out[0] = static_cast<std::uint8_t>(width);
    for (std::size_t i = 0; i < bits.size(); ++i)
        if (bits[i]) out[1 + i / 8] |= static_cast<std::uint8_t>(1u << i % 8);
    return out;
}

TEST(PackedTensor, BytesOfKnownTensors) {
    EXPECT_THAT(pack(words({})), ::testing::ElementsAre(0));
    EXPECT_THAT(pack(words({0, 0, 0})), ::testing::ElementsAre(0));
    EXPECT_THAT(pack(words({1, 0, 1, 1, 0, 0, 0, 0, 1})), ::testing::ElementsAre(1, 0x0d, 0x01));
    EXPECT_THAT(pack(words({511, 1, 256})), ::testing::ElementsAre(9, 0xff, 0x03, 0x00, 0x04));
    EXPECT_THAT(pack(words({0xffffffff, 2})), ::testing::ElementsAre(32, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0));
    EXPECT_THAT(pack(bools({0, 1, 1})), ::testing::ElementsAre(1, 0x06));
    EXPECT_THAT(pack(bools({0, 0})), ::testing::ElementsAre(0));
}

TEST(PackedTensor, EveryWidthAndLengthComesBack) {
    std::mt19937_64 random(7);
    for (std::uint32_t width = 0; width <= 32; ++width) {
        for (const std::size_t length : {0, 1, 2, 3, 5, 7, 8, 9, 31, 64, 100, 1000}) {
            SCOPED_TRACE(::testing::Message() << "width " << width << ", length " << length);
            std::vector<std::uint32_t> values(length);
            for (std::uint32_t& value : values)
                value = static_cast<std::uint32_t>(random() & ((std::uint64_t{1} << width) - 1));
            Tensor tensor = words(values);
            if (length == 100) tensor.dims = {2, 5, 10};
            const Bytes bytes = pack(tensor);
            ASSERT_EQ(bytes, packed_slowly(tensor));
            ASSERT_EQ(bytes.size(), packed_bytes(bytes[0], length));
            const Result<Tensor> found = unpack(bytes, DType::i32, tensor.dims);
            ASSERT_TRUE(found) << found.error().message;
            ASSERT_EQ(*found, tensor);
        }
    }
    for (std::size_t length = 0; length < 80; ++length) {
        Bytes values(length);
        for (std::uint8_t& value : values) value = random() & 1;
        const Tensor tensor = bools(values);
        ASSERT_EQ(pack(tensor), packed_slowly(tensor));
        ASSERT_EQ(*unpack(pack(tensor), DType::boolean, tensor.dims), tensor);
    }
}

TEST(PackedTensor, WhatIsNoPackedFormIsRefusedByName) {
    EXPECT_EQ(refusal({}, DType::i32, {0}), "packed tensor: no width");
    EXPECT_EQ(refusal({33}, DType::i32, {0}), "packed tensor: width 33 over the limit of 32");
    EXPECT_EQ(refusal({2, 0x0f}, DType::boolean, {2}), "packed tensor: width 2 over the limit of 1");
    EXPECT_EQ(refusal({9, 0xff, 0x03}, DType::i32, {3}), "packed tensor: 3 bytes, not 5");
    EXPECT_EQ(refusal({1, 0x01, 0x00}, DType::i32, {3}), "packed tensor: 3 bytes, not 2");
    EXPECT_EQ(refusal({0, 0}, DType::i32, {3}), "packed tensor: 2 bytes, not 1");
    EXPECT_EQ(refusal({1, 0x0d}, DType::i32, {3}), "packed tensor: padding that is not zero");
    EXPECT_EQ(refusal({3, 0x09}, DType::i32, {2}), "packed tensor: width 3 where 1 suffices");
    EXPECT_EQ(refusal({1, 0x00}, DType::boolean, {3}), "packed tensor: width 1 where 0 suffices");
    EXPECT_EQ(refusal({5}, DType::i32, {0}), "packed tensor: width 5 where 0 suffices");
    EXPECT_EQ(refusal({1, 0x05}, DType::i32, {3}), "accepted");
}

TEST(PackedTensor, TransportFormsAreSplitWhereTheyEnd) {
    kernels::TensorRecord packed, plain;
    packed.dtype = DType::i32;
    packed.dims = {3};
    plain.dtype = DType::f32;
    plain.dims = {2};
    EXPECT_EQ(*transport_bytes(Bytes{9, 1, 2, 3, 4, 5, 6}, packed), 5u);
    EXPECT_EQ(*transport_bytes(Bytes{0, 7}, packed), 1u);
    EXPECT_EQ(*transport_bytes(Bytes(9), plain), 8u);
    EXPECT_FALSE(transport_bytes(Bytes{9, 1, 2, 3}, packed).has_value());
    EXPECT_FALSE(transport_bytes(Bytes{33, 1, 2, 3}, packed).has_value());
    EXPECT_FALSE(transport_bytes(Bytes(), packed).has_value());
    EXPECT_FALSE(transport_bytes(Bytes(7), plain).has_value());
}

}  // namespace
}  // namespace retrace::solver
