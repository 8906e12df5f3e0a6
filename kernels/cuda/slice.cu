// SPDX-License-Identifier: MIT
// Slicing (contract 4.2): the digits and scales of the vectors of one operand, by kernels/matmul/slices.hpp.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/digits.hpp"
#include "kernels/cuda/divisor.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kWarps = kThreads / 32;

struct Operand {
    const float* x;
    std::int8_t* digits;
    float* scales;
    std::uint64_t batch, vectors, k, blocks;
    DigitOrder order;
};

/// Divides the numbers of threads and blocks, in 32 bits where they suffice.
template <class Index>
struct Divisors {
    Divisor<Index> blocks, padded, strips;
};

/// Shared by all values of one vector's block.
struct Factor {
    std::int32_t exponent;
    bool finite;
};

template <std::uint32_t S>
__device__ Factor store_scale(const Operand& o, std::uint64_t matrix, std::uint64_t vector, std::uint64_t block,
                              std::uint32_t largest, bool writes) {
    if (writes) o.scales[o.order.scale(matrix, o.blocks, block, vector)] = slice_scale(S, largest);
    return Factor{slice_exponent(largest), largest < kInfinityBits};
}

/// Returns the integer nearest to x, of two the even one; |x| < 2^31.
__device__ std::int32_t nearest_int(float x) {
#if defined(__CUDA_ARCH__)
    return __float2int_rn(x);
#else
    return to_int32(x);
#endif
}

/// Returns byte `number` of each word, as one word.
__device__ std::uint32_t bytes_of(const std::uint32_t (&word)[4], std::uint32_t number) {
#if defined(__CUDA_ARCH__)
    const std::uint32_t pick = number | (number + 4) << 4;
    return __byte_perm(__byte_perm(word[0], word[1], pick), __byte_perm(word[2], word[3], pick), 0x5410);
#else
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < 4; ++i) out |= (word[i] >> (8 * number) & 0xff) << (8 * i);
    return out;
#endif
}

/// Returns the digits of four values, packed: word t holds digit t of each. They are those of slice_digits: with
/// q = round(x · 2^(8S - 1 - E)), digit t is byte S - 1 - t of q + 128 · (256^0 + … + 256^(S - 2 - t)), because taking a
/// signed digit off rounds the quotient to nearest.
template <std::uint32_t S>
__device__ void digits_of(const float (&x)[4], Factor factor, std::uint32_t (&out)[S]) {
    const float scale = power_of_two(8 * static_cast<std::int32_t>(S) - 1 - factor.exponent);
    std::uint32_t q[4];
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
        if constexpr (S < 3) {
            // |q| < 2^15, so the sum's low 16 bits are those of the product, which is exact, rounded to nearest even.
            q[i] = to_bits(fma32(x[i], scale, 12582912.0f));
        } else {
            q[i] = static_cast<std::uint32_t>(nearest_int(x[i] * scale));
        }
    }
    std::uint32_t carry = 0;
    RETRACE_UNROLL
    for (std::uint32_t byte = 0; byte < S; ++byte) {
        std::uint32_t word[4];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < 4; ++i) word[i] = q[i] + carry;
        out[S - 1 - byte] = factor.finite ? bytes_of(word, byte) : 0;
        carry += 0x80u << (8 * byte);
    }
}

/// Loads consecutive values from `k` on, zeros beyond K; in two loads if they are aligned.
__device__ void load_values(const Operand& o, std::uint64_t vector, std::uint64_t k, float (&x)[8]) {
    struct alignas(16) Four {
        float value[4];
    };
    const float* const from = o.x + vector * o.k + k;
    if (o.k % 4 == 0 && k + 8 <= o.k) {
        RETRACE_UNROLL
        for (std::uint32_t half = 0; half < 2; ++half) {
            const Four four = reinterpret_cast<const Four*>(from)[half];
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < 4; ++i) x[4 * half + i] = four.value[i];
        }
        return;
    }
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 8; ++i) x[i] = k + i < o.k ? from[i] : 0.0f;
}

/// Contiguous vectors: `kLanes` lanes take one block of one vector, eight consecutive values each, and a warp as many
/// neighbouring vectors as it has room for. kLanes · 8 values hold the vector, or kLanes is 32.
template <std::uint32_t S, std::uint32_t kLanes, class Index>
__global__ void __launch_bounds__(kThreads)
    contiguous_kernel(Operand o, Divisors<Index> divisors, std::uint64_t total) {
    constexpr std::uint32_t kEach = 8;
    const auto index = static_cast<Index>(block_number() * (kThreads / kLanes) + threadIdx.x / kLanes);
    const std::uint32_t lane = threadIdx.x % kLanes;
    // The vectors of a group are sliced side by side.
    const Index unit = index / kUnitVectors, group = divisors.blocks.quotient(unit);
    const Index row = group * kUnitVectors + index % kUnitVectors, block = unit - group * divisors.blocks.value;
    const Index matrix = divisors.padded.quotient(row), vector = row - matrix * divisors.padded.value;
    const bool real = index < total && vector < o.vectors;
    const std::uint64_t k = std::uint64_t{block} * kBlockK + lane * kEach;
    float x[kEach] = {};
    if (real) load_values(o, std::uint64_t{matrix} * o.vectors + vector, k, x);
    std::uint32_t largest = 0;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint32_t magnitude = to_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    for (std::uint32_t mask = kLanes / 2; mask >= 1; mask /= 2) {
        const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, mask);
        largest = other > largest ? other : largest;
    }
    if (!real) return;
    const Factor factor = store_scale<S>(o, matrix, vector, block, largest, lane == 0);
    if (k >= o.order.chunks * kUnitK) return;
    std::uint32_t low[S], high[S];
    digits_of<S>({x[0], x[1], x[2], x[3]}, factor, low);
    digits_of<S>({x[4], x[5], x[6], x[7]}, factor, high);
    const std::uint64_t at = o.order.unit(matrix, k / kUnitK, vector / kUnitVectors) +
                             piece_offset(static_cast<std::uint32_t>(vector % kUnitVectors),
                                          static_cast<std::uint32_t>(k % kUnitK) / kPiece) +
                             k % kPiece;
    RETRACE_UNROLL
    for (std::uint32_t t = 0; t < S; ++t) {
        struct alignas(8) Two {
            std::uint32_t word[2];
        };
        *reinterpret_cast<Two*>(o.digits + t * o.order.plane + at) = Two{{low[t], high[t]}};
    }
}

/// Returns the index within a block of 256 digits of value i of a thread.
__device__ constexpr std::uint32_t index_in_block(std::uint32_t warp, std::uint32_t i) {
    return (i / 4 * kWarps + warp) * 4 + i % 4;
}

/// Strided vectors: a block takes 32 of them, adjacent in memory, and transposes their digits in shared memory.
template <std::uint32_t S, class Index>
__global__ void __launch_bounds__(kThreads) across_kernel(Operand o, Divisors<Index> divisors) {
    constexpr std::uint32_t kVectors = 32, kEach = kBlockK / kWarps, kRow = kBlockK + 16;
    struct Shared {
        std::int8_t digit[S][kVectors][kRow];
        std::uint32_t largest[kWarps][kVectors];
    };
    Shared& shared = shared_as<Shared>();
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto index = static_cast<Index>(block_number());
    const Index rest = divisors.strips.quotient(index), strip = index - rest * divisors.strips.value;
    const Index of_matrix = divisors.blocks.quotient(rest);
    const std::uint64_t matrix = of_matrix, block = rest - of_matrix * divisors.blocks.value;
    const std::uint64_t vector = std::uint64_t{strip} * kVectors + lane;
    if (matrix >= o.batch) return;
    // A thread takes pieces of four values, so that it writes whole words of digits.
    float x[kEach / 4][4];
    const float* const from = o.x + (matrix * o.k + block * kBlockK) * o.vectors + vector;
    if ((block + 1) * kBlockK <= o.k && vector < o.vectors) {
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kEach; ++i) x[i / 4][i % 4] = from[index_in_block(warp, i) * o.vectors];
    } else {
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kEach; ++i) {
            const std::uint32_t k = index_in_block(warp, i);
            x[i / 4][i % 4] = block * kBlockK + k < o.k && vector < o.vectors ? from[k * o.vectors] : 0.0f;
        }
    }
    std::uint32_t largest = 0;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint32_t magnitude = to_bits(x[i / 4][i % 4]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    shared.largest[warp][lane] = largest;
    __syncthreads();
    RETRACE_UNROLL
    for (std::uint32_t w = 0; w < kWarps; ++w) {
        largest = shared.largest[w][lane] > largest ? shared.largest[w][lane] : largest;
    }
    const Factor factor = store_scale<S>(o, matrix, vector, block, largest, warp == 0 && vector < o.vectors);
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach / 4; ++i) {
        std::uint32_t words[S];
        digits_of<S>(x[i], factor, words);
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < S; ++t)
            *reinterpret_cast<std::uint32_t*>(&shared.digit[t][lane][index_in_block(warp, 4 * i)]) = words[t];
    }
    __syncthreads();
    // Threads that follow each other write pieces of vectors that follow each other: whole units.
    constexpr std::uint32_t kPieces = kUnitK / kPiece;
    for (std::uint32_t i = threadIdx.x; i < S * kVectors * (kBlockK / kPiece); i += kThreads) {
        const std::uint32_t piece = i % kPieces, v = i / kPieces % kVectors;
        const std::uint32_t chunk = i / (kPieces * kVectors) % (kBlockK / kUnitK),
                            t = i / (kVectors * kBlockK / kPiece);
        const std::uint64_t own = std::uint64_t{strip} * kVectors + v,
                            chunk_of_all = block * (kBlockK / kUnitK) + chunk;
        if (own >= o.vectors || chunk_of_all >= o.order.chunks) continue;
        struct alignas(16) Bytes16 {
            std::int8_t byte[16];
        };
        const std::uint64_t at =
            o.order.unit(matrix, chunk_of_all, own / kUnitVectors) + piece_offset(v % kUnitVectors, piece);
        *reinterpret_cast<Bytes16*>(o.digits + t * o.order.plane + at) =
            *reinterpret_cast<const Bytes16*>(&shared.digit[t][v][chunk * kUnitK + piece * kPiece]);
    }
}

template <std::uint32_t S, class Index>
void slice_in(Stream stream, const Operand& o, bool across) {
    const std::uint64_t strips = (o.vectors + 31) / 32, padded = o.order.groups * kUnitVectors;
    const Divisors<Index> by{Divisor<Index>(o.blocks), Divisor<Index>(padded), Divisor<Index>(strips)};
    if (across) {
        const std::uint32_t shared = S * 32 * (kBlockK + 16) + kWarps * 32 * 4;
        return launch(stream, Grid{strips * o.blocks * o.batch, kThreads, shared}, across_kernel<S, Index>, o, by);
    }
    const std::uint64_t total = o.batch * padded * o.blocks;
    if (o.k <= kUnitK) {
        const std::uint64_t blocks = (total + kThreads / 8 - 1) / (kThreads / 8);
        return launch(stream, Grid{blocks, kThreads, 0}, contiguous_kernel<S, 8, Index>, o, by, total);
    }
    const std::uint64_t blocks = (total + kThreads / 32 - 1) / (kThreads / 32);
    launch(stream, Grid{blocks, kThreads, 0}, contiguous_kernel<S, 32, Index>, o, by, total);
}

template <std::uint32_t S>
void slice_as(Stream stream, const Operand& o, bool across) {
    // Numbers of threads' vectors may exceed the total by less than a block's threads and surplus blocks in rows.
    if (o.batch * o.order.groups * kUnitVectors * o.blocks < kShortLimit / 2)
        return slice_in<S, std::uint32_t>(stream, o, across);
    slice_in<S, std::uint64_t>(stream, o, across);
}

}  // namespace

void slice_vectors(Stream stream, Precision precision, const float* x, bool across, std::uint64_t batch,
                   std::uint64_t vectors, std::uint64_t k, Slices out) {
    if (batch == 0 || vectors == 0 || k == 0) return;
    const Operand o{x, out.digits, out.scales, batch, vectors, k, matmul_blocks(k), DigitOrder::of(batch, vectors, k)};
    switch (precision) {
        case Precision::i8x1: return slice_as<1>(stream, o, across);
        case Precision::i8x2: return slice_as<2>(stream, o, across);
        case Precision::i8x3: return slice_as<3>(stream, o, across);
        case Precision::f32: break;
    }
}

}  // namespace retrace::kernels::cuda
