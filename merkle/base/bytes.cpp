// SPDX-License-Identifier: MIT
#include "merkle/base/bytes.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"

namespace retrace {

Hash32 to_hash32(View bytes) {
    ensure(bytes.size() == 32, "a hash has 32 bytes");
    Hash32 out;
    std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
    return out;
}

std::string to_hex(View bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const std::uint8_t byte : bytes) {
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
    }
    return out;
}

std::string to_0x(View bytes) { return "0x" + to_hex(bytes); }

std::optional<Bytes> from_hex(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    if (text.size() % 2 != 0) return std::nullopt;
    const auto digit = [](char c) -> int {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    };
    Bytes out;
    out.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = digit(text[i]);
        const int low = digit(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<std::uint8_t>(high << 4 | low));
    }
    return out;
}

}  // namespace retrace
