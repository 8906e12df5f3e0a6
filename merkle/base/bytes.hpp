// SPDX-License-Identifier: MIT
// Byte strings, 32-byte hashes, hex and little-endian loads and stores, shared by every folder.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrace {

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

/// A SHA-256 or Keccak-256 value, or any other 32 bytes. Ordered bytewise.
struct Hash32 {
    std::array<std::uint8_t, 32> bytes{};

    auto operator<=>(const Hash32&) const = default;
    const std::uint8_t* data() const noexcept { return bytes.data(); }
    std::uint8_t* data() noexcept { return bytes.data(); }
    static constexpr std::size_t size() noexcept { return 32; }
    bool is_zero() const noexcept { return *this == Hash32{}; }
};

inline View view(const Hash32& hash) noexcept { return {hash.data(), 32}; }
inline View view(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline Bytes to_bytes(View bytes) { return {bytes.begin(), bytes.end()}; }
inline bool equal(View a, View b) noexcept { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }

/// Copies exactly 32 bytes; an input of another length is a caller error (asserted).
Hash32 to_hash32(View bytes);

/// Returns lower-case hex without prefix.
std::string to_hex(View bytes);
/// Returns "0x" and lower-case hex.
std::string to_0x(View bytes);
/// Parses hex with an optional "0x", in either letter case. Returns nullopt for an odd length or another character.
std::optional<Bytes> from_hex(std::string_view text);

/// Little-endian loads and stores; `load_*` read exactly that many bytes from `p`.
inline std::uint16_t load_u16(const std::uint8_t* p) noexcept { return static_cast<std::uint16_t>(p[0] | (p[1] << 8)); }
inline std::uint32_t load_u32(const std::uint8_t* p) noexcept {
    return std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}
inline std::uint64_t load_u64(const std::uint8_t* p) noexcept {
    return std::uint64_t{load_u32(p)} | std::uint64_t{load_u32(p + 4)} << 32;
}
inline void store_u16(std::uint8_t* p, std::uint16_t v) noexcept {
    p[0] = static_cast<std::uint8_t>(v);
    p[1] = static_cast<std::uint8_t>(v >> 8);
}
inline void store_u32(std::uint8_t* p, std::uint32_t v) noexcept {
    for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(v >> (8 * i));
}
inline void store_u64(std::uint8_t* p, std::uint64_t v) noexcept {
    for (int i = 0; i < 8; ++i) p[i] = static_cast<std::uint8_t>(v >> (8 * i));
}

}  // namespace retrace
