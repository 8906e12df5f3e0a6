// SPDX-License-Identifier: MIT
// Disputes from opening to payout; the game itself is the verifier's. SPEC 15.
#pragma once

#include "contracts/effects.hpp"

namespace retrace::contracts {

struct Accusation {
    market::DisputeKind kind{};
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Address challenger;
    U256 bond;                   ///< Held coins, or locked stake for kind audit and replica.
    std::uint64_t audit = 0;
    Hash32 claimed_root;
};
/// 15.2.5: open at a time on one segment, by who has no seat in its audit.
inline constexpr std::uint32_t kSegmentDisputesMax = 16;
/// Whether the lists of both parties have room for another dispute (15.9).
bool may_dispute(const StateView& view, const Address& solver, const Address& challenger);
/// Both ends of the segment are open. Returns the dispute's id.
std::uint64_t open_dispute(Effects& fx, const Accusation& accusation);
/// Whether the bond is locked stake instead of coins.
bool bond_is_stake(market::DisputeKind kind);
/// Charges the mover's clock up to now and gives the turn to the game's mover; settles a decided game.
void after_move(Effects& fx, market::Dispute& dispute, const verifier::Game& game);
/// The mover's clock may have run out.
void dispute_clock(Effects& fx, std::uint64_t dispute);
/// 16.4: the challenger reported a tile; its clock waits for the answer.
void wait_for_tiles(Effects& fx, std::uint64_t dispute);
/// The run is over for another reason: the bond goes back.
void withdraw_dispute(Effects& fx, std::uint64_t dispute);

}  // namespace retrace::contracts
