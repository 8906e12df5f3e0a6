// SPDX-License-Identifier: MIT
// SHA-256 of two messages at a time. The round instruction of x86 has a latency of four cycles, but another one can
// start after two, so two independent messages cost little more than one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace retrace::kernels {

/// Digests of two messages of `blocks` blocks of 64 bytes each, already padded (FIPS 180-4, 5.1.1).
using HashPair = void (*)(const std::uint8_t* first, const std::uint8_t* second, std::size_t blocks,
                          std::uint8_t first_digest[32], std::uint8_t second_digest[32]);

/// Null on other architectures. May be called only where the processor has the SHA instructions.
HashPair hash_pair_sha();
/// The function to use on this machine; null where there is none, also with RETRACE_CPU=scalar.
HashPair hash_pair();

}  // namespace retrace::kernels
