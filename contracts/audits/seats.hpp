// SPDX-License-Identifier: MIT
// Seats of an audit and their bonds; shared by the files of this folder. SPEC 14.3.
#pragma once

#include "contracts/staking/stakes.hpp"

namespace retrace::contracts {

/// Stores the audit in its new phase and puts the deadline on the agenda.
void set_phase(Effects& fx, market::Audit& audit, market::AuditPhase phase, std::uint64_t deadline);
/// What a draw came to.
enum class Search {
    found,   ///< At least one new seat is taken.
    busy,    ///< Who could audit sits in other audits: in time they are free again.
    nobody,  ///< There is no member that could.
};
/// After silent auditors were taken off: draws others, or goes on with those who committed. `last` is what the draw
/// before came to, when that is why they are still missing.
void go_on_without_silent(Effects& fx, market::Audit& audit, Search last = Search::found);
/// Nobody came to a verdict, and nobody will: the segment stays open to challenges only.
void close_without_verdict(Effects& fx, market::Audit& audit);

/// Draws auditors for the empty seats with the newest beacon, and locks their bonds.
Search fill_seats(Effects& fx, market::Audit& audit);
/// Returns what is left of the bond; the auditor owes nothing more here.
void free_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Pays the audit's fee.
void pay_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Penalises silence: a share of the bond without a verdict, all of it for a verdict that was hidden.
void miss_seat(Effects& fx, const market::Audit& audit, market::Seat& seat, SlashReason reason);

}  // namespace retrace::contracts
