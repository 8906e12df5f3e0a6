// SPDX-License-Identifier: MIT
// Disputes from opening to the end of their game, which is the verifier's. SPEC 15. Payments then are in
// convictions.hpp.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

struct Accusation {
    market::DisputeKind kind{};
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Address challenger;
    U256 bond;                ///< Held coins, or locked stake for kind audit and replica.
    std::uint64_t audit = 0;  ///< Audit in which the challenger holds its seat; 0: none.
    Hash32 claimed_root;
};
/// Opens a dispute about a segment with both ends open. Returns the dispute's id.
std::uint64_t open_dispute(Effects& fx, const Accusation& accusation);
/// 15.9: opens the dispute of the auditor of the segment that has waited longest, unless a dispute of one of them is
/// open.
void open_next_dispute(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// 13.5.1: whether a run that has missed a checkpoint waits for a dispute: one in which it accuses a replica, a late
/// challenge, or any that was opened since its deadline.
bool holds_late_run(const StateView& view, const market::Run& run);
/// 13.7.1: the newest state on which the run agrees with all replicas that it has a dispute with, or kAllRight.
std::uint64_t replicas_agree_until(const StateView& view, const market::Run& run);
/// 15.11: supplies the facts of a group member's disputed position as soon as the game has found it.
void supply_position(const StateView& view, const market::Dispute& dispute, verifier::Game& game);
/// Charges the mover's clock up to now and gives the turn to the game's mover; settles a decided game.
void after_move(Effects& fx, market::Dispute& dispute, const verifier::Game& game);
/// Decides the dispute if the mover's clock has run out.
void dispute_clock(Effects& fx, std::uint64_t dispute);
/// 16.4: the challenger reported a tile; its clock waits for the answer, which is due `until`. 16.1.20: the report is
/// charged to this dispute or to another case.
void wait_for_tiles(Effects& fx, std::uint64_t dispute, std::uint64_t until, bool charged);
/// 16.4: when the last answer that the challenger needs is there, its clock waits no longer.
void end_wait_for_tiles(Effects& fx, std::uint64_t dispute);
/// Withdraws a dispute whose run is over for another reason: the bond is returned.
void withdraw_dispute(Effects& fx, std::uint64_t dispute);

}  // namespace retrace::contracts
