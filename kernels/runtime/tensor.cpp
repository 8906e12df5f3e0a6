// SPDX-License-Identifier: MIT
#include "kernels/runtime/tensor.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/runtime/pages.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::kernels {

std::uint64_t Tensor::elements() const noexcept { return geometry(dims).elements(); }

std::uint32_t Tensor::bits(std::uint64_t element) const noexcept {
    if (size_of(dtype) == 1) return data[element];
    return load_u32(data.data() + 4 * element);
}

Tensor zeros(DType dtype, Dims dims) {
    Tensor out{dtype, std::move(dims), {}};
    const std::uint64_t bytes = out.elements() * size_of(dtype);
    try {
        out.data.resize(bytes);
    } catch (const std::bad_alloc&) {
        throw NoMemory(bytes);
    }
    return out;
}

namespace {

/// Copies rows of `Line` bytes that are `stride` bytes apart; with a constant length each copy is a few moves.
template <std::size_t Line>
void gather_rows_of(const std::uint8_t* data, std::size_t stride, std::uint64_t rows, std::uint8_t* out) {
    for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(out + r * Line, data + r * stride, Line);
}

}  // namespace

void gather_tile(const std::uint8_t* data, std::uint32_t element_size, const Geometry& shape, std::uint64_t tile,
                 std::uint8_t* out) {
    const std::uint64_t row = tile / shape.tile_cols() * 32, col = tile % shape.tile_cols() * 32;
    const std::uint64_t rows = std::min<std::uint64_t>(32, shape.rows - row);
    const std::size_t run = std::min<std::uint64_t>(32, shape.cols - col) * element_size;
    const std::size_t line = 32 * std::size_t{element_size}, stride = shape.cols * element_size;
    const std::uint8_t* from = data + (row * shape.cols + col) * element_size;
    if (run == 128) {
        gather_rows_of<128>(from, stride, rows, out);
    } else if (run == line && line == 32) {
        gather_rows_of<32>(from, stride, rows, out);
    } else {
        for (std::uint64_t r = 0; r < rows; ++r) {
            std::memcpy(out + r * line, from + r * stride, run);
            std::memset(out + r * line + run, 0, line - run);
        }
    }
    if (rows < 32) std::memset(out + rows * line, 0, (32 - rows) * line);
}

Bytes tile_bytes(const Tensor& tensor, std::uint64_t tile) {
    const Geometry shape = geometry(tensor.dims);
    ensure(tile < shape.tiles(), "a tile of the tensor");
    Bytes out(std::size_t{1024} * size_of(tensor.dtype));
    gather_tile(tensor.data.data(), size_of(tensor.dtype), shape, tile, out.data());
    return out;
}

}  // namespace retrace::kernels
