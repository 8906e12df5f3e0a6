// SPDX-License-Identifier: MIT
// Memory that was given back goes back to the system.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace retrace::node::rpc {

/// The C library keeps what was freed between pieces that are in use, for every thread apart, so that a node that once
/// held much for its clients would stay that large. `freed` from any thread, the others from one at a time.
class MemoryTrim {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kBytes = std::size_t{16} << 20;  ///< So much has to be freed before it is worth it.
    static constexpr std::chrono::seconds kEvery{2};              ///< It takes some milliseconds.

    /// Costs next to nothing.
    void freed(std::size_t bytes) noexcept { bytes_ += bytes; }
    /// Whether `run` should follow; not again before the time is over.
    bool is_due(Clock::time_point now) noexcept {
        if (bytes_ < kBytes || now < next_) return false;
        bytes_ = 0;
        next_ = now + kEvery;
        return true;
    }
    void run() noexcept;

private:
    std::atomic<std::size_t> bytes_{0};
    Clock::time_point next_{};
};

}  // namespace retrace::node::rpc
