// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

/// An account: the last 20 bytes of Keccak-256 of the public key, or the fixed address of a native contract.
struct Address {
    std::array<std::uint8_t, 20> bytes{};

    auto operator<=>(const Address&) const = default;
    bool is_zero() const noexcept { return *this == Address{}; }
};
inline View view(const Address& a) noexcept { return {a.bytes.data(), a.bytes.size()}; }

}  // namespace retrace::ledger
