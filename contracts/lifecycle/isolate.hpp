// SPDX-License-Identifier: MIT
// A rule that breaks an invariant ends its own piece of work and freezes the task that it is about. SPEC 8.3 to 8.5.
#pragma once

#include <functional>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Hears of each broken invariant: the sentence, and the place in the code. For logs and metrics: the ledger's records
/// hold neither, because two builds may word them differently.
using BrokenInvariantHandler = std::function<void(const std::string&)>;

/// Runs `work` on an overlay. Its effects and events are taken over when no invariant broke, and thrown away otherwise;
/// then `on_broken` is called and the result is false.
bool isolate(Effects& fx, const BrokenInvariantHandler& on_broken, const std::function<void(Effects&)>& work);

/// The task is about to be touched no more: nothing that is due for it is handled and every call about it is refused,
/// until it is released after `unbond_blocks`. A task that is over stays as it is.
void freeze_task(Effects& fx, std::uint64_t task);
bool is_frozen(const StateView& view, std::uint64_t task);
/// Ends one run of a frozen task, and with the last of them the task: what each party had locked or paid in
/// goes back to it.
void release_task(Effects& fx, std::uint64_t task);

}  // namespace retrace::contracts
