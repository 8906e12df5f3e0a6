// SPDX-License-Identifier: MIT
#include "ledger/types/address.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

Address address_of_bytes(View bytes) {
    ensure(bytes.size() == 20, "address_of_bytes: not 20 bytes");
    Address out;
    std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
    return out;
}

std::optional<Address> parse_address(std::string_view text) {
    if (text.size() != 42 || !text.starts_with("0x")) return std::nullopt;
    const auto bytes = from_hex(text);
    if (!bytes || bytes->size() != 20) return std::nullopt;
    return address_of_bytes(*bytes);
}

std::string to_0x(const Address& address) { return retrace::to_0x(view(address)); }

}  // namespace retrace::ledger
