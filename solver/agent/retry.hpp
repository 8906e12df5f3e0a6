// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace retrace::solver {

/// Something that failed and is tried again, later and later: what is down for an hour fills no log, and what is down
/// for a moment costs a moment.
struct Retry {
    unsigned attempts = 0;     ///< So far.
    std::uint64_t failed = 0;  ///< Height of the last one,
    std::string why;           ///< and what became of it.

    void fail(std::uint64_t height, std::string reason) {
        ++attempts;
        failed = height;
        why = std::move(reason);
    }
    /// Height of the next attempt: `pause` blocks after the first, twice as many after each further one, up to eight
    /// times. A quarter of what was left to `deadline` (0: none) is the most that is waited, so the last attempt comes
    /// close to it.
    std::uint64_t next(std::uint64_t pause, std::uint64_t deadline) const {
        constexpr unsigned kDoublings = 3;
        std::uint64_t wait = pause << std::min(attempts == 0 ? 0 : attempts - 1, kDoublings);
        if (deadline > failed) wait = std::min(wait, (deadline - failed) / 4);
        return failed + std::max<std::uint64_t>(wait, 1);
    }
};

}  // namespace retrace::solver
