// SPDX-License-Identifier: MIT
// Finds the runs that produced a model.
#pragma once

#include <string>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/types.hpp"

namespace retrace::node {

/// Returns the run whose last state is the model, then the run from whose state that one began, and so on down to the
/// run that began with the task; empty when there is no such run. `solver`: "0x…", the solver that made the model;
/// empty: any, the newest run first. A forfeited or left run is in the list for the states up to the one from which the
/// next run continued, which was finalised. If the last run in the list does not begin with state 0, the ledger's
/// records are incomplete.
std::vector<market::Run> delivered_runs(const ledger::StateView& state, const market::Task& task,
                                        std::uint64_t segments, const std::string& solver);
/// Returns the run that made segment `index`, or nullptr.
const market::Run* run_of_segment(const std::vector<market::Run>& runs, std::uint64_t index);

}  // namespace retrace::node
