// SPDX-License-Identifier: MIT
// What rollbacks of a group undo, as its records say: pure functions of them. SPEC 21.14. Of other tasks nothing is undone.
#pragma once

#include "contracts/records/group_views.hpp"
#include "market/rollbacks.hpp"

namespace retrace::contracts::views {

/// An empty record if the terms have no rollbacks.
market::Rollbacks rollbacks(const StateView& view, std::uint64_t task);
market::MemberAttempts member_attempts(const StateView& view, std::uint64_t task, std::uint32_t run);
/// The number of rollbacks that the segment knows of.
std::uint8_t attempt_of(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// The state that the segment starts at: that of its index, but after a rollback.
std::uint64_t start_of_segment(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// The segments that start at the state, ascending; the first one may be not committed yet.
std::vector<std::uint64_t> segments_from(const StateView& view, std::uint64_t task, std::uint32_t run,
                                         std::uint64_t state);

/// The record of a closed round as segments of an attempt read it.
std::optional<market::Round> round_at(const StateView& view, std::uint64_t task, std::uint32_t round,
                                      std::uint8_t attempt);
/// Whether a rollback has undone the segment.
bool is_void(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// Whether two segments with one base have read the same records.
bool read_alike(const StateView& view, std::uint64_t task, std::uint32_t base,
                std::pair<std::uint32_t, std::uint64_t> a, std::pair<std::uint32_t, std::uint64_t> b);
/// Whether the segment takes in this run's message of a round.
bool takes_in(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment, std::uint64_t round,
              std::uint32_t author);

/// Where a member's next segment begins.
struct MemberStart {
    std::uint64_t state = 0;                    ///< Its newest state that no rollback has undone.
    std::uint32_t base = 0;                     ///< Of that state.
    std::optional<std::uint32_t> last_message;  ///< The round of the last message that this state has sent.
};
MemberStart start_of_member(const StateView& view, std::uint64_t task, std::uint32_t run);

/// The number of rounds from the first on whose recorded messages are final, or whose runs ended without a loss. At least
/// `known`, which it was before.
std::uint32_t final_rounds(const StateView& view, std::uint64_t task, const market::Rollbacks& known);

/// The stake that a bid on the task must lock: of a member, its share of what rollbacks undo is in it. The task exists.
std::optional<ledger::U256> stake_floor(const StateView& view, const market::Params& params, std::uint64_t task);
/// That share, which no fee of an audit is at risk for: it is the requester's (21.14.7).
ledger::U256 rollback_stake(const StateView& view, std::uint64_t task);

}  // namespace retrace::contracts::views
