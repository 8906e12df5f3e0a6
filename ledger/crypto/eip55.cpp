// SPDX-License-Identifier: MIT
#include "ledger/crypto/eip55.hpp"

#include <algorithm>

#include "ledger/crypto/keccak.hpp"

namespace retrace::ledger {

std::string to_checksum(const Address& address) {
    std::string digits = to_hex(view(address));
    const Hash32 hash = keccak256(view(std::string_view(digits)));
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const unsigned nibble = i % 2 == 0 ? hash.bytes[i / 2] >> 4 : hash.bytes[i / 2] & 15U;
        if (nibble >= 8 && digits[i] >= 'a') digits[i] = static_cast<char>(digits[i] - 'a' + 'A');
    }
    return "0x" + digits;
}

bool checksum_holds(std::string_view text) {
    const auto address = parse_address(text);
    if (!address) return false;
    const std::string_view digits = text.substr(2);
    const auto upper = [](char c) { return c >= 'A' && c <= 'F'; };
    const auto lower = [](char c) { return c >= 'a' && c <= 'f'; };
    if (std::none_of(digits.begin(), digits.end(), upper)) return true;
    if (std::none_of(digits.begin(), digits.end(), lower)) return true;
    return to_checksum(*address) == text;
}

}  // namespace retrace::ledger
