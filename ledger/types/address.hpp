// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

/// An account: the last 20 bytes of Keccak-256 of the public key, or the fixed address of a native contract.
struct Address {
    std::array<std::uint8_t, 20> bytes{};

    auto operator<=>(const Address&) const = default;
    bool is_zero() const noexcept { return *this == Address{}; }
};
using retrace::to_0x;
using retrace::view;  // the overload below would hide the others
inline View view(const Address& a) noexcept { return {a.bytes.data(), a.bytes.size()}; }

/// Copies exactly 20 bytes; any other length is a bug in the caller (asserted).
Address address_of_bytes(View bytes);
/// "0x" and 40 hex digits in either letter case; anything else: nullopt. (EIP-55 display: ledger/crypto/eip55.hpp.)
std::optional<Address> parse_address(std::string_view text);
/// "0x" and lower-case hex.
std::string to_0x(const Address& address);

}  // namespace retrace::ledger
