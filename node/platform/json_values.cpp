// SPDX-License-Identifier: MIT
#include "node/platform/json_values.hpp"

#include <charconv>

namespace retrace::node::rpc {
namespace {

Unexpected<std::string> wrong(std::string what) { return {std::move(what)}; }

Parsed<std::string_view> hex_text(const json::value& v) {
    if (!v.is_string()) return wrong("cannot unmarshal non-string into hex");
    const json::string& text = v.get_string();
    const std::string_view s(text.data(), text.size());
    if (s.empty()) return wrong("empty hex string");
    if (s.size() < 2 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X')) return wrong("hex string without 0x prefix");
    return s.substr(2);
}

int nibble(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

Parsed<std::string_view> quantity_digits(const json::value& v, std::size_t max_digits) {
    RETRACE_TRY(digits, hex_text(v));
    if (digits.empty()) return wrong("hex string \"0x\"");
    if (digits.size() > 1 && digits[0] == '0') return wrong("hex number with leading zero digits");
    for (const char c : digits) {
        if (nibble(c) < 0) return wrong("invalid hex string");
    }
    if (digits.size() > max_digits) return wrong("hex number > " + std::to_string(4 * max_digits) + " bits");
    return digits;
}

template <class T>
Parsed<T> fixed(const json::value& v, const char* what) {
    RETRACE_TRY(bytes, parse_data(v));
    T out;
    if (bytes.size() != out.bytes.size()) {
        return wrong("hex string has length " + std::to_string(2 * bytes.size()) + ", want " +
                     std::to_string(2 * out.bytes.size()) + " for " + what);
    }
    std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
    return out;
}

Parsed<BlockRef> parse_block_object(const json::object& object) {
    const json::value* number = object.if_contains("blockNumber");
    const json::value* hash = object.if_contains("blockHash");
    if ((number != nullptr) == (hash != nullptr)) {
        return wrong("a block object has exactly one of blockNumber and blockHash");
    }
    if (number != nullptr) {
        if (!number->is_string()) return wrong("blockNumber is not a string");
        return parse_block(*number);
    }
    RETRACE_TRY(value, parse_hash(*hash));
    return BlockRef{BlockRef::Kind::hash, 0, value};
}

}  // namespace

std::string quantity(std::uint64_t v) {
    char out[18] = {'0', 'x'};
    const auto end = std::to_chars(out + 2, out + sizeof out, v, 16);
    return {out, end.ptr};
}

Parsed<std::uint64_t> parse_u64(const json::value& v) {
    RETRACE_TRY(digits, quantity_digits(v, 16));
    std::uint64_t out = 0;
    for (const char c : digits) out = out << 4 | static_cast<std::uint64_t>(nibble(c));
    return out;
}

Parsed<ledger::U256> parse_u256(const json::value& v) {
    RETRACE_TRY(digits, quantity_digits(v, 64));
    std::array<std::uint8_t, 32> bytes{};
    std::size_t at = 2 * bytes.size() - digits.size();  // in nibbles
    for (const char c : digits) {
        bytes[at / 2] = static_cast<std::uint8_t>(bytes[at / 2] << 4 | nibble(c));
        ++at;
    }
    return ledger::U256::from_be(bytes);
}

Parsed<Bytes> parse_data(const json::value& v) {
    RETRACE_TRY(digits, hex_text(v));
    if (digits.size() % 2 != 0) return wrong("hex string of odd length");
    Bytes out(digits.size() / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const int high = nibble(digits[2 * i]);
        const int low = nibble(digits[2 * i + 1]);
        if (high < 0 || low < 0) return wrong("invalid hex string");
        out[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return out;
}

Parsed<Hash32> parse_hash(const json::value& v) { return fixed<Hash32>(v, "Hash"); }
Parsed<ledger::Address> parse_address(const json::value& v) { return fixed<ledger::Address>(v, "Address"); }

Parsed<bool> parse_bool(const json::value& v) {
    if (!v.is_bool()) return wrong("not a boolean");
    return v.get_bool();
}

Parsed<BlockRef> parse_block(const json::value& v) {
    if (v.is_object()) return parse_block_object(v.get_object());
    if (!v.is_string()) return wrong("a block is a tag, a hex height or a block object");
    const json::string& text = v.get_string();
    const std::string_view tag(text.data(), text.size());
    if (tag == "latest" || tag == "safe" || tag == "finalized") return BlockRef{};
    if (tag == "pending") return BlockRef{BlockRef::Kind::pending, 0, {}};
    if (tag == "earliest") return BlockRef{BlockRef::Kind::earliest, 0, {}};
    if (tag.size() == 66) {
        RETRACE_TRY(hash, parse_hash(v));
        return BlockRef{BlockRef::Kind::hash, 0, hash};
    }
    RETRACE_TRY(height, parse_u64(v));
    return BlockRef{BlockRef::Kind::height, height, {}};
}

}  // namespace retrace::node::rpc
