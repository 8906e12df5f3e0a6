// SPDX-License-Identifier: MIT
// Ed25519 signatures (RFC 8032), with which validators sign.
#pragma once

#include <array>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

using Ed25519Signature = std::array<std::uint8_t, 64>;

/// Whether `signature` of `message` was made by the owner of `key`. Other sizes than 64 bytes are no signature.
bool ed25519_verify(const Hash32& key, View message, View signature);

/// `seed`: the 32 bytes of a private key.
Hash32 ed25519_public_key(View seed);
Ed25519Signature ed25519_sign(View seed, View message);

}  // namespace retrace::ledger
