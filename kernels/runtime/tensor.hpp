// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/program/program.hpp"
#include "merkle/base/codec.hpp"

namespace retrace::kernels {

/// A dense row-major tensor of little-endian elements; `data` has size_of(dtype) × elements bytes and no guaranteed
/// alignment (the executor aligns its own buffers to 64 bytes).
struct Tensor {
    DType dtype = DType::f32;
    Dims dims;
    Bytes data;
    bool operator==(const Tensor&) const = default;

    std::uint64_t elements() const noexcept;
    const float* f32() const noexcept { return reinterpret_cast<const float*>(data.data()); }
    float* f32() noexcept { return reinterpret_cast<float*>(data.data()); }
    const std::int32_t* i32() const noexcept { return reinterpret_cast<const std::int32_t*>(data.data()); }
    /// Returns the element's bits, zero-extended (fp32 bits; i32 in two's complement; i8, u8 and bool as bytes).
    std::uint32_t bits(std::uint64_t element) const noexcept;
};
/// Throws NoMemory (runtime/pages.hpp).
Tensor zeros(DType dtype, Dims dims);

/// Returns tile `tile` of the tensor: 1024 elements, padded with zero bytes at the edges; size_of(dtype) × 1024 bytes.
Bytes tile_bytes(const Tensor& tensor, std::uint64_t tile);
/// The same for elements in memory: writes 1024 × element_size bytes.
void gather_tile(const std::uint8_t* data, std::uint32_t element_size, const Geometry& shape, std::uint64_t tile,
                 std::uint8_t* out);

/// The state at a step boundary: the state tensors in program order and the number of the next step.
struct State {
    std::uint64_t step = 0;
    std::vector<Tensor> tensors;
    bool operator==(const State&) const = default;
};

}  // namespace retrace::kernels
