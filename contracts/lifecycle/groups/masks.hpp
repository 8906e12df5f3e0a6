// SPDX-License-Identifier: MIT
// The masks of a round of a group: keys and shares before messages, unmasking after the record. SPEC 21.11.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "market/groups.hpp"
#include "market/masks/records.hpp"

namespace retrace::contracts {

/// Called when a round of a group with masks begins, whose time is known: members post keys.
void begin_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms);
/// Called at the beginning of a block while members train: goes on to the next step if this one is over. The masks are
/// lost if too few took part.
void advance_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms);
/// 21.11.2: called with the first keys of the round: from now on it has the time of a round of which nothing is doubled.
/// Stores the group, not the masks.
void note_first_keys(Effects& fx, market::Group& group, market::RoundMasks& masks);
/// 21.11.31: called when a dealer was put out: the masks are lost if the others are too few.
void end_masks_of_too_few(Effects& fx, const market::Group& group);
/// 21.11.27: called when a member leaves or ends: it is no longer of a cohort that is not fixed yet.
void drop_from_cohort(Effects& fx, const market::Group& group, std::uint32_t run);
/// Whether a member of the cohort that has not left may still deal.
bool awaits_shares(const StateView& view, std::uint64_t task, const market::RoundMasks& masks);
/// Whether messages are not taken, or a member that dealt and has not left may still send one.
bool awaits_messages(const StateView& view, const market::Group& group, const market::RoundMasks& masks);
/// Whether a run that dealt and is not over may still reveal its shares.
bool awaits_revealed(const StateView& view, std::uint64_t task, const market::RoundMasks& masks);
/// The record is fixed to messages of these runs, ascending. Returns false if they are too few: the round is void.
bool begin_unmasking(Effects& fx, const market::Group& group, const market::GroupSpec& terms,
                     std::vector<std::uint32_t> recorded);
/// Puts the next secrets together, as many as one block does. Returns the step of the masks: `secrets`, `open`, or `lost` if
/// too few shares of one were revealed, so that the round is void.
market::MaskStep open_secrets(Effects& fx, const market::Group& group);
/// Called when the round closes: masks that were not unmasked are lost.
void close_masks(Effects& fx, const market::Group& group);
/// Removes the masks of the open round and what members posted.
void forget_masks(Effects& fx, const market::Group& group);

/// 21.11.8: whether a complaint may still show that the run dealt wrong shares in the open round. Until then it does not
/// end with its lock.
bool holds_shares(const StateView& view, std::uint64_t task, std::uint32_t run);
/// 21.11.28: whether a member without a message in a round is not absent: it took the last step of masks that were lost
/// before messages, or had its first state only after the cohort was fixed. Called before close_masks.
bool is_excused(const StateView& view, const market::Group& group, const market::GroupSpec& terms, std::uint32_t run);
/// The terms of the sum of the open round; none without masks or if they were lost.
std::vector<market::MaskTerm> mask_terms_of(const StateView& view, const market::Group& group);
/// 21.11.9: whether the run has revealed its shares in the open round, or there are no masks.
bool has_unmasked(const StateView& view, const market::Group& group, std::uint32_t run);

}  // namespace retrace::contracts
