// SPDX-License-Identifier: MIT
// Copies of boxes between strided places: permute, slice, concatenate, pad; and fills.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/divisor.hpp"
#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {
namespace {

/// The axes of a box, of which one may be left out.
template <class Index>
struct Axes {
    std::uint32_t rank = 0;
    Divisor<Index> extent[6];
    std::uint64_t from_stride[6] = {}, to_stride[6] = {};
    std::uint64_t from = 0, to = 0;

    void add(const BoxCopy& box, std::uint32_t axis) {
        extent[rank] = Divisor<Index>(box.extent[axis]);
        from_stride[rank] = box.from_stride[axis];
        to_stride[rank++] = box.to_stride[axis];
    }
};

struct Place {
    std::uint64_t from, to;
};

/// Returns the places of element `rest`; the first axis needs no division.
template <class Index>
__device__ Place place_of(const Axes<Index>& axes, Index rest) {
    Place at{axes.from, axes.to};
    RETRACE_UNROLL
    for (std::uint32_t i = 6; i-- > 1;) {
        if (i >= axes.rank) continue;
        const Index above = axes.extent[i].quotient(rest), here = rest - above * axes.extent[i].value;
        rest = above;
        at.from += here * axes.from_stride[i];
        at.to += here * axes.to_stride[i];
    }
    at.from += rest * axes.from_stride[0];
    at.to += rest * axes.to_stride[0];
    return at;
}

template <class T, class Index>
__global__ void box_kernel(Axes<Index> axes, const T* from, T* to, std::uint64_t elements) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const Place at = place_of(axes, static_cast<Index>(element));
    to[at.to] = from[at.from];
}

constexpr std::uint32_t kSide = 32, kRowsAtOnce = kThreads / kSide;

/// A box whose `source` axis is adjacent in the source, and whose `target` axis is adjacent in the target.
template <class Index>
struct Transposition {
    Axes<Index> others;
    Divisor<Index> tiles_source, tiles_target;  ///< Tiles along both axes.
    std::uint64_t source = 0, target = 0;       ///< Extents.
    std::uint64_t source_stride = 0;            ///< From one element of the source axis to the next, in the target.
    std::uint64_t target_stride = 0;            ///< The other way round.
};

template <class T>
struct TransposedTile {
    T at[kSide][kSide + 1];  // the column more spreads a column over the banks
};

/// A tile goes through shared memory, so that both places are accessed along their rows.
template <class T, class Index>
__global__ void transpose_kernel(Transposition<Index> t, const T* from, T* to, std::uint64_t tiles) {
    if (block_number() >= tiles) return;
    const Index block = static_cast<Index>(block_number());
    const Index above = t.tiles_source.quotient(block), outer = t.tiles_target.quotient(above);
    const std::uint64_t source = std::uint64_t{block - above * t.tiles_source.value} * kSide;
    const std::uint64_t target = std::uint64_t{above - outer * t.tiles_target.value} * kSide;
    const Place at = place_of(t.others, outer);
    const std::uint32_t lane = threadIdx.x % kSide, first = threadIdx.x / kSide;
    TransposedTile<T>& tile = shared_as<TransposedTile<T>>();
    for (std::uint32_t i = first; i < kSide; i += kRowsAtOnce) {
        if (source + lane < t.source && target + i < t.target)
            tile.at[i][lane] = from[at.from + source + lane + (target + i) * t.target_stride];
    }
    __syncthreads();
    for (std::uint32_t i = first; i < kSide; i += kRowsAtOnce) {
        if (source + i < t.source && target + lane < t.target)
            to[at.to + target + lane + (source + i) * t.source_stride] = tile.at[lane][i];
    }
}

template <class T>
__global__ void fill_kernel(T* out, std::uint64_t elements, T bits) {
    const std::uint64_t element = global_thread();
    if (element < elements) out[element] = bits;
}

struct alignas(16) Sixteen {
    std::uint32_t word[4];
};

/// Returns the box in pieces of 16 bytes, or a box of rank 0 if its innermost rows are not whole pieces in both places.
/// Tensors begin at multiples of 16 bytes.
BoxCopy in_pieces(BoxCopy box, std::uint32_t size) {
    const std::uint64_t each = sizeof(Sixteen) / size;
    const auto divides = [&](std::uint64_t& value) { return value % each == 0 && (value /= each, true); };
    const std::uint32_t last = box.rank - 1;
    bool whole = box.rank != 0 && box.from_stride[last] == 1 && box.to_stride[last] == 1 && divides(box.extent[last]) &&
                 divides(box.from) && divides(box.to);
    for (std::uint32_t i = 0; whole && i < last; ++i) whole = divides(box.from_stride[i]) && divides(box.to_stride[i]);
    return whole ? box : BoxCopy{};
}

/// Returns the box without axes of extent 1, and with neighbours as one where they are one row in both places.
BoxCopy merged(const BoxCopy& box) {
    BoxCopy out;
    out.from = box.from;
    out.to = box.to;
    for (std::uint32_t i = 0; i < box.rank; ++i) {
        if (box.extent[i] == 1) continue;
        const bool one_row = out.rank != 0 && out.from_stride[out.rank - 1] == box.extent[i] * box.from_stride[i] &&
                             out.to_stride[out.rank - 1] == box.extent[i] * box.to_stride[i];
        const std::uint32_t axis = one_row ? out.rank - 1 : out.rank++;
        out.extent[axis] = (one_row ? out.extent[axis] : 1) * box.extent[i];
        out.from_stride[axis] = box.from_stride[i];
        out.to_stride[axis] = box.to_stride[i];
    }
    return out;
}

/// Shorter axes leave most of a tile empty.
constexpr std::uint64_t kShortestTransposed = 8;

/// Returns the axis, of at least kShortestTransposed elements, whose elements are adjacent; `rank` if there is none.
std::uint32_t adjacent_axis(const BoxCopy& box, const std::uint64_t (&stride)[6]) {
    for (std::uint32_t i = 0; i < box.rank; ++i) {
        if (stride[i] == 1 && box.extent[i] >= kShortestTransposed) return i;
    }
    return box.rank;
}

template <class T, class Index>
void copy_with(Stream stream, const BoxCopy& box, std::uint64_t elements, const T* from, T* to) {
    const std::uint32_t source = adjacent_axis(box, box.from_stride), target = adjacent_axis(box, box.to_stride);
    const bool transposed = source != box.rank && target != box.rank && source != target;
    Axes<Index> axes;
    axes.from = box.from;
    axes.to = box.to;
    std::uint64_t outer = 1;
    for (std::uint32_t i = 0; i < box.rank; ++i) {
        if (transposed && (i == source || i == target)) continue;
        axes.add(box, i);
        outer *= box.extent[i];
    }
    if (!transposed) return launch(stream, grid_for(elements), box_kernel<T, Index>, axes, from, to, elements);
    const auto tiles = [](std::uint64_t extent) { return (extent + kSide - 1) / kSide; };
    Transposition<Index> t;
    t.others = axes;
    t.source = box.extent[source];
    t.target = box.extent[target];
    t.tiles_source = Divisor<Index>(tiles(t.source));
    t.tiles_target = Divisor<Index>(tiles(t.target));
    t.source_stride = box.to_stride[source];
    t.target_stride = box.from_stride[target];
    const std::uint64_t blocks = outer * tiles(t.source) * tiles(t.target);
    launch(stream, Grid{blocks, kThreads, sizeof(TransposedTile<T>)}, transpose_kernel<T, Index>, t, from, to, blocks);
}

template <class T>
void copy_as(Stream stream, const BoxCopy& box, const T* from, T* to) {
    std::uint64_t elements = 1;
    for (std::uint32_t i = 0; i < box.rank; ++i) elements *= box.extent[i];
    if (elements == 0) return;
    if (elements < kShortLimit) return copy_with<T, std::uint32_t>(stream, box, elements, from, to);
    copy_with<T, std::uint64_t>(stream, box, elements, from, to);
}

}  // namespace

void copy_box(Stream stream, std::uint32_t size, const BoxCopy& given, const std::uint8_t* from, std::uint8_t* to) {
    const BoxCopy box = merged(given);
    if (const BoxCopy pieces = in_pieces(box, size); pieces.rank != 0) {
        return copy_as(stream, pieces, reinterpret_cast<const Sixteen*>(from), reinterpret_cast<Sixteen*>(to));
    }
    if (size == 1) return copy_as(stream, box, from, to);
    copy_as(stream, box, reinterpret_cast<const std::uint32_t*>(from), reinterpret_cast<std::uint32_t*>(to));
}

void fill_bits(Stream stream, std::uint32_t size, std::uint8_t* out, std::uint64_t elements, std::uint32_t bits) {
    if (size == 1) {
        launch(stream, grid_for(elements), fill_kernel<std::uint8_t>, out, elements,
               static_cast<std::uint8_t>(bits & 0xff));
    } else {
        launch(stream, grid_for(elements), fill_kernel<std::uint32_t>, reinterpret_cast<std::uint32_t*>(out), elements,
               bits);
    }
}

}  // namespace retrace::kernels::cuda
