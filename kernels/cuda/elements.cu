// SPDX-License-Identifier: MIT
// All elementwise ops, alone or in runs: a thread does every step of a run on its four elements, values
// between steps lie in the thread's slots of shared memory. The arithmetic is that of
// kernels/ops/functions.hpp.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/ops/functions.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kEach = 4;

struct alignas(16) Quad {
    std::uint32_t word[kEach];
};

/// The thread's elements: `count` from `first` on, of which the first lies at (row, col).
struct Place {
    std::uint64_t first, row, col, cols;
    std::uint32_t count;
};

__device__ std::uint32_t load_element(const ElementSide& side, std::uint64_t index) {
    return side.size == 1 ? side.data[index] : reinterpret_cast<const std::uint32_t*>(side.data)[index];
}

__device__ void fetch_spread(const ElementSide& side, const Place& place, Quad& out) {
    std::uint64_t row = place.row, col = place.col;
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        const std::uint64_t index = side.spread == Spread::row      ? col
                                    : side.spread == Spread::column ? row
                                                                    : 0;
        out.word[v] = v < place.count ? load_element(side, index) : 0;
        if (++col == place.cols) col = 0, ++row;
    }
}

__device__ void fetch(const ElementSide& side, const Place& place, const Quad* slots, Quad& out) {
    if (side.data == nullptr) {
        out = slots[side.slot * blockDim.x];
    } else if (side.spread != Spread::full) {
        fetch_spread(side, place, out);
    } else if (place.count == kEach && side.size == 4) {
        out = *reinterpret_cast<const Quad*>(side.data + 4 * place.first);
    } else if (place.count == kEach) {
        const std::uint32_t bytes = *reinterpret_cast<const std::uint32_t*>(side.data + place.first);
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = bytes >> (8 * v) & 0xff;
    } else {
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) {
            out.word[v] = v < place.count ? load_element(side, place.first + v) : 0;
        }
    }
}

__device__ void put(const ElementSide& side, const Place& place, Quad* slots, const Quad& value) {
    if (side.data == nullptr) {
        slots[side.slot * blockDim.x] = value;
    } else if (place.count == kEach && side.size == 4) {
        *reinterpret_cast<Quad*>(side.data + 4 * place.first) = value;
    } else if (place.count == kEach) {
        std::uint32_t bytes = 0;
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) bytes |= (value.word[v] & 0xff) << (8 * v);
        *reinterpret_cast<std::uint32_t*>(side.data + place.first) = bytes;
    } else {
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) {
            if (v >= place.count) continue;
            if (side.size == 1) {
                side.data[place.first + v] = static_cast<std::uint8_t>(value.word[v]);
            } else {
                reinterpret_cast<std::uint32_t*>(side.data)[place.first + v] = value.word[v];
            }
        }
    }
}

template <OpCode code>
__device__ void unary(const Quad& x, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = to_bits(apply_unary<code>(from_bits(x.word[v])));
}

template <OpCode code>
__device__ void binary(const Quad& a, const Quad& b, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        out.word[v] = to_bits(apply_binary<code>(from_bits(a.word[v]), from_bits(b.word[v])));
    }
}

template <OpCode code>
__device__ void compare(DType dtype, const Quad& a, const Quad& b, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        out.word[v] = dtype == DType::i32 ? apply_compare<code>(static_cast<std::int32_t>(a.word[v]),
                                                                static_cast<std::int32_t>(b.word[v]))
                                          : apply_compare<code>(from_bits(a.word[v]), from_bits(b.word[v]));
    }
}

__device__ std::uint32_t converted(DType in, DType out, std::uint32_t bits) {
    if (in == DType::f32) return static_cast<std::uint32_t>(to_int32(from_bits(bits)));
    std::int32_t value = static_cast<std::int32_t>(bits);
    if (in == DType::i8) value = static_cast<std::int8_t>(bits & 0xff);
    return out == DType::i32 ? static_cast<std::uint32_t>(value) : to_bits(static_cast<float>(value));
}

__device__ void multiply_add(const Quad& a, const Quad& b, const Quad& c, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        out.word[v] = to_bits(apply_fma(from_bits(a.word[v]), from_bits(b.word[v]), from_bits(c.word[v])));
    }
}

__device__ void select(const Quad& a, const Quad& b, const Quad& c, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = a.word[v] != 0 ? b.word[v] : c.word[v];
}

/// The rare ones.
__device__ void compute_bits(const ElementStep& step, const Quad& a, const Quad& b, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        switch (step.code) {
            case OpCode::convert:
                out.word[v] = converted(step.in, step.out, a.word[v]);
                break;
            case OpCode::powi:
                out.word[v] = to_bits(apply_powi(from_bits(a.word[v]), static_cast<std::int32_t>(b.word[v])));
                break;
            case OpCode::logical_and:
                out.word[v] = a.word[v] & b.word[v];
                break;
            case OpCode::logical_or:
                out.word[v] = a.word[v] | b.word[v];
                break;
            case OpCode::logical_not:
                out.word[v] = a.word[v] ^ 1;
                break;
            default:
                break;
        }
    }
}

__device__ void compute(const ElementStep& step, const Quad& a, const Quad& b, const Quad& c, Quad& out) {
    switch (step.code) {
        case OpCode::neg:
            return unary<OpCode::neg>(a, out);
        case OpCode::abs:
            return unary<OpCode::abs>(a, out);
        case OpCode::exp:
            return unary<OpCode::exp>(a, out);
        case OpCode::log:
            return unary<OpCode::log>(a, out);
        case OpCode::tanh:
            return unary<OpCode::tanh>(a, out);
        case OpCode::sigmoid:
            return unary<OpCode::sigmoid>(a, out);
        case OpCode::erf:
            return unary<OpCode::erf>(a, out);
        case OpCode::sqrt:
            return unary<OpCode::sqrt>(a, out);
        case OpCode::rsqrt:
            return unary<OpCode::rsqrt>(a, out);
        case OpCode::relu:
            return unary<OpCode::relu>(a, out);
        case OpCode::sin_turns:
            return unary<OpCode::sin_turns>(a, out);
        case OpCode::cos_turns:
            return unary<OpCode::cos_turns>(a, out);
        case OpCode::add:
            return binary<OpCode::add>(a, b, out);
        case OpCode::sub:
            return binary<OpCode::sub>(a, b, out);
        case OpCode::mul:
            return binary<OpCode::mul>(a, b, out);
        case OpCode::div:
            return binary<OpCode::div>(a, b, out);
        case OpCode::max:
            return binary<OpCode::max>(a, b, out);
        case OpCode::min:
            return binary<OpCode::min>(a, b, out);
        case OpCode::pow:
            return binary<OpCode::pow>(a, b, out);
        case OpCode::equal:
            return compare<OpCode::equal>(step.in, a, b, out);
        case OpCode::less:
            return compare<OpCode::less>(step.in, a, b, out);
        case OpCode::less_equal:
            return compare<OpCode::less_equal>(step.in, a, b, out);
        case OpCode::greater:
            return compare<OpCode::greater>(step.in, a, b, out);
        case OpCode::greater_equal:
            return compare<OpCode::greater_equal>(step.in, a, b, out);
        case OpCode::fma:
            return multiply_add(a, b, c, out);
        case OpCode::select:
            return select(a, b, c, out);
        default:
            return compute_bits(step, a, b, out);
    }
}

__global__ void __launch_bounds__(kThreads) elements_kernel(const ElementStep* steps, std::uint32_t count,
                                                            std::uint64_t elements, std::uint64_t cols) {
    Place place;
    place.first = global_thread() * kEach;
    if (place.first >= elements) return;
    place.count = static_cast<std::uint32_t>(smaller<std::uint64_t>(kEach, elements - place.first));
    place.row = place.first / cols;
    place.col = place.first % cols;
    place.cols = cols;
    Quad* const slots = &shared_as<Quad>() + threadIdx.x;
    for (std::uint32_t s = 0; s < count; ++s) {
        const ElementStep& step = steps[s];
        Quad a{}, b{}, c{}, out{};
        fetch(step.sides[0], place, slots, a);
        if (step.inputs > 1) fetch(step.sides[1], place, slots, b);
        if (step.inputs > 2) fetch(step.sides[2], place, slots, c);
        compute(step, a, b, c, out);
        put(step.result, place, slots, out);
    }
}

}  // namespace

void run_elements(Stream stream, const ElementStep* steps, std::uint32_t count, std::uint32_t slots,
                  std::uint64_t elements, std::uint64_t cols) {
    Grid grid = grid_for((elements + kEach - 1) / kEach);
    grid.shared = slots * kThreads * static_cast<std::uint32_t>(sizeof(Quad));
    launch(stream, grid, elements_kernel, steps, count, elements, cols);
}

}  // namespace retrace::kernels::cuda
