// SPDX-License-Identifier: MIT
#include "contracts/records/rollback_views.hpp"

#include <algorithm>

#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"
#include "market/odds.hpp"

namespace retrace::contracts::views {
namespace {

/// Whether nothing can be found wrong in the message any more.
bool is_message_final(const StateView& view, std::uint64_t task, std::uint32_t round, std::uint32_t author) {
    const auto author_run = run(view, task, author);
    const auto message = round_message(view, task, round, author);
    if (!author_run || !message) return false;  // A view that is not complete.
    return market::is_over(author_run->state) || message->segment < author_run->finalised;
}

}  // namespace

market::Rollbacks rollbacks(const StateView& view, std::uint64_t task) {
    return load<market::Rollbacks>(view, keys::rollbacks(task)).value_or(market::Rollbacks{});
}

market::MemberAttempts member_attempts(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return load<market::MemberAttempts>(view, keys::member_attempts(task, run)).value_or(market::MemberAttempts{});
}

std::uint8_t attempt_of(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    return market::attempt_of(member_attempts(view, task, run), segment);
}

std::uint64_t start_of_segment(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    return market::start_of(member_attempts(view, task, run), segment);
}

std::vector<std::uint64_t> segments_from(const StateView& view, std::uint64_t task, std::uint32_t run,
                                         std::uint64_t state) {
    const market::MemberAttempts attempts = member_attempts(view, task, run);
    std::vector<std::uint64_t> out;
    if (market::start_of(attempts, state) == state) out.push_back(state);
    for (const market::MemberAttempt& entry : attempts.items)
        if (entry.start == state && entry.segment != state) out.push_back(entry.segment);
    return out;
}

std::optional<market::Round> round_at(const StateView& view, std::uint64_t task, std::uint32_t index,
                                      std::uint8_t attempt) {
    auto record = round(view, task, index);
    if (record && attempt != 0) market::undo_entries(rollbacks(view, task).noted, attempt, index, *record);
    return record;
}

bool is_void(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const market::Rollbacks known = rollbacks(view, task);
    const auto span = known.noted.empty() ? std::nullopt : member_segment(view, task, run, segment);
    return span && market::is_void(known.noted, attempt_of(view, task, run, segment), span->base);
}

bool read_alike(const StateView& view, std::uint64_t task, std::uint32_t base,
                std::pair<std::uint32_t, std::uint64_t> a, std::pair<std::uint32_t, std::uint64_t> b) {
    const market::Rollbacks known = rollbacks(view, task);
    if (known.noted.empty()) return true;
    return market::changed_by(known.noted, attempt_of(view, task, a.first, a.second), base) ==
           market::changed_by(known.noted, attempt_of(view, task, b.first, b.second), base);
}

bool takes_in(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment, std::uint64_t round,
              std::uint32_t author) {
    const auto span = member_segment(view, task, run, segment);
    if (!span || round < span->from || round >= span->base) return false;
    const auto record = record_read(view, task, run, static_cast<std::uint32_t>(round),
                                    attempt_of(view, task, run, segment), span_of(*span, regions_of(view, task) != 0));
    return record && std::any_of(record->entries.begin(), record->entries.end(),
                                 [&](const market::RoundEntry& entry) { return entry.run == author; });
}

MemberStart start_of_member(const StateView& view, std::uint64_t task, std::uint32_t index) {
    const auto own = run(view, task, index);
    const auto known = member(view, task, index);
    if (!own || !known) return {};
    MemberStart out{own->next_state == 0 ? 0 : own->next_state - 1, known->base, {}};
    if (known->messages != 0) out.last_message = known->last_round;
    const std::uint64_t newest = out.state;
    while (out.state != 0 && is_void(view, task, index, out.state - 1)) --out.state;
    if (out.state == newest) return out;
    const auto before = out.state == 0 ? std::nullopt : member_segment(view, task, index, out.state - 1);
    out.base = before ? before->base : known->entered;
    out.last_message.reset();
    if (before && before->steps != 0) out.last_message = before->base + before->age;
    return out;
}

std::uint32_t final_rounds(const StateView& view, std::uint64_t task, const market::Rollbacks& known) {
    const auto now = static_cast<std::uint8_t>(known.noted.size());
    std::uint32_t out = known.final_rounds;
    for (auto record = round_at(view, task, out, now); record; record = round_at(view, task, ++out, now))
        if (!std::all_of(record->entries.begin(), record->entries.end(), [&](const market::RoundEntry& entry) {
                return is_message_final(view, task, record->index, entry.run);
            }))
            break;
    return out;
}

std::optional<ledger::U256> stake_floor(const StateView& view, const market::Params& params, std::uint64_t task) {
    const auto known = spec(view, task);
    auto floor = known ? market::stake_floor(params, *known) : std::nullopt;
    if (floor) *floor += rollback_stake(view, task);
    return floor;
}

ledger::U256 rollback_stake(const StateView& view, std::uint64_t task) {
    const auto known = spec(view, task);
    const auto terms = group_spec(view, task);
    return known && terms ? market::rollback_stake(*known, *terms) : ledger::U256();
}

}  // namespace retrace::contracts::views
