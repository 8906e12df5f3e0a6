// SPDX-License-Identifier: MIT
// Invariants of the contracts' records. SPEC 8.
#pragma once

#include <optional>
#include <string>

#include "ledger/state/state.hpp"

namespace retrace::contracts {

/// Checks one transaction from the changed records alone. Returns a sentence that names the broken invariant, or
/// nullopt.
std::optional<std::string> broken_invariant(const ledger::StateView& before, const ledger::State& after);

/// Checks all records by walking them from their counters: for tests, the simulation and --verify-db. `parties` are the
/// accounts whose stakes are summed; they must include every account that ever staked.
std::optional<std::string> deep_check(const ledger::StateView& view, const std::vector<ledger::Address>& parties);

}  // namespace retrace::contracts
