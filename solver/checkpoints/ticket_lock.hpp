// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace retrace::solver {

/// A fair mutex: threads enter in the order of arrival. With std::mutex a thread that unlocks and locks again may
/// overtake all waiting threads, and strangers may send requests as often as they like.
class TicketLock {
public:
    void lock() {
        std::unique_lock lock(mutex_);
        const std::uint64_t ticket = next_++;
        changed_.wait(lock, [&] { return ticket == now_; });
    }
    void unlock() {
        const std::lock_guard lock(mutex_);
        ++now_;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0, now_ = 0;
};

}  // namespace retrace::solver
