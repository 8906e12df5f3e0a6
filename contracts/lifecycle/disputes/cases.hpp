// SPDX-License-Identifier: MIT
// Disputes from opening to payout; the game itself is the verifier's. SPEC 15.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

struct Accusation {
    market::DisputeKind kind{};
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Address challenger;
    U256 bond;                   ///< Held coins, or locked stake for kind audit and replica.
    std::uint64_t audit = 0;     ///< In which the challenger has the seat that it speaks from; 0: none.
    Hash32 claimed_root;
};
/// 15.2.5: strangers' challenges that may be open on one segment and on one run,
inline constexpr std::uint32_t kSegmentChallengesMax = 16, kRunChallengesMax = 64;
/// and disputes of a run beyond which those that have a seat are refused too. With what no rule refuses (19) the list
/// of a run stays below kRecordListMax.
inline constexpr std::uint32_t kRunDisputesMax = 2048;
/// Whether strangers are refused about any segment of the run.
bool is_full(const market::Run& run);
/// How long everybody has to challenge any segment of the task: one replay of it, and of how a seeded one starts,
/// beside the chain's own window.
std::uint64_t challenge_window(const market::Params& params, const market::TaskSpec& spec);
/// The height from which nobody may challenge the segment, as things stand: nobody knows it while an end of the segment
/// is not open or while strangers are refused. 15.2.6
std::optional<std::uint64_t> window_end(const StateView& view, const market::Params& params,
                                        const market::TaskSpec& spec, const market::Run& run,
                                        const market::Segment& segment);
/// Both ends of the segment are open. Returns the dispute's id.
std::uint64_t open_dispute(Effects& fx, const Accusation& accusation);
/// 15.9: opens the dispute of the auditor of the segment that has waited longest, unless one of them plays already.
void open_next_dispute(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// Whether the bond is locked stake instead of coins.
bool bond_is_stake(market::DisputeKind kind);
/// Charges the mover's clock up to now and gives the turn to the game's mover; settles a decided game.
void after_move(Effects& fx, market::Dispute& dispute, const verifier::Game& game);
/// The mover's clock may have run out.
void dispute_clock(Effects& fx, std::uint64_t dispute);
/// 16.4: the challenger reported a tile; its clock waits for the answer, which is due `until`.
void wait_for_tiles(Effects& fx, std::uint64_t dispute, std::uint64_t until);
/// The run is over for another reason: the bond goes back.
void withdraw_dispute(Effects& fx, std::uint64_t dispute);

}  // namespace retrace::contracts
