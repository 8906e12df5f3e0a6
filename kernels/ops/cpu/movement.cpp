// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

using Index = std::array<std::uint64_t, kRankMax>;

/// Copies a box of `extent` elements between two row-major tensors, each entered at its offset with its strides (in
/// elements). The last axis of the box is the inner loop.
struct Box {
    std::size_t rank = 0;
    Index extent{}, from_stride{}, to_stride{};
    std::uint64_t from = 0, to = 0;
};

Index strides_of(const Dims& dims) {
    Index strides{};
    std::uint64_t stride = 1;
    for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
    return strides;
}

template <class T>
void copy_box(const Box& box, const T* from, T* to, ThreadPool& pool) {
    const std::size_t inner = box.rank - 1;
    std::uint64_t lines = 1;
    for (std::size_t i = 0; i < inner; ++i) lines *= box.extent[i];
    const std::uint64_t n = box.extent[inner];
    if (n == 0) return;
    pool.parallel_for(lines, 1 + 16384 / n, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t line = begin; line < end; ++line) {
            const T* source = from + box.from;
            T* target = to + box.to;
            std::uint64_t rest = line;
            for (std::size_t i = inner; i-- > 0; rest /= box.extent[i]) {
                source += rest % box.extent[i] * box.from_stride[i];
                target += rest % box.extent[i] * box.to_stride[i];
            }
            if (box.from_stride[inner] == 1 && box.to_stride[inner] == 1) {
                std::memcpy(target, source, n * sizeof(T));
            } else {
                for (std::uint64_t i = 0; i < n; ++i)
                    target[i * box.to_stride[inner]] = source[i * box.from_stride[inner]];
            }
        }
    });
}

void run_box(const Box& box, std::uint32_t size, const std::uint8_t* from, std::uint8_t* to, ThreadPool& pool) {
    if (size == 1) {
        copy_box(box, from, to, pool);
    } else {
        copy_box(box, reinterpret_cast<const std::uint32_t*>(from), reinterpret_cast<std::uint32_t*>(to), pool);
    }
}

/// The box of the whole of `dims`, both sides contiguous with the given strides; rank 0 is one element.
Box box_of(const Dims& dims, const Index& from, const Index& to) {
    Box box{dims.size(), {}, from, to, 0, 0};
    for (std::size_t i = 0; i < dims.size(); ++i) box.extent[i] = dims[i];
    if (box.rank == 0) {
        box.rank = 1;
        box.extent[0] = box.from_stride[0] = box.to_stride[0] = 1;
    }
    return box;
}

}  // namespace

void run_reshape(const OpCall& call) {
    const std::uint64_t bytes = elements_of(call.facts.output) * size_of(call.facts.output.dtype);
    call.pool.parallel_for(bytes, 1 << 16, [&](std::uint64_t begin, std::uint64_t end) {
        std::memcpy(call.output + begin, call.inputs[0] + begin, end - begin);
    });
}

void run_permute(const OpCall& call) {
    const Index input = strides_of(call.facts.inputs[0].dims);
    Index from{};
    for (std::size_t i = 0; i < call.facts.output.dims.size(); ++i) from[i] = input[call.facts.op.attributes[i]];
    const Box box = box_of(call.facts.output.dims, from, strides_of(call.facts.output.dims));
    run_box(box, size_of(call.facts.output.dtype), call.inputs[0], call.output, call.pool);
}

void run_slice(const OpCall& call) {
    const Index from = strides_of(call.facts.inputs[0].dims);
    Box box = box_of(call.facts.output.dims, from, strides_of(call.facts.output.dims));
    for (std::size_t i = 0; i < call.facts.output.dims.size(); ++i) box.from += call.facts.op.attributes[i] * from[i];
    run_box(box, size_of(call.facts.output.dtype), call.inputs[0], call.output, call.pool);
}

void run_concat(const OpCall& call) {
    const std::uint64_t axis = call.facts.op.attributes[0];
    const Index to = strides_of(call.facts.output.dims);
    std::uint64_t at = 0;
    for (std::size_t slot = 0; slot < call.inputs.size(); ++slot) {
        const Dims& dims = call.facts.inputs[slot].dims;
        Box box = box_of(dims, strides_of(dims), to);
        box.to = at * to[axis];
        run_box(box, size_of(call.facts.output.dtype), call.inputs[slot], call.output, call.pool);
        at += dims[axis];
    }
}

void run_pad(const OpCall& call) {
    run_fill_bits(call, static_cast<std::uint32_t>(call.facts.op.attributes.back()));
    const Dims& dims = call.facts.inputs[0].dims;
    const Index to = strides_of(call.facts.output.dims);
    Box box = box_of(dims, strides_of(dims), to);
    for (std::size_t i = 0; i < dims.size(); ++i) box.to += call.facts.op.attributes[i] * to[i];
    run_box(box, size_of(call.facts.output.dtype), call.inputs[0], call.output, call.pool);
}

}  // namespace retrace::kernels
