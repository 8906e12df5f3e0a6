// SPDX-License-Identifier: MIT
// Replicas that differ dispute with each other: one honest replica wins against any number of others. SPEC 15.8.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// State `index` of a run was opened: opens a dispute with every other active run that starts one of the two segments
/// beside it from the same root and ends in another, or starts a seeded task from another state, unless the two dispute
/// already: one of them ends with that.
void compare_replicas(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index);
/// Whether the run is on either side of an open dispute between replicas of the task.
bool disputes_replica(const StateView& view, const market::Run& run);
/// Those of them in which the run accuses another.
std::vector<std::uint64_t> replicas_accused(const StateView& view, const market::Run& run);

}  // namespace retrace::contracts
