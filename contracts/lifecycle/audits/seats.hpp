// SPDX-License-Identifier: MIT
// Seats of an audit and their bonds; shared by the files of this folder. SPEC 14.3.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// Stores the audit in its new phase and schedules the deadline.
void set_phase(Effects& fx, market::Audit& audit, market::AuditPhase phase, std::uint64_t deadline);
/// What a draw came to. Who is busy sits in other audits, and in time is free again.
enum class Search {
    found,      ///< At least one new seat is taken.
    busy,       ///< Too many of all members are busy.
    own_busy,   ///< Too many are of those that may be drawn for this audit, though not of all.
    exhausted,  ///< The same, and who left the audit without being served weighs more than they all.
    nobody,     ///< There is no member that could.
    too_few,    ///< There are fewer members than the task has auditors, and it is not paid unaudited (14.12).
};
/// After silent auditors were taken off: draws others, or goes on with those who committed. `last` is what the draw
/// before came to, when that is why they are still missing.
void go_on_without_silent(Effects& fx, market::Audit& audit, Search last = Search::found);
/// Nobody came to a verdict, and nobody will: the segment stays open to challenges only.
void close_without_verdict(Effects& fx, market::Audit& audit);

/// 14.12.1: there were as many members that may be drawn for the audit as its task has auditors, when its segment was
/// drawn or later: who retires since then cannot undo its draw.
bool had_members(const StateView& view, const market::Audit& audit);
void note_members(Effects& fx, const market::Audit& audit);
void forget_members(Effects& fx, const market::Audit& audit);
/// Whether there are as many members that may be drawn for the audit as its task has auditors.
bool enough_members(const Effects& fx, const market::Audit& audit);
/// Draws auditors for the empty seats with the newest beacon, and locks their bonds.
Search fill_seats(Effects& fx, market::Audit& audit);
/// The auditor has computed what it owed, or owes it no more: its machine is free for what comes next (18.7).
void end_seat_work(Effects& fx, const market::Audit& audit, const market::Seat& seat);
/// Returns what is left of the bond; the auditor owes nothing more here.
void free_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Pays the audit's fee.
void pay_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Takes all of the bond of who hides a verdict (14.8).
void hide_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Takes off an auditor without a verdict; the penalty stays locked until the audit ends (14.6).
void miss_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// 14.6.7: what silence costs is decided when the audit ends.
void settle_silence(Effects& fx, market::Audit& audit);

}  // namespace retrace::contracts
