// SPDX-License-Identifier: MIT
// The order of an operand's digits in device memory: that of shared memory, so that a product fetches its part of a
// tile as one run of bytes. A unit holds 64 digits along K of eight vectors, 64 bytes each, with its pieces of 16 bytes
// swizzled as wgmma's 64-byte mode asks; the units of neighbouring vectors follow each other.
#pragma once

#include <cstdint>

#include "kernels/cuda/kernels.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::cuda {

inline constexpr std::uint32_t kPiece = 16;                    ///< Bytes that keep their order.
inline constexpr std::uint32_t kUnitK = kPadK;                 ///< Digits of one vector in a unit.
inline constexpr std::uint32_t kUnitVectors = kPadVectors;     ///< Vectors of a unit.
inline constexpr std::uint32_t kUnit = kUnitK * kUnitVectors;  ///< Bytes of a unit.

/// Returns the offset in a unit, or in units that follow each other, of piece `piece` (0 to 3) of vector `vector`.
RETRACE_FN std::uint32_t piece_offset(std::uint32_t vector, std::uint32_t piece) {
    return vector * kUnitK + (piece ^ vector / 2 % 4) * kPiece;
}

/// Returns wgmma's descriptor of units that follow each other from a shared address on: `kUnit` bytes between groups of
/// eight vectors, 64-byte swizzle.
RETRACE_FN std::uint64_t descriptor_at(std::uint32_t address) {
    const std::uint64_t start = (address & 0x3ffff) >> 4;
    return start | std::uint64_t{1} << 16 | std::uint64_t{kUnit >> 4} << 32 | std::uint64_t{2} << 62;
}

/// The units of one operand: plane after plane, matrix after matrix, chunk of K after chunk, group of vectors after group.
struct DigitOrder {
    std::uint64_t groups = 0, chunks = 0;  ///< Units along the vectors and along K of each matrix.
    std::uint64_t plane = 0;               ///< Bytes of a plane, which holds one digit of every value.

    static DigitOrder of(std::uint64_t batch, std::uint64_t vectors, std::uint64_t k) {
        const std::uint64_t groups = padded_vectors(vectors) / kUnitVectors, chunks = padded_k(k) / kUnitK;
        return DigitOrder{groups, chunks, batch * groups * chunks * kUnit};
    }
    /// Returns the offset of a unit in a plane.
    __device__ std::uint64_t unit(std::uint64_t matrix, std::uint64_t chunk, std::uint64_t group) const {
        return ((matrix * chunks + chunk) * groups + group) * kUnit;
    }
    /// Returns the offset of the scale of a vector's block of 256 digits; `blocks` is their number along K.
    __device__ std::uint64_t scale(std::uint64_t matrix, std::uint64_t blocks, std::uint64_t block,
                                   std::uint64_t vector) const {
        return (matrix * blocks + block) * groups * kUnitVectors + vector;
    }
};

}  // namespace retrace::kernels::cuda
