// SPDX-License-Identifier: MIT
// A verifiable random function: ECVRF-P256-SHA256-TAI (RFC 9381, suite 0x01). The owner of a key computes one value for
// each input and proves it; nobody else can predict the value, and the owner cannot choose between two.
#pragma once

#include <array>
#include <optional>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

/// A point of P-256, compressed (SEC 1).
struct VrfKey {
    std::array<std::uint8_t, 33> bytes{};
    auto operator<=>(const VrfKey&) const = default;
};
/// Gamma ‖ c ‖ s (RFC 9381 5.5).
using VrfProof = std::array<std::uint8_t, 81>;

/// A secret scalar, wiped on destruction.
class VrfSecret {
public:
    /// nullopt unless 32 bytes with a value in [1, order of P-256).
    static std::optional<VrfSecret> from_bytes(View bytes);
    static VrfSecret random();
    VrfSecret(const VrfSecret&) = default;
    VrfSecret& operator=(const VrfSecret&) = default;
    ~VrfSecret();

    const VrfKey& key() const noexcept { return key_; }
    View bytes() const noexcept { return bytes_; }  ///< For a key file; valid as long as the secret lives.
    VrfProof prove(View alpha) const;

private:
    VrfSecret() = default;
    std::array<std::uint8_t, 32> bytes_{};
    VrfKey key_;
};

/// Whether the key is a point of the curve.
bool is_vrf_key(const VrfKey& key);
/// Returns the function's value (beta) for `alpha`, or nullopt when `proof` does not prove it, or `key` is no point.
std::optional<Hash32> vrf_verify(const VrfKey& key, View alpha, View proof);

}  // namespace retrace::ledger
