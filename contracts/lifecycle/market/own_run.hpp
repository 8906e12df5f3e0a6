// SPDX-License-Identifier: MIT
// What the rules of running solvers share.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// The sender's run of the task that is not over.
std::optional<market::Run> run_of_solver(const StateView& view, std::uint64_t task, const Address& solver);
/// ok when `run` of `task` is running and the sender's.
Verdict admit_running(const StateView& view, std::uint64_t task, std::uint32_t run, const Address& sender);
/// ok when state `index` is committed, not opened, may be opened, and salt and root open it.
Verdict admit_opening(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index,
                      const Hash32& salt, const Hash32& root);

}  // namespace retrace::contracts
