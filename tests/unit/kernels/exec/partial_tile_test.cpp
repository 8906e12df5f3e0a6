// SPDX-License-Identifier: MIT
// Tiles that the kernels compute part of the way along their chains equal the values carried by the element rule.
#include "kernels/exec/partial_tile.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kernels/matmul/links.hpp"
#include "kernels/matmul/slices.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "tests/unit/kernels/any_values.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels {
namespace {

using testing::AnyValues;
using testing::OpCase;

/// Computes a partial tile by the definition: element by element, link by link.
PartialTile by_definition(const OpCase& one, std::uint64_t tile, std::uint64_t links) {
    const Geometry shape = geometry(one.facts.output.dims);
    PartialTile values{};
    testing::TensorSource source(one.inputs);
    for (std::uint64_t place = 0; place < values.size(); ++place) {
        const std::uint64_t row = tile / shape.tile_cols() * 32 + place / 32;
        const std::uint64_t col = tile % shape.tile_cols() * 32 + place % 32;
        if (row >= shape.rows || col >= shape.cols) continue;
        ElementQuery query{row * shape.cols + col, 0, 0, 3, 5};
        for (; query.link < links; ++query.link) query.before = evaluate(one.facts, query, source).value();
        values[place] = query.before;
    }
    return values;
}

/// Compares every tile after some links, computed in two parts, on pools of one and three threads.
void compare(const OpCase& one, AnyValues& any) {
    ASSERT_TRUE(check_facts(one.facts)) << one.name;
    const std::uint64_t links = link_count(one.facts), tiles = geometry(one.facts.output.dims).tiles();
    std::vector<const std::uint8_t*> inputs;
    for (const Tensor& input : one.inputs) inputs.push_back(input.data.data());
    ThreadPool alone(1), three(3);
    for (std::uint64_t tile = 0; tile < tiles; ++tile) {
        const std::uint64_t end = any.below(links), middle = any.below(end + 1);
        PartialTile carried;
        carried.fill(0xdeadbeef);  // Values that are not read need not be initialised.
        advance_partial({one.facts, inputs, nullptr, 3, 5, alone}, tile, 0, middle, carried);
        ASSERT_EQ(carried, by_definition(one, tile, middle)) << one.name << " tile " << tile << " links " << middle;
        advance_partial({one.facts, inputs, nullptr, 3, 5, three}, tile, middle, end, carried);
        ASSERT_EQ(carried, by_definition(one, tile, end)) << one.name << " tile " << tile << " links " << end;
    }
}

OpCase made(OpCode code, std::vector<Tensor> inputs, std::vector<std::uint64_t> attributes) {
    OpCase one;
    one.name = std::string(find_rule(code)->name);
    for (const std::uint64_t attribute : attributes) one.name += " " + std::to_string(attribute);
    one.facts.op = {code, std::vector<std::uint32_t>(inputs.size()), std::move(attributes), ""};
    for (const Tensor& input : inputs) one.facts.inputs.push_back({input.dtype, input.dims});
    one.facts.output = find_rule(code)->output(one.facts).value();
    one.inputs = std::move(inputs);
    return one;
}

TEST(PartialTile, OfProductsIsWhatTheRuleCarries) {
    AnyValues any(1);
    for (std::uint64_t precision = 1; precision <= 4; ++precision) {
        for (std::uint64_t kind = 0; kind < 5; ++kind) {
            const bool turned_a = any.below(2) != 0, turned_b = any.below(2) != 0;
            // Products of a batch begin inside a tile, and some of its columns are missing.
            const std::uint64_t m = 1 + any.below(40), n = 1 + any.below(70), k = 1 + any.below(1300);
            Dims a{3, m, k}, b{3, k, n};
            if (turned_a) std::swap(a[1], a[2]);
            if (turned_b) std::swap(b[1], b[2]);
            compare(made(OpCode::matmul, {any.tensor(DType::f32, a, kind), any.tensor(DType::f32, b, kind)},
                         {precision, turned_a, turned_b}),
                    any);
        }
    }
}

TEST(PartialTile, OfScatteredRowsIsWhatTheRuleCarries) {
    AnyValues any(2);
    for (std::uint64_t round = 0; round < 15; ++round) {
        const std::uint64_t tokens = 1 + any.below(2000), width = 1 + any.below(70), rows = 1 + any.below(100);
        Tensor index = zeros(DType::i32, {tokens});
        for (std::uint64_t t = 0; t < tokens; ++t) {
            const bool wild = any.below(8) == 0;
            store_u32(index.data.data() + 4 * t,
                      wild ? any.integer_bits() : static_cast<std::uint32_t>(any.below(rows)));
        }
        compare(made(OpCode::scatter_add_rows, {any.tensor(DType::f32, {tokens, width}, round % 5), index}, {rows}),
                any);
    }
}

TEST(PartialTile, OfScatteredWindowsIsWhatTheRuleCarries) {
    AnyValues any(3);
    for (std::uint64_t round = 0; round < 40; ++round) {
        const std::uint64_t n = 1 + any.below(2), c = 1 + any.below(3), h = 1 + any.below(40), w = 1 + any.below(40);
        const std::uint64_t ph = any.below(6), pw = any.below(6);
        const std::uint64_t kh = 1 + any.below(std::min<std::uint64_t>(14, h + 2 * ph));
        const std::uint64_t kw = 1 + any.below(std::min<std::uint64_t>(14, w + 2 * pw));
        const std::uint64_t sh = 1 + any.below(6), sw = 1 + any.below(6);
        const std::uint64_t oh = (h + 2 * ph - kh) / sh + 1, ow = (w + 2 * pw - kw) / sw + 1;
        compare(made(OpCode::window_scatter, {any.tensor(DType::f32, {n * oh * ow, c * kh * kw}, round % 5)},
                     {n, c, h, w, kh, kw, sh, sw, ph, pw}),
                any);
    }
}

TEST(PartialTile, OfRandomChainsIsWhatTheRuleCarries) {
    AnyValues any(4);
    std::size_t chains = 0;
    for (const OpCase& one : testing::random_cases(17, 3)) {
        if (link_count(one.facts) < 2 || elements_of(one.facts.output) == 0) continue;
        ++chains;
        compare(one, any);
    }
    EXPECT_GT(chains, 0U);
}

TEST(PartialTile, OfAProductIsTheSameAtEveryLevel) {
    AnyValues any(5);
    for (const CpuLevel level : cpu_levels()) {
        for (const Precision precision : {Precision::f32, Precision::i8x1, Precision::i8x2, Precision::i8x3}) {
            for (std::uint64_t kind = 0; kind < 4; ++kind) {
                const std::uint64_t rows = 1 + any.below(32), cols = 1 + any.below(32), k = 257 + any.below(800);
                const Tensor x = any.tensor(DType::f32, {rows, k}, kind), y = any.tensor(DType::f32, {k, cols}, kind);
                const MatrixView a{x.f32(), rows, k, k, 1}, b{y.f32(), k, cols, cols, 1};
                const std::uint64_t blocks = matmul_blocks(k), middle = any.below(blocks + 1);
                std::vector<float> c(32 * 32), expected(32 * 32);
                matmul_links_at(level, precision, a, b, 0, middle, c.data(), 32);
                matmul_links_at(level, precision, a, b, middle, blocks, c.data(), 32);
                matmul_links_at(CpuLevel::scalar, precision, a, b, 0, blocks, expected.data(), 32);
                for (std::size_t i = 0; i < c.size(); ++i) {
                    ASSERT_EQ(to_bits(c[i]), to_bits(expected[i])) << name_of(level) << " kind " << kind << " at " << i;
                }
            }
        }
    }
}

}  // namespace
}  // namespace retrace::kernels
