// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace retrace::solver {

/// A mutex that is entered in the order of arrival. With std::mutex who leaves and comes back at once may overtake
/// everybody who waits, and strangers come back as often as they like.
class TurnLock {
public:
    void lock() {
        std::unique_lock lock(mutex_);
        const std::uint64_t turn = last_++;
        changed_.wait(lock, [&] { return turn == now_; });
    }
    void unlock() {
        const std::lock_guard lock(mutex_);
        ++now_;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t last_ = 0, now_ = 0;
};

}  // namespace retrace::solver
