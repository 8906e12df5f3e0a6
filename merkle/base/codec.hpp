// SPDX-License-Identifier: MIT
// The canonical codec: fixed-width little-endian integers, u32 length before every variable-length run, no padding,
// no optional spelling. One value has one encoding, so hashes of encodings are commitments. SPEC 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace {

enum class CodecError : std::uint8_t {
    truncated = 1,      ///< The input ends inside a value.
    too_long = 2,       ///< A length is over the limit that the reader set.
    not_canonical = 3,  ///< A bool other than 0 or 1, or an enum value out of range.
    trailing = 4,       ///< Bytes are left after the last value.
};
std::string_view slug(CodecError error) noexcept;

class Writer {
public:
    Writer& u8(std::uint8_t v);
    Writer& u16(std::uint16_t v);
    Writer& u32(std::uint32_t v);
    Writer& u64(std::uint64_t v);
    Writer& boolean(bool v) { return u8(v ? 1 : 0); }
    Writer& hash(const Hash32& v) { return raw(view(v)); }
    Writer& raw(View v);    ///< Bytes without a length: fixed-size fields.
    Writer& bytes(View v);  ///< u32 length, then the bytes.
    Writer& text(std::string_view v) { return bytes(view(v)); }

    const Bytes& data() const noexcept { return out_; }
    Bytes take() && { return std::move(out_); }

private:
    Bytes out_;
};

/// Reads with a sticky error: after the first failure every read yields zero or empty, and `finish` reports the
/// failure. Lengths are checked against both their limit and the bytes left, so a caller never allocates from an
/// unchecked length.
class Reader {
public:
    explicit Reader(View in) noexcept : in_(in) {}

    std::uint8_t u8();
    std::uint16_t u16();
    std::uint32_t u32();
    std::uint64_t u64();
    bool boolean();
    Hash32 hash();
    View raw(std::size_t size);     ///< Exactly `size` bytes; a view into the input.
    View bytes(std::size_t limit);  ///< u32 length ≤ limit, then the bytes.
    std::string text(std::size_t limit);
    /// Reads a u32 count ≤ limit of items that take at least `item_size` bytes each.
    std::uint32_t count(std::size_t limit, std::size_t item_size = 1);
    /// Reads a u8 that must lie in [low, high].
    std::uint8_t enumerated(std::uint8_t low, std::uint8_t high);

    void fail(CodecError error) noexcept;
    bool ok() const noexcept { return !failed_; }
    std::size_t left() const noexcept { return in_.size() - at_; }
    /// Returns Unit when no read failed and no bytes are left.
    Status<CodecError> finish() const;

private:
    View in_;
    std::size_t at_ = 0;
    bool failed_ = false;
    CodecError error_ = CodecError::truncated;
};

}  // namespace retrace
