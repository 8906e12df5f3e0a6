// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace retrace::solver {

/// Retries with exponential backoff: a long outage does not fill the log, and a short one costs little time.
struct Retry {
    unsigned attempts = 0;     ///< Failed attempts so far.
    std::uint64_t failed = 0;  ///< Height of the last failure.
    std::string why;           ///< Reason of the last failure.

    void fail(std::uint64_t height, std::string reason) {
        ++attempts;
        failed = height;
        why = std::move(reason);
    }
    /// Height of the next attempt: `pause` blocks after the first failure and twice as many after each further one, up
    /// to eight times `pause`. The wait is at most a quarter of the blocks that were left to `deadline` (0: none), so
    /// that the last attempt comes close to the deadline.
    std::uint64_t next(std::uint64_t pause, std::uint64_t deadline) const {
        constexpr unsigned kDoublings = 3;
        std::uint64_t wait = pause << std::min(attempts == 0 ? 0 : attempts - 1, kDoublings);
        if (deadline > failed) wait = std::min(wait, (deadline - failed) / 4);
        return failed + std::max<std::uint64_t>(wait, 1);
    }
};

}  // namespace retrace::solver
