// SPDX-License-Identifier: MIT
// The lists, counts and work of open disputes: what opening one adds and closing one removes. SPEC 15.2, 18.6, 18.7.
#pragma once

#include "contracts/lifecycle/staking/backlog.hpp"

namespace retrace::contracts {

/// Whether any bonded party may open such a dispute at its own cost. 18.6
bool is_voluntary(market::DisputeKind kind);
/// Whether the bond of this kind of dispute is locked stake, not coins.
bool bond_is_stake(market::DisputeKind kind);
/// Returns why the dispute is open, as seen by one party to it.
DisputeOrigin origin_of(const market::Dispute& dispute, const Address& party);
/// Adds an opened dispute to the lists of its run and parties, and to the counts of its run and segment.
void list_dispute(Effects& fx, const market::Dispute& dispute);
/// 15.10: notes a challenge that opens less than `move_blocks` before the run's deadline as it was set, or later.
void note_late(Effects& fx, const market::Dispute& dispute);
/// 15.10.1: a challenge is not late any more when the run has committed its next state.
bool is_late_challenge(const StateView& view, const market::Dispute& dispute);
/// Removes the dispute from all lists and counts; the record stays with its result.
void close_dispute(Effects& fx, market::Dispute& dispute, market::DisputeState state);
void return_bond(Effects& fx, const market::Dispute& dispute);

}  // namespace retrace::contracts
