// SPDX-License-Identifier: MIT
// Reads an input as a sequence of choices, for targets that build something before they damage it. Past the end every
// choice is zero, so every input is complete.
#pragma once

#include <algorithm>

#include "merkle/base/codec.hpp"

namespace retrace::fuzz {

class Choices {
public:
    explicit Choices(View input) noexcept : left_(input) {}

    bool empty() const noexcept { return left_.empty(); }
    std::uint8_t byte() noexcept {
        if (left_.empty()) return 0;
        const std::uint8_t out = left_[0];
        left_ = left_.subspan(1);
        return out;
    }
    std::uint64_t number() noexcept {
        std::uint64_t out = 0;
        for (int i = 0; i < 8; ++i) out |= std::uint64_t{byte()} << (8 * i);
        return out;
    }
    /// Returns a number in [0, count); count ≤ 256.
    std::size_t below(std::size_t count) noexcept { return count == 0 ? 0 : byte() % count; }
    /// Returns a number in [low, high]; at most 256 values.
    std::size_t between(std::size_t low, std::size_t high) noexcept { return low + below(high - low + 1); }
    bool flip() noexcept { return (byte() & 1) != 0; }
    View take(std::size_t size) noexcept {
        const View out = left_.first(std::min(size, left_.size()));
        left_ = left_.subspan(out.size());
        return out;
    }
    View rest() noexcept { return take(left_.size()); }
    Hash32 hash() noexcept {
        Hash32 out;
        const View bytes = take(32);
        std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
        return out;
    }

private:
    View left_;
};

/// Applies up to three flips, replacements, cuts or insertions anywhere in `bytes`.
inline void damage(Bytes& bytes, Choices& choices) {
    for (std::size_t i = choices.below(4); i > 0 && !bytes.empty(); --i) {
        const auto at = static_cast<std::size_t>(choices.number() % bytes.size());
        switch (choices.below(4)) {
            case 0: bytes[at] ^= static_cast<std::uint8_t>(1u << choices.below(8)); break;
            case 1: bytes[at] = choices.byte(); break;
            case 2: bytes.resize(at); break;
            default: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), choices.byte()); break;
        }
    }
}

/// Returns an input that begins with the choice `kind`.
inline Bytes with_kind(std::uint8_t kind, View rest) {
    Writer out;
    out.u8(kind).raw(rest);
    return std::move(out).take();
}

}  // namespace retrace::fuzz
