// SPDX-License-Identifier: MIT
// The terms of a task, and its posting: for tasks of one solver, of replicas and of a group. SPEC 12.1.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// The limit on prices (12.1.9).
bool below_2_128(const U256& amount);
/// 12.1.1 to 12.1.13; `most_runs` is the limit on TaskSpec::replicas.
CallStatus check_terms(const market::TaskSpec& spec, std::uint8_t most_runs);
/// 12.1.14 to 12.1.19; `group` is given for a group.
CallStatus admit_terms(const market::TaskSpec& spec, const market::GroupSpec* group, const TxContext& context,
                       const StateView& view);
/// 12.1.14 to 12.1.16.
CallStatus admit_chain_terms(const market::TaskSpec& spec, const Params& params);
/// Stores the task, without an auction; as post_task, which opens one.
market::Task new_task(Effects& fx, const Address& requester, const market::TaskSpec& spec, const U256& value);
/// Stores the task and opens its auction. The market's contract holds `value`: the escrow (market 6.1) and the deposit
/// for the place's rent. Returns the task's id.
std::uint64_t post_task(Effects& fx, const Address& requester, const market::TaskSpec& spec, const U256& value);
/// 12.10.10: coins that a requester brings beyond a top-up lengthen the time of a place that pays rent; otherwise they
/// return at once.
void lengthen_place(Effects& fx, const market::Task& task, const U256& amount);

}  // namespace retrace::contracts
