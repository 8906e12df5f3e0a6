// SPDX-License-Identifier: MIT
// Masks over values, as the ops `chacha_bits`, `add_wrap`, `sub_wrap` and `and_bits` of the contract make them, so that
// the sum of masked messages can be audited. market/SPEC.md 15.4.
#pragma once

#include <span>

#include "market/masks/unmasking.hpp"

namespace retrace::node {

/// Bits of a masked value: those of a value and of the number of members, so that no sum wraps.
unsigned masked_bits(unsigned value_bits, std::size_t members);
/// Adds the key stream of a seed to words modulo 2^32, or subtracts it.
void apply_mask(std::span<std::uint32_t> words, const market::MaskSeed& seed, bool add);
/// Leaves the lower `bits` bits, 1 to 32, of each word.
void keep_bits(std::span<std::uint32_t> words, unsigned bits);
/// Takes the terms out of a sum of masked messages of `bits` bits, and extends the sign of what is left.
std::vector<std::int32_t> unmasked(std::vector<std::uint32_t> sum, const std::vector<market::MaskTerm>& terms,
                                   unsigned bits);

}  // namespace retrace::node
