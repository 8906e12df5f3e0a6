// SPDX-License-Identifier: MIT
// Known answers of ops from an independent script (tests/vectors/ops/generate.py): the element rules and the CPU loops.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/ops/op_call.hpp"
#include "kernels/random/chacha.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels {
namespace {

struct Case {
    OpFacts facts;
    std::uint64_t step = 0;
    std::vector<Tensor> inputs;
    Tensor output;
};

std::vector<std::string> parts_of(const std::string& text, char separator) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) out.push_back(part);
    return out;
}

Tensor tensor_of(const std::string& text) {
    const std::size_t first = text.find(':'), second = text.find(':', first + 1);
    const std::string name = text.substr(0, first);
    Tensor out;
    out.dtype = name == "f32" ? DType::f32 : name == "i32" ? DType::i32 : DType::u8;
    for (const std::string& extent : parts_of(text.substr(first + 1, second - first - 1), 'x'))
        out.dims.push_back(std::stoull(extent));
    out.data = from_hex(text.substr(second + 1)).value();
    return out;
}

Case case_of(const std::string& line) {
    const std::vector<std::string> words = parts_of(line, ' ');
    Case out;
    for (const OpRule& rule : all_rules())
        if (rule.name == words[0]) out.facts.op.code = rule.code;
    if (words[1] != "-")
        for (const std::string& value : parts_of(words[1], ',')) out.facts.op.attributes.push_back(std::stoull(value));
    out.step = std::stoull(words[2]);
    for (std::size_t i = 3; i + 1 < words.size(); ++i) {
        out.inputs.push_back(tensor_of(words[i]));
        out.facts.op.inputs.push_back(static_cast<std::uint32_t>(i - 3));
        out.facts.inputs.push_back({out.inputs.back().dtype, out.inputs.back().dims});
    }
    out.output = tensor_of(words.back());
    out.facts.output = {out.output.dtype, out.output.dims};
    return out;
}

TEST(OpVectors, RulesAndLoopsAgreeWithPython) {
    std::ifstream file(RETRACE_VECTORS "/ops/cases.txt");
    ASSERT_TRUE(file.is_open());
    ThreadPool pool(2);
    int checked = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) continue;
        SCOPED_TRACE(line.substr(0, 60));
        const Case one = case_of(line);
        ASSERT_TRUE(check_facts(one.facts)) << check_facts(one.facts).error().message;
        std::vector<const std::uint8_t*> inputs;
        for (const Tensor& input : one.inputs) inputs.push_back(input.data.data());
        const CpuKernel kernel = find_cpu_kernel(one.facts);
        ASSERT_NE(kernel, nullptr);
        for (const CpuKernel run : {CpuKernel{run_reference}, kernel}) {
            Tensor out = zeros(one.output.dtype, one.output.dims);
            run({one.facts, inputs, out.data.data(), 5, one.step, pool});
            EXPECT_EQ(out, one.output);
        }
        ++checked;
    }
    EXPECT_EQ(checked, 27);
}

/// RFC 8439, 2.3.2.
TEST(OpVectors, ABlockOfChaCha20IsThatOfTheRfc) {
    ChaChaKey key;
    for (std::uint32_t i = 0; i < 8; ++i) key.word[i] = 0x03020100u + 0x04040404u * i;
    const ChaChaBlock block = chacha_block(key, 1, {{0x09000000u, 0x4a000000u, 0}});
    EXPECT_THAT(block.word,
                ::testing::ElementsAre(0xe4e7f110u, 0x15593bd1u, 0x1fdd0f50u, 0xc47120a3u, 0xc7f4d1c7u, 0x0368c033u,
                                       0x9aaa2204u, 0x4e6cd4c3u, 0x466482d2u, 0x09aa9f07u, 0x05d7c214u, 0xa2028bd9u,
                                       0xd19c12b5u, 0xb94e16deu, 0xe883d0cbu, 0x4e3c50a2u));
}

OpFacts facts_of(OpCode code, std::vector<OpFacts::Operand> inputs, std::vector<std::uint64_t> attributes,
                 OpFacts::Operand output) {
    return {{code, std::vector<std::uint32_t>(inputs.size()), std::move(attributes), {}}, inputs, std::move(output)};
}

std::string refusal(const OpFacts& facts) {
    const Status<> status = check_facts(facts);
    return status ? "accepted" : status.error().message;
}

TEST(OpShapes, PlacesThatNoRowHasAreRefusedByName) {
    using enum DType;
    const auto top = [](DType dtype, Dims dims, std::uint64_t k) {
        Dims out = dims;
        if (!out.empty()) out.back() = k;
        return refusal(facts_of(OpCode::row_top, {{dtype, dims}}, {k}, {i32, out}));
    };
    EXPECT_EQ(top(f32, {3, 512}, 512), "accepted");
    EXPECT_EQ(top(i32, {3, 512}, 8), "takes fp32");
    EXPECT_EQ(top(f32, {}, 1), "takes a rank of at least 1");
    EXPECT_EQ(top(f32, {3, 513}, 8), "takes rows of 1 to 512 elements");
    EXPECT_EQ(top(f32, {3, 0}, 1), "takes rows of 1 to 512 elements");
    EXPECT_EQ(top(f32, {3, 8}, 9), "takes 1 place to as many as a row has elements");
    EXPECT_EQ(top(f32, {3, 8}, 0), "takes 1 place to as many as a row has elements");

    const auto picked = [](Dims values, DType dtype, Dims places) {
        return refusal(facts_of(OpCode::row_pick, {{u8, values}, {dtype, places}}, {}, {u8, places}));
    };
    EXPECT_EQ(picked({2, 3, 600}, i32, {2, 3, 4}), "accepted");
    EXPECT_EQ(picked({}, i32, {}), "takes a rank of at least 1");
    EXPECT_EQ(picked({3, 4}, f32, {3, 4}), "the places are not int32");
    EXPECT_EQ(picked({3, 4}, i32, {2, 4}), "the places have other rows than the values");
    EXPECT_EQ(picked({3, 4}, i32, {3, 1, 4}), "the places have other rows than the values");

    const auto added = [](DType base, Dims dims, Dims places, DType values, Dims value_dims) {
        return refusal(
            facts_of(OpCode::row_add_at, {{base, dims}, {i32, places}, {values, value_dims}}, {}, {f32, dims}));
    };
    EXPECT_EQ(added(f32, {3, 4}, {3, 512}, f32, {3, 512}), "accepted");
    EXPECT_EQ(added(f32, {3, 4}, {3, 513}, f32, {3, 513}), "takes at most 512 places a row");
    EXPECT_EQ(added(i32, {3, 4}, {3, 2}, f32, {3, 2}), "the base and the values are not fp32");
    EXPECT_EQ(added(f32, {3, 4}, {3, 2}, i32, {3, 2}), "the base and the values are not fp32");
    EXPECT_EQ(added(f32, {3, 4}, {2, 2}, f32, {2, 2}), "the places have other rows than the values");
    EXPECT_EQ(added(f32, {3, 4}, {3, 2}, f32, {3, 3}), "one value a place is needed");
}

TEST(OpShapes, RowsThatNoTableTakesAreRefusedByName) {
    using enum DType;
    const auto put = [](Dims table, DType dtype, Dims rows, DType index_type, Dims index) {
        return refusal(
            facts_of(OpCode::put_rows, {{f32, table}, {dtype, rows}, {index_type, index}}, {}, {f32, table}));
    };
    EXPECT_EQ(put({9, 2, 3}, f32, {480, 2, 3}, i32, {480}), "accepted");
    EXPECT_EQ(put({9, 2, 3}, f32, {481, 2, 3}, i32, {481}), "takes at most 480 rows");
    EXPECT_EQ(put({}, f32, {}, i32, {1}), "the table has no rows");
    EXPECT_EQ(put({9, 2}, i32, {4, 2}, i32, {4}), "the rows differ from the table in dtype");
    EXPECT_EQ(put({9, 2}, f32, {4, 3}, i32, {4}), "the rows are not of the table's width");
    EXPECT_EQ(put({9, 2}, f32, {4}, i32, {4}), "the rows are not of the table's width");
    EXPECT_EQ(put({9, 2}, f32, {4, 2}, f32, {4}), "the index is not int32 of rank 1");
    EXPECT_EQ(put({9, 2}, f32, {4, 2}, i32, {5}), "one index a row is needed");
}

TEST(OpShapes, KeysAndNumbersThatChaChaDoesNotTakeAreRefusedByName) {
    using enum DType;
    const auto chacha = [](DType dtype, Dims key, std::uint64_t number) {
        return refusal(facts_of(OpCode::chacha_bits, {{dtype, key}}, {number}, {i32, {4}}));
    };
    EXPECT_EQ(chacha(i32, {8}, 65535), "accepted");
    EXPECT_EQ(chacha(i32, {8}, 65536), "the number is over 2^16-1");
    EXPECT_EQ(chacha(i32, {2, 4}, 0), "the key is not int32 of 8 elements");
    EXPECT_EQ(chacha(f32, {8}, 0), "the key is not int32 of 8 elements");
}

}  // namespace
}  // namespace retrace::kernels
