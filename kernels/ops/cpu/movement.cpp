// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

using Index = std::array<std::uint64_t, kRankMax>;

/// A box of `extent` elements to copy between two row-major tensors, each with an offset and strides in elements. The
/// last axis of the box is the inner loop.
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

/// Iterates over the lines of a box along its last axis, in order; it divides once per axis at the start and not
/// afterwards.
class Lines {
public:
    Lines(const Box& box, std::uint64_t first) : box_(box), from(box.from), to(box.to) {
        for (std::size_t i = box.rank - 1; i-- > 0; first /= box.extent[i]) {
            at[i] = first % box.extent[i];
            from += at[i] * box.from_stride[i];
            to += at[i] * box.to_stride[i];
        }
    }
    void next() {
        for (std::size_t i = box_.rank - 1; i-- > 0;) {
            from += box_.from_stride[i];
            to += box_.to_stride[i];
            if (++at[i] < box_.extent[i]) return;
            from -= box_.extent[i] * box_.from_stride[i];
            to -= box_.extent[i] * box_.to_stride[i];
            at[i] = 0;
        }
    }

private:
    const Box& box_;

public:
    std::uint64_t from, to;  ///< Start of the line, in elements.
    Index at{};              ///< Index of the line.
};

template <class T>
void copy_box(const Box& box, const T* from, T* to, ThreadPool& pool) {
    const std::size_t inner = box.rank - 1;
    std::uint64_t lines = 1;
    for (std::size_t i = 0; i < inner; ++i) lines *= box.extent[i];
    const std::uint64_t n = box.extent[inner];
    if (n == 0) return;
    pool.parallel_for(lines, 1 + 16384 / n, [&](std::uint64_t begin, std::uint64_t end) {
        Lines line(box, begin);
        for (std::uint64_t left = end - begin; left != 0; --left, line.next()) {
            const T* source = from + line.from;
            T* target = to + line.to;
            if (box.from_stride[inner] == 1 && box.to_stride[inner] == 1) {
                std::memcpy(target, source, n * sizeof(T));
            } else {
                for (std::uint64_t i = 0; i < n; ++i)
                    target[i * box.to_stride[inner]] = source[i * box.from_stride[inner]];
            }
        }
    });
}

/// Merges axes that are contiguous on both sides.
Box joined(const Box& box) {
    Box out = box;
    out.rank = 0;
    for (std::size_t i = 0; i < box.rank; ++i) {
        if (out.rank > 0) {
            const std::size_t last = out.rank - 1;
            if (out.from_stride[last] == box.extent[i] * box.from_stride[i] &&
                out.to_stride[last] == box.extent[i] * box.to_stride[i]) {
                out.extent[last] *= box.extent[i];
                out.from_stride[last] = box.from_stride[i];
                out.to_stride[last] = box.to_stride[i];
                continue;
            }
        }
        out.extent[out.rank] = box.extent[i];
        out.from_stride[out.rank] = box.from_stride[i];
        out.to_stride[out.rank] = box.to_stride[i];
        ++out.rank;
    }
    return out;
}

constexpr std::uint64_t kTurned = 64;  ///< Elements along the axis that is dense in the input.

/// Copies a box whose last axis is dense in the output and whose axis `dense` is dense in the input; both are traversed
/// in pieces that stay in the first-level cache.
template <class T>
void turn_box(const Box& box, std::size_t dense, const T* from, T* to, ThreadPool& pool) {
    const std::size_t inner = box.rank - 1;
    Box outer = box;
    outer.extent[inner] = 1;
    outer.extent[dense] = (box.extent[dense] + kTurned - 1) / kTurned;
    outer.from_stride[dense] = kTurned * box.from_stride[dense];
    outer.to_stride[dense] = kTurned * box.to_stride[dense];
    std::uint64_t pieces = 1;
    for (std::size_t i = 0; i < inner; ++i) pieces *= outer.extent[i];
    const std::uint64_t n = box.extent[inner], step = box.from_stride[inner], line = box.to_stride[dense];
    pool.parallel_for(pieces, 1 + 16384 / (n * kTurned), [&](std::uint64_t begin, std::uint64_t end) {
        Lines piece(outer, begin);
        for (std::uint64_t left = end - begin; left != 0; --left, piece.next()) {
            const T* source = from + piece.from;
            T* target = to + piece.to;
            const std::uint64_t count = std::min(kTurned, box.extent[dense] - piece.at[dense] * kTurned);
            for (std::uint64_t i = 0; i < n; ++i) {
                for (std::uint64_t j = 0; j < count; ++j) target[j * line + i] = source[i * step + j];
            }
        }
    });
}

template <class T>
void move_box(const Box& whole, const T* from, T* to, ThreadPool& pool) {
    const Box box = joined(whole);
    for (std::size_t i = 0; i < box.rank; ++i) {
        if (box.extent[i] == 0) return;
    }
    const std::size_t inner = box.rank - 1;
    for (std::size_t i = 0; i < inner && box.to_stride[inner] == 1; ++i) {
        if (box.from_stride[inner] != 1 && box.from_stride[i] == 1) return turn_box(box, i, from, to, pool);
    }
    copy_box(box, from, to, pool);
}

void run_box(const Box& box, std::uint32_t size, const std::uint8_t* from, std::uint8_t* to, ThreadPool& pool) {
    if (size == 1) {
        move_box(box, from, to, pool);
    } else {
        move_box(box, reinterpret_cast<const std::uint32_t*>(from), reinterpret_cast<std::uint32_t*>(to), pool);
    }
}

/// Returns the box that covers all of `dims` with the given strides; rank 0 is one element.
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
