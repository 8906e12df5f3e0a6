// SPDX-License-Identifier: MIT
// Keccak-256 with the original padding of the SHA-3 competition, as Ethereum uses it. It is not SHA3-256.
#pragma once

#include <initializer_list>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

Hash32 keccak256(View bytes);
/// Keccak-256 of the concatenation.
Hash32 keccak256(std::initializer_list<View> parts);

}  // namespace retrace::ledger
