// SPDX-License-Identifier: MIT
// Which members of a group merge which messages: pure functions of the number of a round and of runs. SPEC 2.7.
#pragma once

#include <algorithm>
#include <span>

#include "kernels/plan/positions.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kRegionsMax = 32;
inline constexpr std::uint32_t kRegionRounds = 128;  ///< Members are divided anew after so many rounds; even.
inline constexpr std::size_t kRegionListers = 3;     ///< Members that fetch and list the messages of a region.
inline constexpr std::size_t kRegionMergers = 2;     ///< Members of a region that merge them.

/// Whether the messages of this round are merged, not taken in as they are.
constexpr bool is_merged_round(std::uint64_t round, std::uint32_t regions) noexcept {
    return regions != 0 && round % 2 == 0;
}
/// Whether the messages of this round are merged ones.
constexpr bool is_merging_round(std::uint64_t round, std::uint32_t regions) noexcept {
    return regions != 0 && round % 2 == 1;
}

/// The region of a run in a round, below `regions`, which is not 0.
std::uint32_t region_of(std::uint32_t run, std::uint64_t round, std::uint32_t regions) noexcept;
/// Those of `runs` that are in the region, in its order of this round; at most `count`.
std::vector<std::uint32_t> first_of_region(std::span<const std::uint32_t> runs, std::uint64_t round,
                                           std::uint32_t regions, std::uint32_t region, std::size_t count);

/// Those of `runs` that list the messages of the region: the first of its own, then those of the regions after it, so that a
/// member that is alone in its region is heard. None if no run is in the region.
std::vector<std::uint32_t> listers_of(std::span<const std::uint32_t> runs, std::uint64_t round, std::uint32_t regions,
                                      std::uint32_t region);

/// The record of `round` as this run's segment reads it: without entries if its messages are merged, or, in a segment that
/// merges them, with those of the run's region. `Record` has `entries` with `run` and `weight`, and `total`.
template <class Record>
void keep_read_entries(Record& record, std::uint64_t round, std::uint32_t regions, std::uint32_t run,
                       const SegmentSpan& span) {
    if (!is_merged_round(round, regions)) return;
    const bool merged = merges(span) && round + 1 == span.base;
    const std::uint32_t region = region_of(run, round, regions);
    std::erase_if(record.entries, [&](const auto& entry) {
        if (merged && region_of(entry.run, round, regions) == region) return false;
        record.total -= entry.weight;
        return true;
    });
}

/// The members that merge the messages of a region: the first of those whose messages are in the record. `round` is that
/// of the record, before anything is taken out of it.
template <class Record>
std::vector<std::uint32_t> mergers_of(const Record& record, std::uint64_t round, std::uint32_t regions,
                                      std::uint32_t region) {
    std::vector<std::uint32_t> runs;
    for (const auto& entry : record.entries) runs.push_back(entry.run);
    return first_of_region(runs, round, regions, region, kRegionMergers);
}

}  // namespace retrace::kernels
