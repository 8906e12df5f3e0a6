// SPDX-License-Identifier: MIT
// Tracks which value each memory region of a step holds while a plan is followed.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace retrace::kernels {

inline constexpr std::uint64_t kArena = ~std::uint64_t{0};

/// The memory that one tensor takes. `space` is kArena, or the number of a tensor that has its own memory because no op
/// writes it into the arena.
struct Region {
    std::uint64_t space = kArena, begin = 0, bytes = 0;
    std::uint64_t end() const noexcept { return begin + bytes; }
    bool overlaps(const Region& other) const noexcept {
        return space == other.space && begin < other.end() && other.begin < end();
    }
    bool operator==(const Region&) const = default;
};

/// Maps regions to the values that they hold.
class Contents {
public:
    bool holds(const Region& region, std::uint32_t value) const {
        const auto found = pieces_.find({region.space, region.begin});
        return found != pieces_.end() && found->second.end == region.end() && found->second.value == value;
    }
    void write(const Region& region, std::uint32_t value) {
        auto at = pieces_.lower_bound({region.space, region.begin});
        if (at != pieces_.begin()) {
            const auto before = std::prev(at);
            if (before->first.first == region.space && before->second.end > region.begin) at = before;
        }
        while (at != pieces_.end() && at->first.first == region.space && at->first.second < region.end())
            at = pieces_.erase(at);
        pieces_[{region.space, region.begin}] = {region.end(), value};
    }

private:
    struct Piece {
        std::uint64_t end = 0;
        std::uint32_t value = 0;
    };
    std::map<std::pair<std::uint64_t, std::uint64_t>, Piece> pieces_;
};

}  // namespace retrace::kernels
