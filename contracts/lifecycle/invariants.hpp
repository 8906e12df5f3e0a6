// SPDX-License-Identifier: MIT
// What is held to be true at all times. SPEC 8.
#pragma once

#include <optional>
#include <string>

#include "ledger/state/state.hpp"

namespace retrace::contracts {

/// After every transaction, from the changed records alone: the sentence that does not hold, or nothing.
std::optional<std::string> broken_invariant(const ledger::StateView& before, const ledger::State& after);

/// Everything, by walking all records from their counters: for tests, the simulation and --verify-db. `parties` are
/// the accounts whose stakes are summed; whoever ever staked must be among them.
std::optional<std::string> deep_check(const ledger::StateView& view, const std::vector<ledger::Address>& parties);

}  // namespace retrace::contracts
