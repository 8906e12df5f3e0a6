// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/recording.hpp"

#include <algorithm>

#include "contracts/records/region_views.hpp"

namespace retrace::contracts {
namespace {

using market::Group;
using market::GroupSpec;

/// A bitmap as a run has revealed it.
struct Listing {
    std::uint32_t run = 0;
    Bytes bitmap;
    bool has(std::size_t place) const { return (bitmap.at(place / 8) >> (place % 8) & 1) != 0; }
};

bool has_run(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

/// 21.20.4: whether half of those that list the messages of a region have revealed what they have.
bool has_quorum_of(const Group& group, const std::vector<std::uint32_t>& listers) {
    const auto revealed =
        std::count_if(listers.begin(), listers.end(), [&](std::uint32_t run) { return has_run(group.revealed, run); });
    return 2 * static_cast<std::size_t>(revealed) >= listers.size();
}

/// 21.6.5: whether 2/3 of the others that revealed have the message at this place.
bool is_listed(const std::vector<Listing>& listings, std::uint32_t author, std::size_t place) {
    std::size_t others = 0, have = 0;
    for (const Listing& listing : listings) {
        if (listing.run == author) continue;
        ++others;
        have += listing.has(place) ? 1 : 0;
    }
    return others != 0 && 3 * have >= 2 * others;
}

/// 21.20.5: of the messages of a region, the first merger's that is listed is recorded.
void keep_first_of_regions(const Effects& fx, const Group& group, const GroupSpec& terms,
                           std::vector<market::RoundEntry>& entries) {
    const auto mergers = views::mergers(fx.state, group, terms);
    std::vector<market::RoundEntry> out;
    std::uint32_t regions_done = 0;  // Bit i: region i has its message.
    for (const std::uint32_t run : mergers) {
        const std::uint32_t bit = 1u << kernels::region_of(run, group.round, terms.regions);
        const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.run == run; });
        if (found == entries.end() || (regions_done & bit) != 0) continue;
        regions_done |= bit;
        out.push_back(*found);
    }
    entries = std::move(out);
}

/// What those revealed that decide on a message: all, or with regions those of its region.
std::vector<Listing> listings_about(const std::vector<Listing>& all, const Group& group, const GroupSpec& terms,
                                    std::uint32_t author) {
    if (!kernels::is_merged_round(group.round, terms.regions)) return all;
    const std::uint32_t region = kernels::region_of(author, group.round, terms.regions);
    const auto listers = kernels::listers_of(group.committed, group.round, terms.regions, region);
    std::vector<Listing> out;
    if (!has_quorum_of(group, listers)) return out;
    for (const Listing& listing : all)
        if (has_run(listers, listing.run)) out.push_back(listing);
    return out;
}

}  // namespace

bool has_quorum(const StateView& view, const Group& group, const GroupSpec& terms) {
    if (terms.regions != 0) {
        if (kernels::is_merging_round(group.round, terms.regions))
            return !group.revealed.empty() && 2 * group.revealed.size() >= views::holders(view, group, terms).size();
        for (std::uint32_t region = 0; region < terms.regions; ++region)
            if (!has_quorum_of(group, kernels::listers_of(group.committed, group.round, terms.regions, region)))
                return false;
        return true;
    }
    const std::size_t of = std::max<std::size_t>(group.committed.size(), group.committed_before);
    return !group.revealed.empty() && 2 * group.revealed.size() >= of;
}

market::RoundEntry entry_of(const Effects& fx, const Group& group, const GroupSpec& terms, std::uint32_t run) {
    const auto message = must_load<market::RoundMessage>(fx.state, keys::round_message(group.task, group.round, run));
    const std::uint32_t weight = kernels::is_merging_round(group.round, terms.regions)
                                     ? views::merged_weight(fx.state, group, terms, run)
                                     : kernels::message_weight(message.steps, message.age, terms.max_age);
    return {run, message.steps, message.age, weight};
}

std::vector<market::RoundEntry> listed_messages(const Effects& fx, const Group& group, const GroupSpec& terms) {
    std::vector<Listing> all;
    for (const std::uint32_t run : group.revealed)
        all.push_back({run, must_load<market::Holding>(fx.state, keys::holding(group.task, group.round, run)).bitmap});
    std::vector<market::RoundEntry> out;
    for (std::size_t place = 0; place < group.committed.size(); ++place) {
        const std::uint32_t author = group.committed[place];
        const std::vector<Listing> listings = listings_about(all, group, terms, author);
        // A run that was convicted meanwhile adds nothing more to the result.
        const auto run = must_load<market::Run>(fx.state, keys::run(group.task, author));
        if (run.state != market::RunState::running || !is_listed(listings, author, place)) continue;
        out.push_back(entry_of(fx, group, terms, author));
    }
    if (kernels::is_merging_round(group.round, terms.regions)) keep_first_of_regions(fx, group, terms, out);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.run < b.run; });
    return out;
}

}  // namespace retrace::contracts
