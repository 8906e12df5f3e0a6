// SPDX-License-Identifier: MIT
// Disputes between replicas whose roots differ: one honest replica wins against any number of others. SPEC 15.8.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Called when state `index` of a run was opened: opens a dispute with every other active run that starts one of the
/// two segments next to it from the same root and ends in another, or that starts a seeded task from another state. Two
/// runs that already dispute get no second dispute, because one of them ends with the first.
void compare_replicas(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index);
/// Whether the run is on either side of an open dispute between replicas of the task.
bool disputes_replica(const StateView& view, const market::Run& run);
/// Ids of the open disputes between replicas in which the run is the accuser.
std::vector<std::uint64_t> replicas_accused(const StateView& view, const market::Run& run);

}  // namespace retrace::contracts
