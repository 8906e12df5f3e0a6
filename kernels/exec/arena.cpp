// SPDX-License-Identifier: MIT
#include "kernels/exec/arena.hpp"

#include <iterator>

namespace retrace::kernels {

std::uint64_t Arena::take(std::uint64_t bytes) {
    const auto best = sizes_.lower_bound({bytes, 0});
    if (best == sizes_.end()) return grow(bytes);
    const auto [size, at] = *best;
    erase(free_.find(at));
    if (size > bytes) insert(at + bytes, size - bytes);
    return at;
}

void Arena::give(std::uint64_t at, std::uint64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
        bytes += next->second;
        next = erase(next);
    }
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == at) {
            at = before->first;
            bytes += before->second;
            erase(before);
        }
    }
    insert(at, bytes);
}

/// Extends the block; a free run at its end is used as the beginning of the new allocation.
std::uint64_t Arena::grow(std::uint64_t bytes) {
    std::uint64_t at = size_;
    if (!free_.empty()) {
        const auto last = std::prev(free_.end());
        if (last->first + last->second == size_) {
            at = last->first;
            erase(last);
        }
    }
    size_ = at + bytes;
    return at;
}

void Arena::insert(std::uint64_t at, std::uint64_t bytes) {
    free_[at] = bytes;
    sizes_.insert({bytes, at});
}

Arena::Runs::iterator Arena::erase(Runs::iterator run) {
    sizes_.erase({run->second, run->first});
    return free_.erase(run);
}

}  // namespace retrace::kernels
