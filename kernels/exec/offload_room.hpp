// SPDX-License-Identifier: MIT
// The room of a step in less memory, as the planner fills it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace retrace::kernels {

/// Transfers run in the order of their keys: as soon as they may, and otherwise in the order in which they were planned.
inline std::uint64_t transfer_key(std::uint32_t after, std::uint32_t number) {
    return std::uint64_t{after} << 32 | (number + 1);
}

/// Which block lies where, and what must be done before a piece of memory can be used anew.
class OffloadRoom {
public:
    explicit OffloadRoom(std::uint64_t bytes) : bytes_(bytes) { history_[0] = {}; }

    struct History {
        std::uint32_t after = 0;     ///< Number of units that must be done.
        std::uint64_t transfer = 0;  ///< Key of the last transfer of this memory (transfer_key); 0: none.
    };

    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Blocks by offset.
    const std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>>& blocks() const noexcept { return blocks_; }
    void place(std::uint64_t at, std::uint64_t bytes, std::uint32_t block) { blocks_[at] = {at + bytes, block}; }
    void remove(std::uint64_t at) { blocks_.erase(at); }

    /// Newest history of any byte of the piece.
    History history(std::uint64_t at, std::uint64_t bytes) const;
    void note(std::uint64_t at, std::uint64_t bytes, const History& history);

    /// Cost of removing a block; nullopt if it must stay.
    using Cost = std::function<std::optional<double>(std::uint32_t block)>;
    /// Returns the place for `bytes` bytes that costs least: of equal ones the one that was used longest ago, large ones
    /// from the beginning on and small ones from the end. None if every place has a block that must stay.
    std::optional<std::uint64_t> best_place(std::uint64_t bytes, const Cost& cost) const;

private:
    void split(std::uint64_t at);

    std::uint64_t bytes_;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> blocks_;  ///< Begin to end and block.
    std::map<std::uint64_t, History> history_;                                 ///< From this offset to the next.
};

}  // namespace retrace::kernels
