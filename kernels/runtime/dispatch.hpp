// SPDX-License-Identifier: MIT
// Which instruction sets this machine has and which one the fast kernels use. Results never depend on it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace retrace::kernels {

/// Ascending within an architecture: each level includes those before it, except that AVX-VNNI is part of none.
enum class CpuLevel : std::uint8_t {
    scalar = 1,   ///< The reference loops.
    avx2 = 2,     ///< AVX2 and FMA.
    avxvnni = 3,  ///< AVX-VNNI: bytes by 256 bits, on processors without AVX-512.
    avx512 = 4,   ///< AVX-512 F, BW, VL, DQ.
    vnni = 5,     ///< AVX-512 VNNI.
    amx = 6,      ///< AMX int8 tiles.
    neon = 7,     ///< What every 64-bit ARM processor has.
    dotprod = 8,  ///< FEAT_DotProd: sdot.
    i8mm = 9,     ///< FEAT_I8MM: smmla.
};

std::string_view name_of(CpuLevel level) noexcept;

/// Returns every level that the processor and the operating system support, ascending; at least `scalar`.
std::vector<CpuLevel> cpu_levels();

/// The level in use: the highest, or the one that the environment variable RETRACE_CPU names (name_of). An unknown or
/// missing level ends the process with status 2, because a silent substitute would make a test of that level worthless.
/// Read once.
CpuLevel cpu_level();

}  // namespace retrace::kernels
