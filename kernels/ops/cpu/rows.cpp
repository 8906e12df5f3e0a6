// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {

namespace {

std::uint64_t row_bytes(const OpFacts::Operand& table) {
    return std::accumulate(table.dims.begin() + 1, table.dims.end(), std::uint64_t{1}, std::multiplies<>()) *
           size_of(table.dtype);
}

}  // namespace

void run_gather_rows(const OpCall& call) {
    const OpFacts::Operand& table = call.facts.inputs[0];
    const std::uint64_t bytes = row_bytes(table);
    if (bytes == 0) return;  // An output without elements may have no memory.
    const std::int32_t* index = call.in<std::int32_t>(1);
    const std::uint64_t grain = 1 + 65536 / (bytes + 1);
    call.pool.parallel_for(call.facts.inputs[1].dims[0], grain, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            std::uint8_t* out = call.output + i * bytes;
            if (index[i] >= 0 && static_cast<std::uint64_t>(index[i]) < table.dims[0]) {
                std::memcpy(out, call.inputs[0] + static_cast<std::uint64_t>(index[i]) * bytes, bytes);
            } else {
                std::memset(out, 0, bytes);
            }
        }
    });
}

// The chain of a row changes only in blocks that contain one of its tokens: a block without tokens of the row adds +0
// to a carried value that is never -0.
void run_scatter_add_rows(const OpCall& call) {
    constexpr std::uint64_t kTokens = 256, kColumns = 256;
    const std::uint64_t tokens = call.facts.inputs[0].dims[0], width = call.facts.inputs[0].dims[1];
    const std::uint64_t rows = call.facts.output.dims[0];
    const std::int32_t* index = call.in<std::int32_t>(1);
    std::vector<std::uint8_t> order(tokens);  // Token order within each block.
    for (std::uint64_t t = 0; t < tokens; ++t) order[t] = static_cast<std::uint8_t>(t % kTokens);
    for (std::uint64_t b = 0; b < tokens; b += kTokens) {
        std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(b),
                         order.begin() + static_cast<std::ptrdiff_t>(std::min(tokens, b + kTokens)),
                         [&](std::uint8_t x, std::uint8_t y) { return index[b + x] < index[b + y]; });
    }
    const auto token = [&](std::uint64_t t) { return t / kTokens * kTokens + order[t]; };
    const Loops& loop = loops();
    const std::uint64_t strips = (width + kColumns - 1) / kColumns;
    call.pool.parallel_for(strips, 1, [&](std::uint64_t first, std::uint64_t last) {
        std::vector<float> sum(kColumns);
        for (std::uint64_t strip = first; strip < last; ++strip) {
            const std::uint64_t col = strip * kColumns, cols = std::min(kColumns, width - col);
            for (std::uint64_t r = 0; r < rows; ++r) std::memset(call.out<float>() + r * width + col, 0, 4 * cols);
            for (std::uint64_t t = 0; t < tokens;) {
                const std::int32_t row = index[token(t)];
                const std::uint64_t end = std::min(tokens, t / kTokens * kTokens + kTokens);
                std::fill(sum.begin(), sum.end(), 0.0f);
                for (; t < end && index[token(t)] == row; ++t) {
                    loop.accumulate(sum.data(), call.in<float>(0) + token(t) * width + col, cols);
                }
                if (row < 0 || static_cast<std::uint64_t>(row) >= rows) continue;
                loop.accumulate(call.out<float>() + static_cast<std::uint64_t>(row) * width + col, sum.data(), cols);
            }
            for (std::uint64_t r = 0; r < rows; ++r) loop.finish(call.out<float>() + r * width + col, cols);
        }
    });
}

// A thread puts its strip of every row, in order, so that the last of equal indices holds.
void run_put_rows(const OpCall& call) {
    constexpr std::uint64_t kStrip = 65536;
    const std::uint64_t rows = call.facts.output.dims[0], count = call.facts.inputs[2].dims[0];
    const std::uint64_t bytes = row_bytes(call.facts.output);
    const std::int32_t* index = call.in<std::int32_t>(2);
    if (call.output != call.inputs[0]) {
        call.pool.parallel_for(rows * bytes, kStrip, [&](std::uint64_t begin, std::uint64_t end) {
            std::memcpy(call.output + begin, call.inputs[0] + begin, end - begin);
        });
    }
    call.pool.parallel_for(bytes, 1 + kStrip / (count + 1), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (index[i] < 0 || static_cast<std::uint64_t>(index[i]) >= rows) continue;
            std::memcpy(call.output + static_cast<std::uint64_t>(index[i]) * bytes + begin,
                        call.inputs[1] + i * bytes + begin, end - begin);
        }
    });
}

}  // namespace retrace::kernels
