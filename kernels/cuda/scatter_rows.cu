// SPDX-License-Identifier: MIT
// The gradient of rows by index (scatter_add_rows) in the contract's order, without atomics and in time linear in
// tokens and rows: a stable radix sort makes every row's tokens adjacent, ascending; then a thread walks the tokens of
// its element's row.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint64_t kLink = 256;            ///< Tokens of one link of the chain.
constexpr std::uint32_t kDigitBits = 8;         ///< Bits per pass of the sort.
constexpr std::uint64_t kMostSorters = 1024;    ///< Maximum blocks of a pass.
constexpr std::uint32_t kNoDigit = 0xffffffff;  ///< Marks a place beyond the last token.
static_assert(1u << kDigitBits == kThreads, "a thread looks after one digit");

/// Indices are signed 32-bit numbers, so rows from here on have no token.
constexpr std::uint64_t kMostKeys = std::uint64_t{1} << 31;

/// A row's tokens: a range of places in the sorted order.
struct Span {
    std::uint64_t begin, end;
};

/// Shared by the kernels of the sort. Keys are rows below `rows`; the key `rows` is that of tokens without a row.
struct Sort {
    const std::int32_t* index;
    std::uint64_t tokens;
    std::uint32_t rows;
    std::uint64_t each;  ///< Tokens per block, a multiple of kThreads.

    __device__ std::uint32_t key(std::uint64_t token) const {
        const auto row = static_cast<std::uint32_t>(index[token]);
        return row < rows ? row : rows;
    }
};

/// The token that a thread handles in a pass over order `from` (null: the original order), and its digit.
struct Item {
    std::uint64_t token;
    std::uint32_t digit;
};
__device__ Item item_at(const Sort& sort, const std::uint64_t* from, std::uint64_t at, std::uint64_t end,
                        std::uint32_t shift) {
    if (at >= end) return Item{0, kNoDigit};
    const std::uint64_t token = from != nullptr ? from[at] : at;
    return Item{token, sort.key(token) >> shift & (kThreads - 1)};
}

/// Counts the tokens of the block for each digit.
__global__ void __launch_bounds__(kThreads)
    count_kernel(Sort sort, const std::uint64_t* from, std::uint32_t shift, std::uint64_t* counts) {
    struct Shared {
        std::uint32_t digit[kThreads];
    };
    Shared& shared = shared_as<Shared>();
    const std::uint64_t begin = block_number() * sort.each;
    if (begin >= sort.tokens) return;
    const std::uint64_t end = smaller(sort.tokens, begin + sort.each);
    std::uint64_t count = 0;
    for (std::uint64_t first = begin; first < end; first += kThreads) {
        shared.digit[threadIdx.x] = item_at(sort, from, first + threadIdx.x, end, shift).digit;
        __syncthreads();
        for (std::uint32_t i = 0; i < kThreads; ++i) count += shared.digit[i] == threadIdx.x ? 1 : 0;
        __syncthreads();
    }
    counts[block_number() * kThreads + threadIdx.x] = count;
}

/// Turns counts into places: a digit's tokens come after those of all smaller digits and, within the digit, in the
/// order of blocks.
__global__ void __launch_bounds__(kThreads) places_kernel(std::uint64_t* counts, std::uint64_t blocks) {
    struct Shared {
        std::uint64_t total[kThreads];
    };
    Shared& shared = shared_as<Shared>();
    if (block_number() != 0) return;
    std::uint64_t total = 0;
    for (std::uint64_t b = 0; b < blocks; ++b) total += counts[b * kThreads + threadIdx.x];
    shared.total[threadIdx.x] = total;
    __syncthreads();
    std::uint64_t place = 0;
    for (std::uint32_t digit = 0; digit < threadIdx.x; ++digit) place += shared.total[digit];
    for (std::uint64_t b = 0; b < blocks; ++b) {
        const std::uint64_t count = counts[b * kThreads + threadIdx.x];
        counts[b * kThreads + threadIdx.x] = place;
        place += count;
    }
}

/// Moves each token to the next place of its digit, in the original order.
__global__ void __launch_bounds__(kThreads) sort_kernel(Sort sort, const std::uint64_t* from, std::uint32_t shift,
                                                        const std::uint64_t* places, std::uint64_t* to) {
    struct Shared {
        std::uint64_t next[kThreads];
        std::uint32_t digit[kThreads];
    };
    Shared& shared = shared_as<Shared>();
    const std::uint64_t begin = block_number() * sort.each;
    if (begin >= sort.tokens) return;
    const std::uint64_t end = smaller(sort.tokens, begin + sort.each);
    shared.next[threadIdx.x] = places[block_number() * kThreads + threadIdx.x];
    for (std::uint64_t first = begin; first < end; first += kThreads) {
        const Item item = item_at(sort, from, first + threadIdx.x, end, shift);
        shared.digit[threadIdx.x] = item.digit;
        __syncthreads();
        std::uint32_t before = 0, own = 0;  // earlier tokens of this digit; tokens of this thread's digit
        for (std::uint32_t i = 0; i < kThreads; ++i) {
            const std::uint32_t digit = shared.digit[i];
            before += digit == item.digit && i < threadIdx.x ? 1 : 0;
            own += digit == threadIdx.x ? 1 : 0;
        }
        if (item.digit != kNoDigit) to[shared.next[item.digit] + before] = item.token;
        __syncthreads();
        shared.next[threadIdx.x] += own;
    }
}

/// Finds where every row's tokens begin and end; rows without tokens keep {0, 0}.
__global__ void spans_kernel(Sort sort, const std::uint64_t* order, Span* spans) {
    const std::uint64_t at = global_thread();
    if (at >= sort.tokens) return;
    const std::uint32_t row = sort.key(order[at]);
    if (row == sort.rows) return;
    if (at == 0 || sort.key(order[at - 1]) != row) spans[row].begin = at;
    if (at + 1 == sort.tokens || sort.key(order[at + 1]) != row) spans[row].end = at + 1;
}

/// Computes one element of the result. Links without a token of its row are skipped, because they add +0 to a carried
/// value that is never -0.
__global__ void sum_kernel(const float* values, const std::uint64_t* order, const Span* spans, float* out,
                           std::uint64_t keys, std::uint64_t width, std::uint64_t elements) {
    constexpr std::uint32_t kAtOnce = 8;  // loads in flight together
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const std::uint64_t row = element / width, col = element % width;
    const Span span = row < keys ? spans[row] : Span{0, 0};
    float carried = 0.0f, sum = 0.0f;
    std::uint64_t link = 0;
    for (std::uint64_t at = span.begin; at < span.end; at += kAtOnce) {
        const std::uint64_t count = smaller<std::uint64_t>(kAtOnce, span.end - at);
        std::uint64_t token[kAtOnce];
        float value[kAtOnce];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kAtOnce; ++i) token[i] = i < count ? order[at + i] : 0;
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kAtOnce; ++i) value[i] = i < count ? values[token[i] * width + col] : 0.0f;
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kAtOnce; ++i) {
            if (i >= count) continue;
            if (token[i] / kLink != link) {
                carried = canonical_nan(carried + sum);
                sum = 0.0f;
                link = token[i] / kLink;
            }
            sum += value[i];
        }
    }
    out[element] = finish(canonical_nan(carried + sum));
}

/// Offsets in the workspace, multiples of 256.
struct Space {
    std::uint64_t keys, passes, blocks, each;
    std::uint64_t spans, order[2], counts, bytes;
};

Space space_of(std::uint64_t tokens, std::uint64_t rows) {
    const auto aligned = [](std::uint64_t bytes) { return (bytes + 255) / 256 * 256; };
    Space space{};
    space.keys = rows < kMostKeys ? rows : kMostKeys;
    for (std::uint64_t rest = space.keys; rest != 0; rest >>= kDigitBits) ++space.passes;
    const std::uint64_t rounds = (tokens + kThreads - 1) / kThreads;
    space.each = (rounds + kMostSorters - 1) / kMostSorters * kThreads;
    space.blocks = tokens == 0 ? 0 : (tokens + space.each - 1) / space.each;
    space.order[0] = space.spans + aligned(space.keys * sizeof(Span));
    space.order[1] = space.order[0] + aligned(8 * tokens);
    space.counts = space.order[1] + (space.passes > 1 ? aligned(8 * tokens) : 0);
    space.bytes = space.counts + 8 * kThreads * space.blocks;
    return space;
}

}  // namespace

std::uint64_t scatter_bytes(std::uint64_t tokens, std::uint64_t rows) { return space_of(tokens, rows).bytes; }

void scatter_add_on_device(Stream stream, const float* values, const std::int32_t* index, float* out,
                           std::uint64_t tokens, std::uint64_t width, std::uint64_t rows, std::uint8_t* workspace) {
    const Space space = space_of(tokens, rows);
    const Sort sort{index, tokens, static_cast<std::uint32_t>(space.keys), space.each};
    auto* const spans = reinterpret_cast<Span*>(workspace + space.spans);
    auto* const counts = reinterpret_cast<std::uint64_t*>(workspace + space.counts);
    const Grid sorters{space.blocks, kThreads, kThreads * 4};
    const std::uint64_t* order = nullptr;
    for (std::uint32_t pass = 0; pass < space.passes && tokens != 0; ++pass) {
        const std::uint32_t shift = pass * kDigitBits;
        auto* const to = reinterpret_cast<std::uint64_t*>(workspace + space.order[pass % 2]);
        launch(stream, sorters, count_kernel, sort, order, shift, counts);
        launch(stream, Grid{1, kThreads, kThreads * 8}, places_kernel, counts, space.blocks);
        launch(stream, Grid{space.blocks, kThreads, kThreads * 12}, sort_kernel, sort, order, shift, counts, to);
        order = to;
    }
    fill_bits(stream, 4, reinterpret_cast<std::uint8_t*>(spans), space.keys * sizeof(Span) / 4, 0);
    launch(stream, grid_for(tokens), spans_kernel, sort, order, spans);
    launch(stream, grid_for(rows * width), sum_kernel, values, order, spans, out, space.keys, width, rows * width);
}

}  // namespace retrace::kernels::cuda
