// SPDX-License-Identifier: MIT
// Which members of a group merge and list which messages: pure functions of an order of runs, which is drawn once in
// kRegionRounds rounds. SPEC 2.7.
#pragma once

#include <algorithm>
#include <span>

#include "kernels/plan/positions.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kRegionsMax = 32;
inline constexpr std::uint32_t kRegionRounds = 128;  ///< Members are divided anew after so many rounds; even.
inline constexpr std::size_t kRegionJudges = 3;      ///< Members that say of one message whether they have it.
inline constexpr std::size_t kRegionMergers = 2;     ///< Members of a region that merge its messages.

/// Whether the messages of this round are merged, not taken in as they are.
constexpr bool is_merged_round(std::uint64_t round, std::uint32_t regions) noexcept {
    return regions != 0 && round % 2 == 0;
}
/// Whether the messages of this round are merged ones.
constexpr bool is_merging_round(std::uint64_t round, std::uint32_t regions) noexcept {
    return regions != 0 && round % 2 == 1;
}

/// The regions of so many runs: at most `regions`, of at least two runs each, but at least one.
constexpr std::uint32_t regions_for(std::size_t runs, std::uint32_t regions) noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(runs / 2, 1, regions));
}
/// The runs in the order of SHA-256(seed ‖ run u32).
std::vector<std::uint32_t> drawn_order(std::span<const std::uint32_t> runs, const Hash32& seed);

/// A run in its region.
struct PlacedRun {
    std::uint32_t run = 0, region = 0;
    bool operator==(const PlacedRun&) const = default;
};
/// The i-th run of an order is of region i mod `regions`.
std::vector<PlacedRun> in_regions(std::span<const std::uint32_t> order, std::uint32_t regions);
/// For each run of the order those that list its message: the first kRegionJudges others of its region and then of the regions
/// after it. For each of the first kRegionJudges, which would have one too few, the last is another run, so that none of
/// those has to have all messages of the region. Fewer if there are no more.
std::vector<std::vector<std::uint32_t>> judges_of(std::span<const PlacedRun> order, std::uint32_t regions);

/// The record of `round` as this run's segment reads it: without entries if its messages are merged, or, in a segment that
/// merges them, with those of the run's region. `Record` has `entries` with `run`, `weight` and `region`, and `total`.
template <class Record>
void keep_read_entries(Record& record, std::uint64_t round, std::uint32_t regions, std::uint32_t run,
                       const SegmentSpan& span) {
    if (!is_merged_round(round, regions)) return;
    const auto own =
        std::find_if(record.entries.begin(), record.entries.end(), [&](const auto& entry) { return entry.run == run; });
    const bool merged = merges(span) && round + 1 == span.base && own != record.entries.end();
    const std::uint32_t region = merged ? own->region : 0;
    std::erase_if(record.entries, [&](const auto& entry) {
        if (merged && entry.region == region) return false;
        record.total -= entry.weight;
        return true;
    });
}

}  // namespace retrace::kernels
