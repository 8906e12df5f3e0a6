// SPDX-License-Identifier: MIT
// From which runs a model came.
#pragma once

#include <string>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/types.hpp"

namespace retrace::node {

/// The run whose last state is the model, the run from whose state that one began, and so on down to the one that began
/// with the task; empty when there is no such run. `solver`: "0x…", whose model; empty: anybody's, the newest run's.
/// A run that was lost or left is among them up to the state that another went on from, which was finalised. A list
/// whose last run does not begin with state 0 is one that the records break off.
std::vector<market::Run> delivered_runs(const ledger::StateView& state, const market::Task& task,
                                        std::uint64_t segments, const std::string& solver);
/// Of these, the one that made segment `index`; nullptr when none did.
const market::Run* run_of_segment(const std::vector<market::Run>& runs, std::uint64_t index);

}  // namespace retrace::node
