// SPDX-License-Identifier: MIT
// Isolation of broken invariants: a rule that breaks one loses its own effects, and its task is frozen. SPEC 8.3 to
// 8.5.
#pragma once

#include <functional>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Receives each broken invariant: the sentence, and the place in the code. It serves logs and metrics only: the
/// ledger's records hold neither, because two builds may word them differently.
using BrokenInvariantHandler = std::function<void(const std::string&)>;

/// Runs `work` on an overlay. Merges its effects and events if no invariant broke; otherwise discards them, calls
/// `on_broken` and returns false.
bool isolate(Effects& fx, const BrokenInvariantHandler& on_broken, const std::function<void(Effects&)>& work);

/// Freezes the task: its scheduled items are skipped and every call about it is refused until it is released,
/// `unbond_blocks` later. A task in a final state stays as it is.
void freeze_task(Effects& fx, std::uint64_t task);
bool is_frozen(const StateView& view, std::uint64_t task);
/// Ends one run of a frozen task, and the task with the last run: every party gets back what it had locked or paid in.
void release_task(Effects& fx, std::uint64_t task);

}  // namespace retrace::contracts
