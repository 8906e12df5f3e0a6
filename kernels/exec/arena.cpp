// SPDX-License-Identifier: MIT
#include "kernels/exec/arena.hpp"

#include <iterator>

namespace retrace::kernels {

std::uint64_t Arena::take(std::uint64_t bytes) {
    auto best = free_.end();
    for (auto run = free_.begin(); run != free_.end(); ++run) {
        if (run->second >= bytes && (best == free_.end() || run->second < best->second)) best = run;
    }
    if (best == free_.end()) return grow(bytes);
    const auto [at, size] = *best;
    free_.erase(best);
    if (size > bytes) free_[at + bytes] = size - bytes;
    return at;
}

void Arena::give(std::uint64_t at, std::uint64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
        bytes += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == at) {
            before->second += bytes;
            return;
        }
    }
    free_[at] = bytes;
}

/// A free run at the end grows instead of being left behind.
std::uint64_t Arena::grow(std::uint64_t bytes) {
    std::uint64_t at = size_;
    if (!free_.empty()) {
        const auto last = std::prev(free_.end());
        if (last->first + last->second == size_) {
            at = last->first;
            free_.erase(last);
        }
    }
    size_ = at + bytes;
    return at;
}

}  // namespace retrace::kernels
