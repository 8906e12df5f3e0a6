// SPDX-License-Identifier: MIT
// Typed reads of the records of group tasks, as views.hpp has those of the others. SPEC 21.
#pragma once

#include <optional>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/groups.hpp"
#include "market/masks/records.hpp"

namespace retrace::contracts::views {

using ledger::StateView;

/// Whether the task is that of a group.
bool is_group(const StateView& view, std::uint64_t task);
/// Returns the active runs whose states are those of `run`, itself included if it is active: all runs of a task, but
/// members of a group have states of their own (21.7).
std::vector<std::uint32_t> replicas_of(const StateView& view, const market::Task& task, std::uint32_t run);
std::optional<market::GroupSpec> group_spec(const StateView& view, std::uint64_t task);
std::optional<market::Group> group(const StateView& view, std::uint64_t task);
/// Exists once the round is closed.
std::optional<market::Round> round(const StateView& view, std::uint64_t task, std::uint32_t round);
std::optional<market::RoundMessage> round_message(const StateView& view, std::uint64_t task, std::uint32_t round,
                                                  std::uint32_t run);
std::optional<market::Holding> holding(const StateView& view, std::uint64_t task, std::uint32_t round,
                                       std::uint32_t run);
/// Exists in groups with masks, from the beginning of the round.
std::optional<market::RoundMasks> round_masks(const StateView& view, std::uint64_t task, std::uint32_t round);
std::optional<market::MemberMasks> member_masks(const StateView& view, std::uint64_t task, std::uint32_t round,
                                                std::uint32_t run);
/// The keys, shares and record of a round, as far as it has come.
/// Keys of all that posted them in the round.
market::CohortKeys mask_cohort(const StateView& view, std::uint64_t task, std::uint32_t round);
market::MaskedRound masked_round(const StateView& view, std::uint64_t task, std::uint32_t round);
std::optional<market::Member> member(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Segment `index` leads from state `index` of the run to state `index` + 1.
std::optional<market::MemberSegment> member_segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                    std::uint64_t index);

/// Accounts that the requester of a private group has admitted, ascending.
std::vector<ledger::Address> admitted(const StateView& view, std::uint64_t task);
/// 21.13.2: whether the account may have a seat as far as admission goes: everybody, but in a private group.
bool may_take_part(const StateView& view, std::uint64_t task, const ledger::Address& account);
/// 21.13.3: whether the data of the run are fixed: of a member of a private group once it has committed to them.
bool has_data(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Nobody, until the member names somebody.
market::Consent consent(const StateView& view, std::uint64_t task, std::uint32_t run);
/// 21.11.33: whether nothing of what makes the segment's message is hidden: it has no masks, or they are shown.
bool shows_masks(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// 21.13: whether the segment has inner steps on data that nobody else has. So has none without inner steps: everybody can
/// replay it.
bool is_private(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// 21.13.6: the accounts that have the member's data by its consent and may audit this segment of it, ascending.
std::vector<ledger::Address> auditors_of_data(const StateView& view, std::uint64_t task, std::uint32_t run,
                                              std::uint64_t segment);
/// Whether the account is one of them.
bool has_consent(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
                 const ledger::Address& party);
/// 21.13.31: the segment with which the run's first state is disputed: 0, but in a private group the first one that takes in
/// records. It may not be committed yet.
std::uint64_t segment_of_start(const StateView& view, std::uint64_t task, std::uint32_t run);

/// 21.5: returns the base at which the next segment of a member begins: that of its newest one, and of its first state
/// before, or behind the closed rounds that follow it and leave the member nothing to do.
std::uint32_t taken_in_until(const StateView& view, std::uint64_t task, std::uint32_t run);

/// Returns the segment of the member that takes in the record of a round; nullopt if it has none. Of a group without
/// rollbacks, whose bases ascend (else rollback_views.hpp: takes_in).
std::optional<std::uint64_t> segment_taking_in(const StateView& view, std::uint64_t task, std::uint32_t run,
                                               std::uint64_t round);

/// 21.6.2: whether enough messages of the open round are in for the others to have the grace only: 80 % of the number of the
/// round before, or of half of all that may send if that is more, so that a few fast members do not shut out the others
/// after a round that most missed.
bool grace_begins(const market::Group& group);

/// The end of a member's segment that was opened: all those with one base have the same shared tensors.
struct SharedOpening {
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 digest;  ///< market::shared_digest of MemberSegment::shared.
    static auto tie(auto& o) { return std::tie(o.run, o.segment, o.digest); }
};
/// Returns those with this base, in the order in which they were opened.
std::vector<SharedOpening> shared_openings(const StateView& view, std::uint64_t task, std::uint32_t base);

}  // namespace retrace::contracts::views
