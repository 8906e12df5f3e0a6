// SPDX-License-Identifier: MIT
#include "solver/export/safetensors.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace retrace::solver {
namespace {

kernels::Tensor counted(kernels::DType dtype, kernels::Dims dims) {
    kernels::Tensor tensor = kernels::zeros(dtype, std::move(dims));
    for (std::size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = static_cast<std::uint8_t>(i);
    return tensor;
}

Bytes file_of(const std::string& header, const Bytes& data) {
    Writer out;
    out.u64(header.size()).raw(view(header)).raw(data);
    return std::move(out).take();
}

TEST(Safetensors, WritesTheFormatByteByByte) {
    const TensorFile file{{{"a", counted(kernels::DType::f32, {1, 2})}}, {}};
    const std::string header = R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}        )";
    EXPECT_EQ(encode_safetensors(file),
              file_of(header.substr(0, (header.find_last_of('}') + 8) / 8 * 8), {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Safetensors, ReadsWhatItWrites) {
    const TensorFile file{{{"fc1.weight", counted(kernels::DType::f32, {3, 4})},
                           {"tokens", counted(kernels::DType::i32, {5})},
                           {"mask \"x\"\n\\", counted(kernels::DType::boolean, {})},
                           {"empty", counted(kernels::DType::u8, {0, 7})},
                           {"größe", counted(kernels::DType::i8, {2})}},
                          {{"format", "retrace"}, {"task", "1"}}};
    const auto read = decode_safetensors(encode_safetensors(file));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, file);
    EXPECT_TRUE(decode_safetensors(encode_safetensors({})).has_value());
}

TEST(Safetensors, ReadsOtherWritersSpacingAndOrder) {
    const auto read = decode_safetensors(
        file_of(" {\n\"b\" : { \"shape\":[ 1 ], \"data_offsets\" : [4, 8],\"dtype\":\"F32\"} ,\t\"\\u0061\":"
                "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]} }  ",
                Bytes(8)));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->tensors[0].name, "a");
    EXPECT_EQ(read->tensors[1].name, "b");
}

TEST(Safetensors, RefusesBadFilesByName) {
    const std::string one = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const std::vector<std::pair<Bytes, std::string>> cases = {
        {{1, 2, 3}, "truncated before"},
        {file_of(std::string(9, ' '), {}), "not a value"},
        {{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, "over the limit"},
        {{9, 0, 0, 0, 0, 0, 0, 0, '{'}, "truncated in the header"},
        {file_of(one, Bytes(3)), "truncated"},
        {file_of(one, Bytes(5)), "left after"},
        {file_of(one + "x", Bytes(4)), "text after the value"},
        {file_of(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", Bytes(4)), "F16"},
        {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", Bytes(4)), "do not fit"},
        {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", Bytes(8)), "gap"},
        {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", Bytes(8)), "wrong type"},
        {file_of(R"({"a":{"dtype":"F32","shape":[1]}})", Bytes(4)), "has not just"},
        {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":"y"}})", Bytes(4)), "has not just"},
        {file_of(R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}})", Bytes(4)),
         "no lists of numbers"},
        {file_of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", Bytes(4)), "2^36"},
        {file_of(R"({"a":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}})", Bytes(4)), "number"},
        {file_of(R"({"a":{"dtype":"F32","shape":[1 1],"data_offsets":[0,4]}})", Bytes(4)), "not closed"},
        {file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", Bytes(4)), "number"},
        {file_of(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", Bytes(4)), "twice"},
        {file_of(one.substr(0, one.size() - 1) + "," + one.substr(1), Bytes(4)), "twice"},
        {file_of(one.substr(0, one.size() - 1) + ",}", Bytes(4)), "a key is missing"},
        {file_of(R"({"__metadata__":{"a":[1]}})", {}), "no string"},
        {file_of("{\"a\n\":{}}", {}), "control"},
        {file_of(R"({"\ud800":{}})", {}), "surrogate"},
    };
    for (const auto& [bytes, reason] : cases) {
        const auto read = decode_safetensors(bytes);
        ASSERT_FALSE(read.has_value()) << reason;
        EXPECT_NE(read.error().message.find(reason), std::string::npos) << read.error().message << " for " << reason;
    }
}

TEST(Safetensors, AHeaderOfVeryManyTensorsIsRefusedAtOnce) {
    const auto header = [](std::size_t entries) {
        std::string text = "{";
        for (std::size_t i = 0; i < entries; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
        return text + "}";
    };
    const std::clock_t begin = std::clock();
    const auto read = decode_safetensors(file_of(header(200'000), {}));
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().message.find("too many tensors"), std::string::npos) << read.error().message;
    // Comparing all pairs of names took more than a minute.
    EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

TEST(Safetensors, SurvivesFlippedBytes) {
    const Bytes good = encode_safetensors({{{"a", counted(kernels::DType::f32, {3, 4})}}, {{"k", "v"}}});
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const std::uint8_t flip : {1, 0x10, 0x80}) {
            Bytes bad = good;
            bad[at] ^= flip;
            (void)decode_safetensors(bad);  // Must not crash; data bytes may change without an error.
        }
    }
}

TEST(Safetensors, TellsParametersFromMoments) {
    EXPECT_TRUE(is_parameter("fc1.weight"));
    EXPECT_FALSE(is_parameter("fc1.weight.m"));
    EXPECT_FALSE(is_parameter("fc1.weight.v"));
    EXPECT_FALSE(is_parameter("fc1.bias.momentum"));
    EXPECT_FALSE(is_parameter(""));
}

}  // namespace
}  // namespace retrace::solver
