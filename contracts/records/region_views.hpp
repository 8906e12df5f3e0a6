// SPDX-License-Identifier: MIT
// What regions of a group are to its rounds, as its records say: pure functions of them. SPEC 21.20.
#pragma once

#include <map>

#include "contracts/records/group_views.hpp"
#include "verifier/game/member_facts.hpp"

namespace retrace::contracts::views {

/// 0 if the group has no regions, or there is no such group.
std::uint32_t regions_of(const StateView& view, std::uint64_t task);
/// The record of a closed round as a segment of the run reads it (rollback_views.hpp: round_at; kernels/plan 2.7).
std::optional<market::Round> record_read(const StateView& view, std::uint64_t task, std::uint32_t run,
                                         std::uint32_t round, std::uint8_t attempt, const kernels::SegmentSpan& span);
/// Whether the run's last message was sent in the round of this record, and should be in it and is not.
bool is_omitted(const StateView& view, std::uint64_t task, const std::optional<std::uint32_t>& last_message,
                const market::Round& record, std::uint32_t run);
/// Whether the run is running, has its first state and does not leave.
bool may_send(const StateView& view, std::uint64_t task, std::uint32_t run);

/// Not drawn until the first round has lasted for a while.
market::Division division(const StateView& view, std::uint64_t task);
/// 21.20.9: the division of all members by the newest beacon.
market::Division draw_division(const StateView& view, const market::Group& group, const market::GroupSpec& terms,
                               const market::Params& params);
/// The division with the runs that sent in the open round and have no place yet behind all others.
market::Division with_newcomers(market::Division division, const market::Group& group);
/// 21.20.4: the runs that may list the messages of the open round, while they are listed and revealed.
std::vector<std::uint32_t> holders(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// Whether the run is one of them, and whether one of them has not listed yet.
bool is_holder(const StateView& view, const market::Group& group, const market::GroupSpec& terms, std::uint32_t run);
bool awaits_lists(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// 21.20.4: for each run that sent in the open round of training, those that list its message.
std::map<std::uint32_t, std::vector<std::uint32_t>> judges(const StateView& view, const market::Group& group);
/// 21.20.3: the runs that merge messages in the open round, by region; none if it is not a round of merged messages.
std::vector<std::uint32_t> mergers(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// Runs with a merged message in this round, by region, and in a region those that come first are recorded rather.
std::vector<market::RoundEntry> merged_messages(const StateView& view, std::uint64_t task, std::uint32_t round);
/// The message that the run merges in the open round as a record has it: of the weight, the region and the place of those
/// that it is made of.
market::RoundEntry merged_entry(const StateView& view, const market::Group& group, const market::GroupSpec& terms,
                                std::uint32_t run);
/// 21.20.8: the number of messages that the segment merges if its own moves the model, or may; else 1.
std::uint32_t messages_moved(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// What a message earns that the run sent in this round, as far as it is known.
ledger::U256 pay_of(const market::GroupSpec& terms, std::uint32_t round, const market::RoundMessage& message,
                    const ledger::U256& price);

}  // namespace retrace::contracts::views
