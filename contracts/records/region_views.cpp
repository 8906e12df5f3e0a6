// SPDX-License-Identifier: MIT
#include "contracts/records/region_views.hpp"

#include <algorithm>

#include "contracts/records/rollback_views.hpp"
#include "contracts/records/store.hpp"

namespace retrace::contracts::views {
namespace {

/// The record whose messages are merged in this round.
market::Round merged_record(const StateView& view, std::uint64_t task, std::uint32_t merging_round) {
    return must_load<market::Round>(view, keys::round(task, merging_round - 1));
}

}  // namespace

std::uint32_t regions_of(const StateView& view, std::uint64_t task) {
    const auto terms = group_spec(view, task);
    return terms ? terms->regions : 0;
}

std::optional<market::Round> record_read(const StateView& view, std::uint64_t task, std::uint32_t run,
                                         std::uint32_t round, std::uint8_t attempt, const kernels::SegmentSpan& span) {
    auto record = round_at(view, task, round, attempt);
    if (record && span.regional) kernels::keep_read_entries(*record, round, regions_of(view, task), run, span);
    return record;
}

bool is_omitted(const StateView& view, std::uint64_t task, const std::optional<std::uint32_t>& last_message,
                const market::Round& record, std::uint32_t run) {
    if (last_message != record.index) return false;
    const std::uint32_t regions = regions_of(view, task);
    if (!kernels::is_merging_round(record.index, regions))
        return std::none_of(record.entries.begin(), record.entries.end(),
                            [&](const market::RoundEntry& entry) { return entry.run == run; });
    const std::uint32_t region = kernels::region_of(run, record.index, regions);
    const bool merged = std::any_of(record.entries.begin(), record.entries.end(), [&](const market::RoundEntry& entry) {
        return kernels::region_of(entry.run, record.index, regions) == region;
    });
    if (merged) return false;
    const auto of_region =
        kernels::mergers_of(merged_record(view, task, record.index), record.index - 1, regions, region);
    return !of_region.empty() && of_region.front() == run;
}

std::vector<std::uint32_t> holders(const StateView& view, const market::Group& group, const market::GroupSpec& terms) {
    if (terms.regions == 0) return group.committed;
    std::vector<std::uint32_t> out;
    if (kernels::is_merging_round(group.round, terms.regions)) {
        for (const market::RoundEntry& entry : merged_record(view, group.task, group.round).entries)
            out.push_back(entry.run);
        return out;
    }
    for (std::uint32_t region = 0; region < terms.regions; ++region)
        for (const std::uint32_t run : kernels::listers_of(group.committed, group.round, terms.regions, region))
            if (std::find(out.begin(), out.end(), run) == out.end()) out.push_back(run);
    return out;
}

std::vector<std::uint32_t> mergers(const StateView& view, const market::Group& group, const market::GroupSpec& terms) {
    std::vector<std::uint32_t> out;
    if (!kernels::is_merging_round(group.round, terms.regions) || group.round >= terms.rounds) return out;
    const market::Round merged = merged_record(view, group.task, group.round);
    for (std::uint32_t region = 0; region < terms.regions; ++region) {
        const auto first = kernels::mergers_of(merged, merged.index, terms.regions, region);
        out.insert(out.end(), first.begin(), first.end());
    }
    return out;
}

std::uint32_t merged_weight(const StateView& view, const market::Group& group, const market::GroupSpec& terms,
                            std::uint32_t run) {
    market::Round merged = merged_record(view, group.task, group.round);
    const kernels::SegmentSpan span{merged.index, group.round, 1, {}, 0, true};
    kernels::keep_read_entries(merged, merged.index, terms.regions, run, span);
    return merged.total;
}

}  // namespace retrace::contracts::views
