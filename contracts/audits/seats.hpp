// SPDX-License-Identifier: MIT
// Seats of an audit and their bonds; shared by the files of this folder. SPEC 14.3.
#pragma once

#include "contracts/staking/stakes.hpp"

namespace retrace::contracts {

/// Stores the audit in its new phase and puts the deadline on the agenda.
void set_phase(Effects& fx, market::Audit& audit, market::AuditPhase phase, std::uint64_t deadline);
/// After silent auditors were taken off: redraws, or goes on with those who committed.
void go_on_without_silent(Effects& fx, market::Audit& audit);

/// Draws up to `wanted` new auditors with the newest beacon and locks their bonds. Returns how many were found.
std::size_t fill_seats(Effects& fx, market::Audit& audit, std::size_t wanted, std::uint64_t joined_before);
/// Returns what is left of the bond; the auditor owes nothing more here.
void free_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Pays the audit's fee.
void pay_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Penalises silence: a share of the bond without a verdict, all of it for a verdict that was hidden.
void miss_seat(Effects& fx, const market::Audit& audit, market::Seat& seat, SlashReason reason);

}  // namespace retrace::contracts
