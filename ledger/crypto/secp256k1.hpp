// SPDX-License-Identifier: MIT
// Keys and recoverable ECDSA signatures over secp256k1 (libsecp256k1 behind a plain header).
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "ledger/types/address.hpp"

namespace retrace::ledger {

/// A recoverable signature. Valid ones have 1 ≤ r < n, 1 ≤ s ≤ n/2 (EIP-2) and y_parity 0 or 1.
struct Signature {
    Hash32 r;
    Hash32 s;
    std::uint8_t y_parity = 0;
    bool operator==(const Signature&) const = default;
};

/// x ‖ y, big endian, without the 04 byte.
struct PublicKey {
    std::array<std::uint8_t, 64> bytes{};
    bool operator==(const PublicKey&) const = default;
    std::array<std::uint8_t, 33> compressed() const;
};

/// Last 20 bytes of Keccak-256 of the 64 bytes.
Address address_of(const PublicKey& key);

/// A private key, wiped on destruction. Signing is const and may be called from many threads.
class SecretKey {
public:
    /// nullopt unless 32 bytes with a value in [1, n).
    static std::optional<SecretKey> from_bytes(View bytes);
    static SecretKey random();
    SecretKey(SecretKey&&) noexcept;
    SecretKey& operator=(SecretKey&&) noexcept;
    ~SecretKey();

    /// Deterministic (RFC 6979), always low s.
    Signature sign(const Hash32& digest) const;
    const PublicKey& public_key() const noexcept { return public_key_; }
    Address address() const { return address_of(public_key_); }
    /// (key + tweak) mod n, the step of BIP-32; nullopt when tweak ≥ n or the sum is zero.
    std::optional<SecretKey> add_tweak(View tweak) const;
    View bytes() const noexcept { return bytes_; }  ///< For keystores; the view is valid as long as the key lives.

private:
    struct Context;
    SecretKey();

    std::unique_ptr<Context> context_;
    std::array<std::uint8_t, 32> bytes_{};
    PublicKey public_key_;
};

/// The key that signed `digest`; nullopt for a signature that is out of range, has high s or recovers to no key.
std::optional<PublicKey> recover(const Hash32& digest, const Signature& signature);

}  // namespace retrace::ledger
