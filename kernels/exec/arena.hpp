// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace retrace::kernels {

/// Plans offsets in one block of memory: adjacent free runs are merged, and an allocation takes the smallest free run
/// that fits (best fit).
class Arena {
public:
    std::uint64_t take(std::uint64_t bytes);
    void give(std::uint64_t at, std::uint64_t bytes);
    std::uint64_t size() const noexcept { return size_; }

private:
    using Runs = std::map<std::uint64_t, std::uint64_t>;
    std::uint64_t grow(std::uint64_t bytes);
    void insert(std::uint64_t at, std::uint64_t bytes);
    Runs::iterator erase(Runs::iterator run);

    Runs free_;                                                ///< Offset to size.
    std::set<std::pair<std::uint64_t, std::uint64_t>> sizes_;  ///< The same by size and offset.
    std::uint64_t size_ = 0;
};

}  // namespace retrace::kernels
