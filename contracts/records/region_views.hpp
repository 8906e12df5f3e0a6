// SPDX-License-Identifier: MIT
// What regions of a group are to its rounds, as its records say: pure functions of them. SPEC 21.20.
#pragma once

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

/// 21.20.4: the runs that may list the messages of the open round.
std::vector<std::uint32_t> holders(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// 21.20.3: the runs that merge messages in the open round, by region; none if it is not a round of merged messages.
std::vector<std::uint32_t> mergers(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// 21.20.5: the weight of a message that the run merges in the open round.
std::uint32_t merged_weight(const StateView& view, const market::Group& group, const market::GroupSpec& terms,
                            std::uint32_t run);

}  // namespace retrace::contracts::views
