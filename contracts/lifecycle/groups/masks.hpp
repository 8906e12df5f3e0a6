// SPDX-License-Identifier: MIT
// The masks of a round of a group: keys and shares before messages, unmasking after the record. SPEC 21.11.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "market/groups.hpp"
#include "market/masks/records.hpp"

namespace retrace::contracts {

/// Called when a round of a group with masks begins: members post keys.
void begin_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms);
/// Called at the beginning of a block while members train: goes on to the next step if this one is over. Returns false
/// if too few took part, so that the round is void.
bool advance_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms);
/// Whether the masks take no more keys or shares, and all that dealt and still run are in `runs`.
bool all_dealers_in(const StateView& view, const market::RoundMasks& masks, std::uint64_t task,
                    const std::vector<std::uint32_t>& runs);
/// The record is fixed to messages of these runs, ascending. Returns false if they are too few: the round is void.
bool begin_unmasking(Effects& fx, const market::Group& group, std::vector<std::uint32_t> recorded);
/// Puts the secrets together. Returns false if too few shares were revealed: the round is void.
bool end_unmasking(Effects& fx, const market::Group& group);
/// 21.11.9: whether a member is paid for its recorded message of a round: it revealed its shares, or there are no masks.
bool earns_in_round(const StateView& view, std::uint64_t task, std::uint32_t round, std::uint32_t run);

}  // namespace retrace::contracts
