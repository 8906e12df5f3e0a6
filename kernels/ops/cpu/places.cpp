// SPDX-License-Identifier: MIT
// Places within rows: a row belongs to one thread.
#include "kernels/ops/places.hpp"

#include <array>
#include <cstring>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kGrain = 16384;  ///< Minimum number of elements that a thread takes.

std::uint64_t rows_of(const OpFacts::Operand& operand) { return geometry(operand.dims).rows; }
std::uint64_t grain_of(std::uint64_t cols) { return 1 + kGrain / (cols + 1); }

template <class T>
void pick_rows(const OpCall& call) {
    const std::uint64_t cols = call.facts.inputs[0].dims.back(), count = call.facts.output.dims.back();
    call.pool.parallel_for(rows_of(call.facts.output), grain_of(count), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t row = begin; row < end; ++row) {
            const T* values = call.in<T>(0) + row * cols;
            const std::int32_t* places = call.in<std::int32_t>(1) + row * count;
            T* out = call.out<T>() + row * count;
            for (std::uint64_t i = 0; i < count; ++i) {
                const bool inside = places[i] >= 0 && static_cast<std::uint64_t>(places[i]) < cols;
                out[i] = inside ? values[places[i]] : T{0};
            }
        }
    });
}

/// `out` may be `base`. All sums are computed before one is stored, and are stored from the last place to the first,
/// so that the first of equal places holds.
void add_to_row(const float* base, const std::int32_t* places, const float* values, std::uint64_t cols,
                std::uint64_t count, float* out) {
    const auto inside = [&](std::uint64_t i) { return places[i] >= 0 && static_cast<std::uint64_t>(places[i]) < cols; };
    std::array<float, kAddPlacesMax> sums;
    for (std::uint64_t i = 0; i < count; ++i) sums[i] = inside(i) ? finish(base[places[i]] + values[i]) : 0.0f;
    if (out != base) std::memcpy(out, base, 4 * cols);
    for (std::uint64_t i = count; i-- > 0;) {
        if (inside(i)) out[places[i]] = sums[i];
    }
}

}  // namespace

void run_row_top(const OpCall& call) {
    const auto cols = static_cast<std::uint32_t>(call.facts.inputs[0].dims.back());
    const auto count = static_cast<std::uint32_t>(call.facts.op.attributes[0]);
    const Loops& loop = loops();
    call.pool.parallel_for(rows_of(call.facts.output), grain_of(cols), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t row = begin; row < end; ++row)
            loop.row_top(call.in<std::uint32_t>(0) + row * cols, cols, count, call.out<std::int32_t>() + row * count);
    });
}

void run_row_pick(const OpCall& call) {
    size_of(call.facts.output.dtype) == 1 ? pick_rows<std::uint8_t>(call) : pick_rows<std::uint32_t>(call);
}

void run_row_add_at(const OpCall& call) {
    const std::uint64_t cols = call.facts.output.dims.back(), count = call.facts.inputs[1].dims.back();
    call.pool.parallel_for(rows_of(call.facts.output), grain_of(cols), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t row = begin; row < end; ++row) {
            add_to_row(call.in<float>(0) + row * cols, call.in<std::int32_t>(1) + row * count,
                       call.in<float>(2) + row * count, cols, count, call.out<float>() + row * cols);
        }
    });
}

}  // namespace retrace::kernels
