// SPDX-License-Identifier: MIT
// The other primitives of keystores and mnemonics: HMAC, PBKDF2, AES-128-CTR.
#pragma once

#include <array>
#include <cstdint>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::ledger {

std::array<std::uint8_t, 32> hmac_sha256(View key, View message);
std::array<std::uint8_t, 64> hmac_sha512(View key, View message);

/// Limit on rounds; more are an Error, so that a keystore from a stranger cannot hang the wallet.
inline constexpr std::uint32_t kPbkdf2RoundsMax = 10'000'000;

/// `size` bytes, 1..1024; rounds 1..kPbkdf2RoundsMax.
Result<Bytes> pbkdf2_hmac_sha256(View password, View salt, std::uint32_t rounds, std::size_t size);
Result<Bytes> pbkdf2_hmac_sha512(View password, View salt, std::uint32_t rounds, std::size_t size);

/// Encrypts or decrypts (the same operation). Key and counter block are 16 bytes each (asserted).
Bytes aes_128_ctr(View key, View counter, View data);

}  // namespace retrace::ledger
