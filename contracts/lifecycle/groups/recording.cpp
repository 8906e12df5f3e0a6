// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/recording.hpp"

#include <algorithm>
#include <map>
#include <set>

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
    void add(std::size_t place) {
        bitmap.at(place / 8) = static_cast<std::uint8_t>(bitmap.at(place / 8) | 1u << (place % 8));
    }
};

bool has_run(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

/// 21.20.4: whether half of those that list the message of this run have revealed what they have.
bool has_quorum_about(const Group& group, const std::vector<std::uint32_t>& judges) {
    const auto revealed =
        std::count_if(judges.begin(), judges.end(), [&](std::uint32_t run) { return has_run(group.revealed, run); });
    return 2 * static_cast<std::size_t>(revealed) >= judges.size();
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

/// 21.20.5: of the messages of a region, that of the merger in the first place that is listed is recorded.
void keep_first_of_regions(std::vector<market::RoundEntry>& entries) {
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return std::tie(a.region, a.place) < std::tie(b.region, b.place); });
    const auto same = [](const auto& a, const auto& b) { return a.region == b.region; };
    entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
}

/// 21.20.4: who lists one of two messages with equal roots has both.
void list_equal_messages(const StateView& view, const Group& group, std::vector<Listing>& listings) {
    std::map<std::vector<Hash32>, std::vector<std::size_t>> places;
    for (std::size_t place = 0; place < group.committed.size(); ++place)
        places[views::round_message(view, group.task, group.round, group.committed[place])->tensors].push_back(place);
    for (const auto& [tensors, equal] : places)
        for (Listing& listing : listings)
            if (std::any_of(equal.begin(), equal.end(), [&](std::size_t place) { return listing.has(place); }))
                for (const std::size_t place : equal) listing.add(place);
}

/// 21.20.3: the places of recorded messages in their regions.
void set_places(const Effects& fx, const Group& group, std::vector<market::RoundEntry>& entries) {
    const market::Division division = views::division(fx.state, group.task);
    std::vector<std::uint32_t> next(division.regions);
    for (const auto& [run, region] : kernels::in_regions(division.order, division.regions)) {
        const auto found =
            std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.run == run; });
        if (found == entries.end()) continue;
        found->region = region;
        found->place =
            views::may_send(fx.state, group.task, found->run) ? next[found->region]++ : market::RoundEntry::kNoPlace;
    }
}

std::vector<Listing> listings_of(const StateView& view, const Group& group, const GroupSpec& terms) {
    std::vector<Listing> out;
    for (const std::uint32_t run : group.revealed)
        out.push_back({run, must_load<market::Holding>(view, keys::holding(group.task, group.round, run)).bitmap});
    if (kernels::is_merging_round(group.round, terms.regions)) list_equal_messages(view, group, out);
    return out;
}

/// With regions, what those revealed that list a message.
std::vector<Listing> listings_about(const std::vector<Listing>& all, const Group& group,
                                    const std::vector<std::uint32_t>& judges) {
    std::vector<Listing> out;
    if (!has_quorum_about(group, judges)) return out;
    for (const Listing& listing : all)
        if (has_run(judges, listing.run)) out.push_back(listing);
    return out;
}

market::RoundEntry entry_of(const StateView& view, const Group& group, const GroupSpec& terms, std::uint32_t run) {
    if (kernels::is_merging_round(group.round, terms.regions)) return views::merged_entry(view, group, terms, run);
    const auto message = must_load<market::RoundMessage>(view, keys::round_message(group.task, group.round, run));
    return {run, message.steps, message.age, kernels::message_weight(message.steps, message.age, terms.max_age)};
}

/// The messages that are listed, in the order of `committed`; of merged ones those of all mergers.
std::vector<market::RoundEntry> all_listed(const StateView& view, const Group& group, const GroupSpec& terms) {
    const std::vector<Listing> all = listings_of(view, group, terms);
    const bool is_merged = kernels::is_merged_round(group.round, terms.regions);
    auto judges = is_merged ? views::judges(view, group) : std::map<std::uint32_t, std::vector<std::uint32_t>>{};
    std::vector<market::RoundEntry> out;
    for (std::size_t place = 0; place < group.committed.size(); ++place) {
        const std::uint32_t author = group.committed[place];
        const std::vector<Listing> of_region =
            is_merged ? listings_about(all, group, judges[author]) : std::vector<Listing>{};
        const std::vector<Listing>& listings = is_merged ? of_region : all;
        // A run that was convicted meanwhile adds nothing more to the result.
        const auto run = must_load<market::Run>(view, keys::run(group.task, author));
        if (run.state != market::RunState::running || !is_listed(listings, author, place)) continue;
        out.push_back(entry_of(view, group, terms, author));
    }
    return out;
}

}  // namespace

bool has_quorum(const StateView& view, const Group& group, const GroupSpec& terms) {
    if (kernels::is_merging_round(group.round, terms.regions))
        return !group.revealed.empty() && 2 * group.revealed.size() >= views::holders(view, group, terms).size();
    if (terms.regions != 0) {
        const auto judges = views::judges(view, group);
        return std::all_of(judges.begin(), judges.end(),
                           [&](const auto& of_message) { return has_quorum_about(group, of_message.second); });
    }
    const std::size_t of = std::max<std::size_t>(group.committed.size(), group.committed_before);
    return !group.revealed.empty() && 2 * group.revealed.size() >= of;
}

market::RoundEntry entry_of(const Effects& fx, const Group& group, const GroupSpec& terms, std::uint32_t run) {
    return entry_of(fx.state, group, terms, run);
}

std::vector<market::RoundEntry> listed_messages(const Effects& fx, const Group& group, const GroupSpec& terms) {
    std::vector<market::RoundEntry> out = all_listed(fx.state, group, terms);
    if (kernels::is_merging_round(group.round, terms.regions)) keep_first_of_regions(out);
    if (kernels::is_merged_round(group.round, terms.regions)) set_places(fx, group, out);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.run < b.run; });
    return out;
}

bool lacks_region(const StateView& view, const Group& group, const GroupSpec& terms) {
    if (!kernels::is_merging_round(group.round, terms.regions)) return false;
    std::set<std::uint32_t> sent, listed;
    for (const std::uint32_t run : group.committed) sent.insert(views::merged_entry(view, group, terms, run).region);
    for (const market::RoundEntry& entry : all_listed(view, group, terms)) listed.insert(entry.region);
    return sent != listed;
}

void note_merging(Effects& fx, const Group& group, const market::Round& record) {
    const auto has_region = [&](std::uint32_t region) {
        return std::find_if(record.entries.begin(), record.entries.end(),
                            [&](const auto& entry) { return entry.region == region; });
    };
    for (const market::RoundEntry& sent : views::merged_messages(fx.state, group.task, group.round)) {
        const auto found = has_region(sent.region);
        if (found == record.entries.end() || sent.place <= found->place) continue;
        const keys::Key key = keys::round_message(group.task, group.round, sent.run);
        auto message = must_load<market::RoundMessage>(fx.state, key);
        message.standby = true;
        store(fx.state, key, message);
    }
    const auto merged = must_load<market::Round>(fx.state, keys::round(group.task, group.round - 1));
    for (const market::RoundEntry& entry : merged.entries) {
        if (entry.place >= kernels::kRegionMergers) continue;
        const bool sent = views::round_message(fx.state, group.task, group.round, entry.run).has_value();
        if (sent && has_region(entry.region) != record.entries.end()) continue;
        const keys::Key key = keys::round_message(group.task, merged.index, entry.run);
        auto message = must_load<market::RoundMessage>(fx.state, key);
        message.unpaid = true;
        store(fx.state, key, message);
    }
}

}  // namespace retrace::contracts
