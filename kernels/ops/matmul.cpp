// SPDX-License-Identifier: MIT
// The matrix product (SPEC 1, contract 4): attributes precision, transposed A, transposed B; equal leading extents.
#include "kernels/matmul/matmul.hpp"

#include <algorithm>
#include <array>

#include "kernels/ops/matmul_shape.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {

MatmulShape matmul_shape(const OpFacts& facts) {
    const Dims& a = facts.inputs[0].dims;
    const Dims& b = facts.inputs[1].dims;
    MatmulShape shape;
    shape.precision = static_cast<Precision>(facts.op.attributes[0]);
    shape.transposed_a = facts.op.attributes[1] != 0;
    shape.transposed_b = facts.op.attributes[2] != 0;
    for (std::size_t i = 0; i + 2 < a.size(); ++i) shape.batch *= a[i];
    shape.m = a[a.size() - (shape.transposed_a ? 1 : 2)];
    shape.k = a[a.size() - (shape.transposed_a ? 2 : 1)];
    shape.n = b[b.size() - (shape.transposed_b ? 2 : 1)];
    return shape;
}

namespace {

using Operand = OpFacts::Operand;
constexpr std::uint32_t kBlock = 256;

Result<Operand> output(const OpFacts& facts) {
    const Operand& a = facts.inputs[0];
    const Operand& b = facts.inputs[1];
    if (a.dtype != DType::f32 || b.dtype != DType::f32) return error("takes fp32");
    if (facts.op.attributes[0] < 1 || facts.op.attributes[0] > 4) return error("unknown precision");
    if (facts.op.attributes[1] > 1 || facts.op.attributes[2] > 1) return error("a transpose flag is not 0 or 1");
    const std::size_t rank = a.dims.size();
    if (rank < 2 || b.dims.size() != rank) return error("takes two operands of one rank of at least 2");
    if (!std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin())) return error("leading extents differ");
    const MatmulShape shape = matmul_shape(facts);
    const std::uint64_t inner = b.dims[rank - (shape.transposed_b ? 1 : 2)];
    if (inner != shape.k) {
        return error("inner extents differ: " + std::to_string(shape.k) + " and " + std::to_string(inner));
    }
    Operand out{DType::f32, a.dims};
    out.dims[rank - 2] = shape.m;
    out.dims[rank - 1] = shape.n;
    return out;
}

std::uint64_t cost(const OpFacts& facts) {
    return saturating_mul(elements_of(facts.output), std::max<std::uint64_t>(1, matmul_shape(facts).k));
}

std::uint64_t links(const OpFacts& facts) { return std::max<std::uint64_t>(1, matmul_blocks(matmul_shape(facts).k)); }

std::uint32_t element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const MatmulShape shape = matmul_shape(facts);
    const std::uint64_t j = query.element % shape.n;
    const std::uint64_t i = query.element / shape.n % shape.m;
    const std::uint64_t batch = query.element / shape.n / shape.m;
    const std::uint64_t begin = query.link * kBlock;
    const std::uint32_t count = static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlock, shape.k - begin));
    const std::uint64_t a = batch * shape.m * shape.k, b = batch * shape.k * shape.n;
    std::array<float, kBlock> row, column;
    for (std::uint32_t n = 0; n < count; ++n) {
        const std::uint64_t k = begin + n;
        row[n] = reads.f32(0, a + (shape.transposed_a ? k * shape.m + i : i * shape.k + k));
        column[n] = reads.f32(1, b + (shape.transposed_b ? j * shape.k + k : k * shape.n + j));
    }
    const float before = query.link == 0 ? matmul_start(shape.precision) : from_bits(query.before);
    const float carried = matmul_link(shape.precision, row.data(), column.data(), count, before);
    return to_bits(query.link + 1 == links(facts) ? matmul_finish(carried) : carried);
}

constexpr std::array kRules = {
    OpRule{OpCode::matmul, "matmul", 2, 2, 3, 3, false, output, cost, links, element},
};

}  // namespace

std::span<const OpRule> matmul_rules() { return kRules; }

}  // namespace retrace::kernels
