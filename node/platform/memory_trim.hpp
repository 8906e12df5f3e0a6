// SPDX-License-Identifier: MIT
// Returns freed heap memory to the operating system.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace retrace::node::rpc {

/// The C library keeps freed memory between blocks that are in use, in a separate arena for each thread, so a node
/// would stay as large as at its peak. `freed` is thread-safe; the other functions are called from one thread at a
/// time.
class MemoryTrim {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kBytes = std::size_t{16} << 20;  ///< Least amount freed before a trim pays off.
    static constexpr std::chrono::seconds kEvery{2};              ///< Least interval; a trim takes some milliseconds.

    /// Counts freed bytes; one atomic addition.
    void freed(std::size_t bytes) noexcept { bytes_ += bytes; }
    /// Whether `run` should be called now; true at most once per `kEvery`.
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
