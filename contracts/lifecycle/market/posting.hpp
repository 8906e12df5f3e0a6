// SPDX-License-Identifier: MIT
// The terms of a task, and its posting: for tasks of one solver, of replicas and of a group. SPEC 12.1.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// 12.1.1 to 12.1.13; `most_runs` is the limit on TaskSpec::replicas.
CallStatus check_terms(const market::TaskSpec& spec, std::uint8_t most_runs);
/// 12.1.14 to 12.1.19; `group` is given for a group.
CallStatus admit_terms(const market::TaskSpec& spec, const market::GroupSpec* group, const TxContext& context,
                       const StateView& view);
/// Stores the task and opens its auction. The market's contract holds `value`: the escrow (market 6.1) and the deposit
/// for the place's rent. Returns the task's id.
std::uint64_t post_task(Effects& fx, const Address& requester, const market::TaskSpec& spec, const U256& value);

}  // namespace retrace::contracts
