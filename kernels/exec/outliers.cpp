// SPDX-License-Identifier: MIT
#include "kernels/exec/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/matmul/slices.hpp"
#include "kernels/ops/matmul_shape.hpp"
#include "kernels/ops/opcode.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kBlockTerms = 256;

/// An operand as `batch` matrices of `vectors` vectors of `terms` values: value k of vector v of matrix b is at x[b *
/// vectors * terms + v * vector_stride + k * term_stride].
struct Vectors {
    const float* x = nullptr;
    std::uint64_t batch = 1, vectors = 0, terms = 0, vector_stride = 0, term_stride = 0;

    std::uint64_t blocks_each() const { return matmul_blocks(terms); }
    std::uint64_t blocks() const { return batch * vectors * blocks_each(); }

    /// Returns 0 for a block of zeros and NaN for a block that is not finite.
    float crest_factor_of(std::uint64_t block) const {
        const std::uint64_t vector = block / blocks_each(), first = block % blocks_each() * kBlockTerms;
        const std::uint64_t count = std::min<std::uint64_t>(kBlockTerms, terms - first);
        const float* at =
            x + vector / vectors * vectors * terms + vector % vectors * vector_stride + first * term_stride;
        double peak = 0, squares = 0;  // in double precision; for display only, no bit depends on it
        std::uint64_t values = 0;
        for (std::uint64_t k = 0; k < count; ++k) {
            const double value = std::fabs(static_cast<double>(at[k * term_stride]));
            if (!std::isfinite(value)) return from_bits(kNanBits);
            peak = std::max(peak, value);
            squares += value * value;
            values += value != 0;
        }
        if (values == 0) return 0;
        const double others = std::max(squares - peak * peak, 0.0);
        return values == 1 ? 1 : static_cast<float>(peak / std::sqrt(others / static_cast<double>(values - 1)));
    }
};

Vectors operand_of(const MatmulShape& s, std::uint32_t input, const std::uint8_t* data) {
    const bool rows = input == 0 ? !s.transposed_a : s.transposed_b;  // a vector's terms are adjacent
    const std::uint64_t vectors = input == 0 ? s.m : s.n;
    return {reinterpret_cast<const float*>(data), s.batch, vectors, s.k, rows ? s.k : 1, rows ? 1 : vectors};
}

ProductOutliers crest_factor_of(std::uint32_t op, std::uint32_t input, std::uint32_t slices, const Vectors& operand) {
    ProductOutliers out{op, input, slices};
    const std::uint64_t all = operand.blocks();
    const std::uint64_t looks = std::min(all, kOutlierBlocks);
    std::vector<float> factors;
    for (std::uint64_t i = 0; i < looks; ++i) {
        const float factor = operand.crest_factor_of(i * (all / looks) + i * (all % looks) / looks);
        if (factor > 0) factors.push_back(factor);
    }
    if (factors.empty()) return out;
    std::sort(factors.begin(), factors.end());
    out.blocks = factors.size();
    out.median = factors[factors.size() / 2];
    out.worst = factors.back();
    const auto over = factors.end() - std::upper_bound(factors.begin(), factors.end(), kOutlierCrest);
    out.outliers = static_cast<double>(over) / static_cast<double>(factors.size());
    return out;
}

std::tuple<bool, double, float> needs_digits(const ProductOutliers& product) {
    return {product.slices < 3, product.outliers, product.worst};
}

}  // namespace

std::vector<ProductOutliers> product_outliers(Executor& executor, const Program& program, const State& state,
                                              const Inputs& inputs) {
    std::vector<ProductOutliers> out;
    executor.inspect(state, inputs,
                     [&](std::uint32_t op, std::span<const std::uint8_t* const> operands, const std::uint8_t*) {
                         if (program.ops[op].code != OpCode::matmul) return;
                         const MatmulShape shape = matmul_shape(facts_of(program, op));
                         const std::uint32_t slices = slices_of(shape.precision);
                         if (slices == 0) return;
                         for (std::uint32_t input = 0; input < 2; ++input) {
                             const Vectors operand = operand_of(shape, input, operands[input]);
                             if (operand.blocks() != 0) out.push_back(crest_factor_of(op, input, slices, operand));
                         }
                     });
    return out;
}

std::optional<OutlierSummary> summary_of(const std::vector<ProductOutliers>& factors) {
    OutlierSummary out;
    double outliers = 0;
    std::vector<float> medians;
    for (const ProductOutliers& product : factors) {
        if (product.blocks == 0) continue;
        out.blocks += product.blocks;
        outliers += product.outliers * static_cast<double>(product.blocks);
        medians.push_back(product.median);
        if (out.most.blocks == 0 || needs_digits(product) > needs_digits(out.most)) out.most = product;
    }
    if (out.blocks == 0) return std::nullopt;
    std::sort(medians.begin(), medians.end());
    out.median = medians[medians.size() / 2];
    out.outliers = outliers / static_cast<double>(out.blocks);
    return out;
}

}  // namespace retrace::kernels
