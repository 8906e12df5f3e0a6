// SPDX-License-Identifier: MIT
// Copies of boxes between strided places: permute, slice, concatenate, pad; and fills.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {
namespace {

/// `Index` counts the box's elements: divisions of 32 bits are several times as fast as those of 64.
template <class T, class Index>
__global__ void box_kernel(BoxCopy box, const T* from, T* to, std::uint64_t elements) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    Index rest = static_cast<Index>(element);
    std::uint64_t source = box.from, target = box.to;
    RETRACE_UNROLL
    for (std::uint32_t i = 6; i-- > 0;) {
        if (i >= box.rank) continue;
        const Index extent = static_cast<Index>(box.extent[i]);
        const Index at = rest % extent;
        rest /= extent;
        source += at * box.from_stride[i];
        target += at * box.to_stride[i];
    }
    to[target] = from[source];
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

template <class T>
void copy_as(Stream stream, const BoxCopy& box, const T* from, T* to) {
    std::uint64_t elements = 1;
    for (std::uint32_t i = 0; i < box.rank; ++i) elements *= box.extent[i];
    const bool small = elements <= 0xffffffffu;
    launch(stream, grid_for(elements), small ? box_kernel<T, std::uint32_t> : box_kernel<T, std::uint64_t>, box, from,
           to, elements);
}

}  // namespace

void copy_box(Stream stream, std::uint32_t size, const BoxCopy& box, const std::uint8_t* from, std::uint8_t* to) {
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
