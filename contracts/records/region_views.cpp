// SPDX-License-Identifier: MIT
#include "contracts/records/region_views.hpp"

#include <algorithm>
#include <set>

#include "contracts/records/rollback_views.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::contracts::views {
namespace {

using market::RoundEntry;

/// The record whose messages are merged in this round.
market::Round merged_record(const StateView& view, std::uint64_t task, std::uint32_t merging_round) {
    return must_load<market::Round>(view, keys::round(task, merging_round - 1));
}

const RoundEntry* find_entry(const std::vector<RoundEntry>& entries, std::uint32_t run) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const RoundEntry& e) { return e.run == run; });
    return found == entries.end() ? nullptr : &*found;
}

/// By region, and in it by the places of the runs.
void sort_by_place(std::vector<RoundEntry>& entries) {
    std::sort(entries.begin(), entries.end(), [](const RoundEntry& a, const RoundEntry& b) {
        return std::tie(a.region, a.place, a.run) < std::tie(b.region, b.place, b.run);
    });
}

/// The runs that list messages of the open round unless they leave.
std::vector<std::uint32_t> possible_holders(const StateView& view, const market::Group& group,
                                            const market::GroupSpec& terms) {
    if (terms.regions == 0) return group.committed;
    std::set<std::uint32_t> out;
    if (kernels::is_merging_round(group.round, terms.regions)) {
        // Where one message alone is recorded its author has no judge but those that listed it.
        const market::Round merged = merged_record(view, group.task, group.round);
        for (const RoundEntry& entry : merged.entries) out.insert(entry.run);
        out.insert(merged.holds.begin(), merged.holds.end());
        return {out.begin(), out.end()};
    }
    for (const auto& [author, lists] : judges(view, group)) out.insert(lists.begin(), lists.end());
    return {out.begin(), out.end()};
}

/// What the order follows from. Nobody knows it before the reveals of the newest beacon are in.
Hash32 seed_of(const Hash32& beacon, const market::Group& group) {
    return merkle::Sha256()
        .update(view(std::string_view("retrace/region/2")))
        .update(view(beacon))
        .update_u64(group.task)
        .update_u32(group.round)
        .finish();
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
    if (!kernels::is_merging_round(record.index, regions_of(view, task)))
        return find_entry(record.entries, run) == nullptr;
    const auto sent = merged_messages(view, task, record.index);
    const RoundEntry* const own = find_entry(sent, run);
    if (own == nullptr) return false;
    const auto of_region = [&](const RoundEntry& entry) { return entry.region == own->region; };
    if (std::any_of(record.entries.begin(), record.entries.end(), of_region)) return false;
    return std::find_if(sent.begin(), sent.end(), of_region)->run == run;  // 21.20.5: the first of those that merged.
}

bool may_send(const StateView& view, std::uint64_t task, std::uint32_t index) {
    const auto known = run(view, task, index);
    const auto as_member = member(view, task, index);
    return known && as_member && known->state == market::RunState::running && known->next_state != 0 &&
           !as_member->leaving;
}

market::Division division(const StateView& view, std::uint64_t task) {
    return load<market::Division>(view, keys::division(task)).value_or(market::Division{});
}

market::Division draw_division(const StateView& view, const market::Group& group, const market::GroupSpec& terms,
                               const market::Params& params) {
    const Beacon newest = beacon(view).value_or(Beacon{});
    auto members = must_load<market::Task>(view, keys::task(group.task)).active;
    std::erase_if(members, [&](std::uint32_t run) { return !may_send(view, group.task, run); });
    market::Division out{group.round / kernels::kRegionRounds, kernels::regions_for(members.size(), terms.regions),
                         kernels::drawn_order(members, seed_of(newest.value, group))};
    // Whoever had no number before this beacon was known might have joined for the place that it gives.
    const std::uint64_t known_from = (newest.epoch + 1) * params.epoch_blocks;
    std::stable_partition(out.order.begin(), out.order.end(),
                          [&](std::uint32_t run) { return checkpoint(view, group.task, run, 0)->height < known_from; });
    return out;
}

market::Division with_newcomers(market::Division division, const market::Group& group) {
    for (const std::uint32_t run : group.committed)
        if (std::find(division.order.begin(), division.order.end(), run) == division.order.end())
            division.order.push_back(run);
    return division;
}

std::vector<std::uint32_t> holders(const StateView& view, const market::Group& group, const market::GroupSpec& terms) {
    auto out = possible_holders(view, group, terms);
    if (kernels::is_merging_round(group.round, terms.regions))
        std::erase_if(out, [&](std::uint32_t run) { return !may_send(view, group.task, run); });
    return out;
}

bool is_holder(const StateView& view, const market::Group& group, const market::GroupSpec& terms, std::uint32_t run) {
    const auto all = possible_holders(view, group, terms);
    if (std::find(all.begin(), all.end(), run) == all.end()) return false;
    return !kernels::is_merging_round(group.round, terms.regions) || may_send(view, group.task, run);
}

bool awaits_lists(const StateView& view, const market::Group& group, const market::GroupSpec& terms) {
    if (terms.regions == 0) return group.listed.size() != group.committed.size();
    const auto all = possible_holders(view, group, terms);
    return std::any_of(all.begin(), all.end(), [&](std::uint32_t run) {
        return std::find(group.listed.begin(), group.listed.end(), run) == group.listed.end() &&
               may_send(view, group.task, run);
    });
}

std::map<std::uint32_t, std::vector<std::uint32_t>> judges(const StateView& view, const market::Group& group) {
    const market::Division known = division(view, group.task);
    auto placed = kernels::in_regions(known.order, known.regions);
    const std::set<std::uint32_t> sent(group.committed.begin(), group.committed.end());
    std::erase_if(placed, [&](const kernels::PlacedRun& of) { return !sent.contains(of.run); });
    const auto lists = kernels::judges_of(placed, known.regions);
    std::map<std::uint32_t, std::vector<std::uint32_t>> out;
    for (std::size_t i = 0; i < placed.size(); ++i) out.emplace(placed[i].run, lists[i]);
    return out;
}

std::vector<std::uint32_t> mergers(const StateView& view, const market::Group& group, const market::GroupSpec& terms) {
    std::vector<std::uint32_t> out;
    if (!kernels::is_merging_round(group.round, terms.regions) || group.round >= terms.rounds) return out;
    auto entries = merged_record(view, group.task, group.round).entries;
    sort_by_place(entries);
    std::uint32_t region = 0;
    std::size_t found = 0;
    for (const RoundEntry& entry : entries) {
        if (entry.region != region) region = entry.region, found = 0;
        const bool merges = found < kernels::kRegionMergers && entry.place != RoundEntry::kNoPlace;
        if (!merges || !may_send(view, group.task, entry.run)) continue;
        ++found;
        out.push_back(entry.run);
    }
    return out;
}

std::vector<RoundEntry> merged_messages(const StateView& view, std::uint64_t task, std::uint32_t round) {
    auto out = merged_record(view, task, round).entries;
    std::erase_if(out, [&](const RoundEntry& entry) { return !round_message(view, task, round, entry.run); });
    sort_by_place(out);
    return out;
}

RoundEntry merged_entry(const StateView& view, const market::Group& group, const market::GroupSpec& terms,
                        std::uint32_t run) {
    market::Round merged = merged_record(view, group.task, group.round);
    const RoundEntry own = *find_entry(merged.entries, run);
    kernels::keep_read_entries(merged, merged.index, terms.regions, run, {merged.index, group.round, 1, {}, 0, true});
    return {run, 1, 0, merged.total, own.region, own.place};
}

std::uint32_t messages_moved(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const std::uint32_t regions = regions_of(view, task);
    const auto known = regions == 0 ? std::nullopt : member_segment(view, task, run, segment);
    if (!known || known->steps == 0 || !kernels::is_merging_round(known->base, regions)) return 1;
    const auto message = round_message(view, task, known->base, run);
    if (round(view, task, known->base) && !message->recorded) return 1;  // It moves nothing.
    const auto entries = merged_record(view, task, known->base).entries;
    const RoundEntry* const own = find_entry(entries, run);
    if (own == nullptr) return 1;
    return static_cast<std::uint32_t>(std::count_if(
        entries.begin(), entries.end(), [&](const RoundEntry& entry) { return entry.region == own->region; }));
}

ledger::U256 pay_of(const market::GroupSpec& terms, std::uint32_t round, const market::RoundMessage& message,
                    const ledger::U256& price) {
    if (kernels::is_merging_round(round, terms.regions))
        return message.recorded || message.standby ? market::merge_pay(price) : ledger::U256();
    if (!message.recorded || message.unpaid) return {};
    return market::segment_pay(price, message.steps, terms.steps_max);
}

}  // namespace retrace::contracts::views
