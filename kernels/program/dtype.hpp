// SPDX-License-Identifier: MIT
// Also included by CUDA sources, which are C++17.
#pragma once

#include <cstdint>

namespace retrace::kernels {

/// Wire-stable (contract 6.2); 5 is reserved.
enum class DType : std::uint8_t { f32 = 1, i8 = 2, u8 = 3, i32 = 4, boolean = 6 };
std::uint32_t size_of(DType dtype) noexcept;

}  // namespace retrace::kernels
