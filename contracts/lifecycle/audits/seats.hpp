// SPDX-License-Identifier: MIT
// Seats of an audit and their bonds; shared by the files of this folder. SPEC 14.3.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// Result of a draw. A busy member has stake or machine time bound by other audits and disputes, and becomes free in
/// time.
enum class DrawResult {
    found,      ///< At least one new seat is taken.
    busy,       ///< Too many of all members are busy.
    own_busy,   ///< Too many of the members that may be drawn for this audit are busy, though not of all.
    exhausted,  ///< As own_busy, and the auditors that left it unserved outweigh all that may be drawn.
    nobody,     ///< No member may be drawn.
    too_few,    ///< Fewer members than the task has auditors, which does not allow unaudited segments (14.12).
};

/// 14.12.1: whether at least as many members as the task has auditors could be drawn for the audit, when its segment
/// was drawn or later. Members that retire afterwards cannot undo the draw.
bool had_members(const StateView& view, const market::Audit& audit);
void note_members(Effects& fx, const market::Audit& audit);
void forget_members(Effects& fx, const market::Audit& audit);
/// 14.10: returns the number of auditors that were drawn for the audit, also before it waited for auditors.
DrawnSeats drawn_seats(const StateView& view, const market::Audit& audit);
/// 14.12.1: gives up the seats of an audit that begins to wait.
void clear_seats(Effects& fx, market::Audit& audit);
void forget_cleared_seats(Effects& fx, const market::Audit& audit);
/// Whether at least as many members as the task has auditors may be drawn for the audit now.
bool enough_members(const Effects& fx, const market::Audit& audit);
/// Draws auditors for the empty seats with the newest beacon, and locks their bonds.
DrawResult fill_seats(Effects& fx, market::Audit& audit);
/// Ends the work of a seat: the auditor has computed its verdict or no longer owes one, so its machine is free (18.7).
void end_seat_work(Effects& fx, const market::Audit& audit, const market::Seat& seat);
/// Returns the rest of the bond; the auditor has no more duties in this audit.
void free_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
void pay_seat(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// 13.6: remembers that the audit ended with a match. When the task ends within `reveal_verdict_blocks`, its auditors
/// that matched are paid without an attestation, for which they had no time.
void note_matched(Effects& fx, const market::Audit& audit);
/// Forgets the audits whose auditors had that time.
void forget_matched(Effects& fx, std::uint64_t task);
/// Pays the auditors of the audits that are remembered.
void pay_matched(Effects& fx, std::uint64_t task);
/// Slashes the whole bond of an auditor that hides its verdict (14.8).
void slash_hidden_verdict(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// Removes an auditor without a verdict; the penalty stays locked until the audit ends (14.6).
void mark_missed(Effects& fx, const market::Audit& audit, market::Seat& seat);
/// 14.6.7: slashes or returns the penalties of silent auditors when the audit ends.
void settle_silence(Effects& fx, market::Audit& audit);

}  // namespace retrace::contracts
