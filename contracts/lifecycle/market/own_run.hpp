// SPDX-License-Identifier: MIT
// Checks shared by the rules that solvers of running tasks call.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Returns the solver's run of the task that is not over.
std::optional<market::Run> run_of_solver(const StateView& view, std::uint64_t task, const Address& solver);
/// 16.1.13: the finishing height of a run waits for answers no longer than until `height`. Does not store the run.
void end_finish_wait(market::Run& run, std::uint64_t height);
/// Returns ok when `run` of `task` is running and the sender is its solver.
CallStatus admit_running(const StateView& view, std::uint64_t task, std::uint32_t run, const Address& sender);
/// 21.5.5, 21.5.6: returns ok when a member may commit to one more state.
CallStatus admit_next_state(const market::Run& run, const TxContext& context);
/// Returns ok when state `index` is committed, not opened, may be opened (13.1), and salt and root open its commitment.
CallStatus admit_opening(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index,
                         const Hash32& salt, const Hash32& root);

/// Stores the commitment to the run's next state; the segment that ends there waits for its draw.
void commit_state(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& commitment);

}  // namespace retrace::contracts
