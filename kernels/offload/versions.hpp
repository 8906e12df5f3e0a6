// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

namespace retrace::kernels {

/// Which of a state tensor's three places in the store has which of its values.
struct Versions {
    static constexpr std::uint8_t kPlaces = 3;
    std::uint8_t current = 0, kept = 0;
    bool stored = false;  ///< The next value was written.

    std::uint8_t next() const noexcept {
        std::uint8_t place = 0;
        while (place == current || place == kept) ++place;
        return place;
    }
    void advance() noexcept {
        if (std::exchange(stored, false)) current = next();
    }
    void discard() noexcept { stored = false; }  ///< Of a step that failed.
    void keep() noexcept { kept = current; }
};

}  // namespace retrace::kernels
