// SPDX-License-Identifier: MIT
// Which messages of the open round become its record. SPEC 21.6, 21.20.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "contracts/records/group_views.hpp"

namespace retrace::contracts {

/// 21.6.4: whether enough members have revealed what they have. Those that sent a message in the previous round count,
/// so that the members that are left do not decide alone. With regions 21.20.4.
bool has_quorum(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// The message of the run in the open round, as a record has it.
market::RoundEntry entry_of(const Effects& fx, const market::Group& group, const market::GroupSpec& terms,
                            std::uint32_t run);
/// 21.6.5: the messages to be recorded, by ascending run.
std::vector<market::RoundEntry> listed_messages(const Effects& fx, const market::Group& group,
                                                const market::GroupSpec& terms);
/// 21.20.4: whether a region has merged messages, and none of them is listed.
bool lacks_region(const StateView& view, const market::Group& group, const market::GroupSpec& terms);
/// 21.20.6: once the record of a round of merged messages is known, which of its mergers are paid, and for which of their
/// messages of the round before nobody is.
void note_merging(Effects& fx, const market::Group& group, const market::Round& record);

}  // namespace retrace::contracts
