// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>

namespace retrace::kernels {

/// Plans one block of memory: free runs are joined with their neighbours, the smallest run that fits is taken.
class Arena {
public:
    std::uint64_t take(std::uint64_t bytes);
    void give(std::uint64_t at, std::uint64_t bytes);
    std::uint64_t size() const noexcept { return size_; }

private:
    std::uint64_t grow(std::uint64_t bytes);

    std::map<std::uint64_t, std::uint64_t> free_;  ///< Offset to size.
    std::uint64_t size_ = 0;
};

}  // namespace retrace::kernels
