// SPDX-License-Identifier: MIT
// Random values that are likely to reveal errors in kernels.
#pragma once

#include <array>
#include <random>

#include "kernels/runtime/tensor.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::testing {

// Zeros, NaN with payloads, infinities, subnormals, extremes, and bounds of conversions and of exp.
inline constexpr std::uint32_t kFloats[] = {
    0x00000000, 0x80000000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff800001, 0x7f800000, 0xff800000, 0x00000001,
    0x80000001, 0x807fffff, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000,
    0x3f000000, 0x5f000000, 0xdf000000, 0x42b00000, 0x4f000000, 0xcf000000, 0x4effffff, 0x4b000000, 0x4b800001,
    0x1f800000, 0x20000000, 0x00ffffff, 0x33800000, 0x3f7fffff, 0x3f800001};
inline constexpr std::uint32_t kIntegers[] = {0x80000000, 0x7fffffff, 0xffffffff, 0,        1,
                                              2,          3,          0x80000001, 16777217, 0x7fffff80};

class AnyValues {
public:
    explicit AnyValues(std::uint64_t seed) : random_(seed) {}

    std::mt19937_64& random() { return random_; }
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    /// 0: around one; 1: all magnitudes; 2: special; 3: any bits; 4: few distinct values, so that there are ties.
    std::uint32_t float_bits(std::uint64_t kind) {
        if (kind == 3) return static_cast<std::uint32_t>(random_());
        if (kind == 2 && below(3) != 0) return kFloats[below(std::size(kFloats))];
        if (kind == 4) return to_bits(std::array{-1.0F, 0.0F, -0.0F, 1.0F, 2.0F}[below(5)]);
        float value = 0;
        for (int i = 0; i < 4; ++i) value += static_cast<float>(below(65536)) - 32767.5F;
        value *= 0x1p-16F;
        if (kind == 1) value *= from_bits(static_cast<std::uint32_t>(67 + below(120)) << 23);
        return to_bits(value);
    }

    std::uint32_t integer_bits() {
        if (below(3) == 0) return kIntegers[below(std::size(kIntegers))];
        return below(4) == 0 ? static_cast<std::uint32_t>(random_()) : static_cast<std::uint32_t>(below(12)) - 2;
    }

    Tensor tensor(DType dtype, const Dims& dims, std::uint64_t kind) {
        Tensor out = zeros(dtype, dims);
        for (std::uint64_t i = 0; i < out.elements(); ++i) {
            if (dtype == DType::f32)
                store_u32(out.data.data() + 4 * i, float_bits(kind));
            else if (dtype == DType::i32)
                store_u32(out.data.data() + 4 * i, integer_bits());
            else
                out.data[i] = static_cast<std::uint8_t>(dtype == DType::boolean ? below(2) : below(256));
        }
        return out;
    }

private:
    std::mt19937_64 random_;
};

}  // namespace retrace::kernels::testing
