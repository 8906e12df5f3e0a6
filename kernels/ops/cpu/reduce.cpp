// SPDX-License-Identifier: MIT
#include "kernels/reduce/reduce.hpp"

#include <algorithm>
#include <array>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

/// Returns the minimum number of results of rows of `cols` terms that a thread takes.
std::uint64_t grain_of(std::uint64_t cols) { return 1 + 16384 / std::clamp<std::uint64_t>(cols, 1, kReduceTerms); }

/// Passes the rows of the first input, which a window gather would have computed, a few at a time to body(first, count,
/// rows).
template <class Body>
void for_gathered_rows(const OpCall& call, const OpFacts& gather, const Geometry& shape, Body body) {
    constexpr std::uint64_t kElements = 2048;
    call.pool.parallel_for(shape.rows, grain_of(shape.cols), [&](std::uint64_t begin, std::uint64_t end) {
        std::array<float, kElements> rows;
        const std::uint64_t most = kElements / std::clamp<std::uint64_t>(shape.cols, 1, kReduceTerms);
        for (std::uint64_t row = begin; row < end; row += most) {
            const std::uint64_t count = std::min(most, end - row);
            gather_windows(gather, call.in<float>(0), row, count, rows.data());
            body(row, count, rows.data());
        }
    });
}

}  // namespace

void run_row_reduction(const OpCall& call) {
    const auto reduce = call.facts.op.code == OpCode::row_sum ? loops().row_sum : loops().row_max;
    const Geometry shape = geometry(call.facts.inputs[0].dims);
    const std::uint64_t results = reduce_level_size(shape.cols);
    const float* x = call.in<float>(0);
    if (const OpFacts* gather = call.gather_of(0)) {
        for_gathered_rows(call, *gather, shape, [&](std::uint64_t row, std::uint64_t count, const float* rows) {
            loops().rows_max(rows, count, shape.cols, call.out<float>() + row);
        });
        return;
    }
    if (results == 1 && call.facts.op.code == OpCode::row_max) {
        call.pool.parallel_for(shape.rows, grain_of(shape.cols), [&](std::uint64_t begin, std::uint64_t end) {
            loops().rows_max(x + begin * shape.cols, end - begin, shape.cols, call.out<float>() + begin);
        });
        return;
    }
    call.pool.parallel_for(shape.rows * results, grain_of(shape.cols), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint64_t first = i % results * kReduceTerms;
            call.out<float>()[i] =
                reduce(x + i / results * shape.cols + first, std::min(kReduceTerms, shape.cols - first));
        }
    });
}

void run_column_reduction(const OpCall& call) {
    const auto reduce = call.facts.op.code == OpCode::col_sum ? loops().col_sum : loops().col_max;
    const Geometry shape = geometry(call.facts.inputs[0].dims);
    const std::uint64_t results = reduce_level_size(shape.rows);
    // Work is divided into strips of columns of one level's result.
    constexpr std::uint64_t kColumns = 256;
    const std::uint64_t strips = (shape.cols + kColumns - 1) / kColumns;
    const std::uint64_t terms = std::min(kReduceTerms, shape.rows) * std::min(kColumns, shape.cols);
    call.pool.parallel_for(results * strips, 1 + 16384 / (terms + 1), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint64_t level = i / strips, col = i % strips * kColumns;
            const std::uint64_t first = level * kReduceTerms;
            reduce(call.in<float>(0) + first * shape.cols + col, shape.cols, std::min(kReduceTerms, shape.rows - first),
                   std::min(kColumns, shape.cols - col), call.out<float>() + level * shape.cols + col);
        }
    });
}

void run_row_argmax(const OpCall& call) {
    const Geometry shape = geometry(call.facts.inputs[0].dims);
    const std::uint64_t results = reduce_level_size(shape.cols);
    const bool pick = call.facts.op.code == OpCode::row_argmax_pick;
    if (const OpFacts* gather = call.gather_of(0)) {
        for_gathered_rows(call, *gather, shape, [&](std::uint64_t row, std::uint64_t count, const float* rows) {
            loops().rows_argmax(rows, count, shape.cols, call.out<std::int32_t>() + row);
        });
        return;
    }
    if (results == 1 && !pick) {
        call.pool.parallel_for(shape.rows, grain_of(shape.cols), [&](std::uint64_t begin, std::uint64_t end) {
            loops().rows_argmax(call.in<float>(0) + begin * shape.cols, end - begin, shape.cols,
                                call.out<std::int32_t>() + begin);
        });
        return;
    }
    call.pool.parallel_for(shape.rows * results, grain_of(shape.cols), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint64_t first = i % results * kReduceTerms;
            const std::uint64_t at = i / results * shape.cols + first;
            const float* x = call.in<float>(0) + at;
            std::uint64_t best = 0;
            for (std::uint64_t k = 1; k < std::min(kReduceTerms, shape.cols - first); ++k) {
                if (argmax_replaces(x[k], x[best])) best = k;
            }
            call.out<std::int32_t>()[i] =
                pick ? call.in<std::int32_t>(1)[at + best] : static_cast<std::int32_t>(first + best);
        }
    });
}

}  // namespace retrace::kernels
