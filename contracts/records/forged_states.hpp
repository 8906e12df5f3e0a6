// SPDX-License-Identifier: MIT
// States that follow from a segment of which another run was convicted. SPEC 13.7.1.
#pragma once

#include "contracts/records/store.hpp"

namespace retrace::contracts::views {

/// Whether this state of `run` follows from a segment that a run of the task was convicted of: `run`, or a run that it
/// started from, has opened the same states at both ends of that segment. False for state 0, which no run reached.
bool follows_from_forged(const ledger::StateView& view, std::uint64_t task, std::optional<std::uint32_t> run,
                         std::uint64_t state);

}  // namespace retrace::contracts::views
