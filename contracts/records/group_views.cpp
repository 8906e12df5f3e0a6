// SPDX-License-Identifier: MIT
#include "contracts/records/group_views.hpp"

#include <algorithm>

#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts::views {

bool is_group(const StateView& view, std::uint64_t task) {
    const keys::Key key = keys::group(task);
    return !view.slot(address_of(key.contract), key.bytes).empty();
}
std::vector<std::uint32_t> replicas_of(const StateView& view, const market::Task& task, std::uint32_t run) {
    if (!is_group(view, task.id)) return task.active;
    const bool active = std::find(task.active.begin(), task.active.end(), run) != task.active.end();
    return active ? std::vector<std::uint32_t>{run} : std::vector<std::uint32_t>{};
}

std::optional<market::GroupSpec> group_spec(const StateView& view, std::uint64_t task) {
    return load<market::GroupSpec>(view, keys::group_spec(task));
}
std::optional<market::Group> group(const StateView& view, std::uint64_t task) {
    return load<market::Group>(view, keys::group(task));
}
std::optional<market::Round> round(const StateView& view, std::uint64_t task, std::uint32_t round) {
    return load<market::Round>(view, keys::round(task, round));
}
std::optional<market::RoundMessage> round_message(const StateView& view, std::uint64_t task, std::uint32_t round,
                                                  std::uint32_t run) {
    return load<market::RoundMessage>(view, keys::round_message(task, round, run));
}
std::optional<market::Holding> holding(const StateView& view, std::uint64_t task, std::uint32_t round,
                                       std::uint32_t run) {
    return load<market::Holding>(view, keys::holding(task, round, run));
}
std::optional<market::RoundMasks> round_masks(const StateView& view, std::uint64_t task, std::uint32_t round) {
    return load<market::RoundMasks>(view, keys::round_masks(task, round));
}
std::optional<market::MemberMasks> member_masks(const StateView& view, std::uint64_t task, std::uint32_t round,
                                                std::uint32_t run) {
    return load<market::MemberMasks>(view, keys::member_masks(task, round, run));
}
market::CohortKeys mask_cohort(const StateView& view, std::uint64_t task, std::uint32_t round) {
    market::CohortKeys out;
    for (const std::uint32_t run : must_load<market::RoundMasks>(view, keys::round_masks(task, round)).cohort) {
        const auto own = must_load<market::MemberMasks>(view, keys::member_masks(task, round, run));
        out.emplace(run, market::decode_mask_keys(own.keys).value());
    }
    return out;
}
market::MaskedRound masked_round(const StateView& view, std::uint64_t task, std::uint32_t round) {
    const auto masks = must_load<market::RoundMasks>(view, keys::round_masks(task, round));
    market::MaskedRound out;
    out.round = {task, round, 0};
    out.least = must_load<market::GroupSpec>(view, keys::group_spec(task)).least;
    out.cohort = mask_cohort(view, task, round);
    for (const std::uint32_t run : masks.dealt) {
        const auto own = must_load<market::MemberMasks>(view, keys::member_masks(task, round, run));
        out.dealt.emplace(run, market::decode_mask_shares(own.shares, masks.cohort.size()).value());
    }
    out.recorded = masks.recorded;
    return out;
}
std::optional<market::Member> member(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return load<market::Member>(view, keys::member(task, run));
}
std::optional<market::MemberSegment> member_segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                    std::uint64_t index) {
    return load<market::MemberSegment>(view, keys::member_segment(task, run, index));
}
bool shows_masks(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const auto own = member_segment(view, task, run, segment);
    if (!own || own->masks == 0) return true;
    return !must_load<market::RoundMessage>(view, keys::round_message(task, own->base + own->age, run)).masks.empty();
}
std::vector<ledger::Address> admitted(const StateView& view, std::uint64_t task) {
    return list<ledger::Address>(view, keys::admitted(task));
}
bool may_take_part(const StateView& view, std::uint64_t task, const ledger::Address& account) {
    const auto terms = group_spec(view, task);
    if (!terms || terms->private_sets == 0) return true;
    const auto accounts = admitted(view, task);
    return std::binary_search(accounts.begin(), accounts.end(), account);
}
bool has_data(const StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto terms = group_spec(view, task);
    return !terms || terms->private_sets == 0 || !member(view, task, run)->data.empty();
}
market::Consent consent(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return load<market::Consent>(view, keys::consent(task, run)).value_or(market::Consent{});
}
bool is_private(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const auto terms = group_spec(view, task);
    if (!terms || terms->private_sets == 0) return false;
    const auto known = member_segment(view, task, run, segment);
    return known && known->steps != 0;
}
std::vector<ledger::Address> auditors_of_data(const StateView& view, std::uint64_t task, std::uint32_t run,
                                              std::uint64_t segment) {
    const market::Consent known = consent(view, task, run);
    std::vector<ledger::Address> out = known.accepted;
    for (const market::FormerAuditor& former : known.former)
        if (segment < former.segments) out.push_back(former.account);
    std::sort(out.begin(), out.end());
    return out;
}
bool has_consent(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
                 const ledger::Address& party) {
    const auto auditors = auditors_of_data(view, task, run, segment);
    return std::binary_search(auditors.begin(), auditors.end(), party);
}
std::uint64_t segment_of_start(const StateView& view, std::uint64_t task, std::uint32_t run) {
    // What trains takes in no record, and the next segment takes in that of the message (21.13.4).
    return is_private(view, task, run, 0) ? 1 : 0;
}
std::uint32_t taken_in_until(const StateView& view, std::uint64_t task, std::uint32_t index) {
    if (!member(view, task, index)) return 0;
    const MemberStart start = start_of_member(view, task, index);
    const auto now = static_cast<std::uint8_t>(rollbacks(view, task).noted.size());
    const std::uint32_t regions = regions_of(view, task);
    std::uint32_t base = start.base;
    for (auto record = round_at(view, task, base, now); record; record = round_at(view, task, ++base, now)) {
        const bool taken_in = !record->entries.empty() && !kernels::is_merged_round(base, regions);
        if (taken_in || is_omitted(view, task, start.last_message, *record, index)) break;
    }
    return base;
}
bool grace_begins(const market::Group& group) {
    const std::size_t before = group.round == 0 ? group.senders : group.committed_before;
    const std::size_t expected = std::max<std::size_t>(before, (group.senders + 1) / 2);
    return 5 * group.committed.size() >= 4 * expected;
}
std::optional<std::uint64_t> segment_taking_in(const StateView& view, std::uint64_t task, std::uint32_t index,
                                               std::uint64_t round) {
    const auto known = run(view, task, index);
    if (!known || known->next_state < 2) return std::nullopt;
    // Bases ascend. The first segment whose base is above the round takes its record in, if it begins at or before it.
    std::uint64_t low = 0, high = known->next_state - 1;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        const auto segment = member_segment(view, task, index, middle);
        if (!segment) return std::nullopt;
        if (segment->base > round)
            high = middle;
        else
            low = middle + 1;
    }
    const auto found = member_segment(view, task, index, low);
    if (!found || found->from > round) return std::nullopt;
    return low;
}
std::vector<SharedOpening> shared_openings(const StateView& view, std::uint64_t task, std::uint32_t base) {
    // Not ascending, as other lists are: they are in the order of the openings.
    return load<ListOf<SharedOpening>>(view, keys::shared_openings(task, base)).value_or(ListOf<SharedOpening>{}).items;
}

}  // namespace retrace::contracts::views
