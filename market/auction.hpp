// SPDX-License-Identifier: MIT
// Sealed-bid second-price auctions. SPEC 4. Pure: no state.
#pragma once

#include <optional>
#include <vector>

#include "market/capability.hpp"

namespace retrace::market {

/// SHA-256("retrace/bid/1" ‖ task u64 ‖ round u32 ‖ price 32 big endian ‖ finish height u64 ‖ salt 32 ‖
/// bidder 20). The bidder is part of the message, so no other account can open a copied commitment.
Hash32 bid_commitment(std::uint64_t task, std::uint32_t round, const U256& price, std::uint64_t finish_height,
                      const Hash32& salt, const Address& bidder);

/// Weight of a bid in basis points: 10,000 is neutral, more is worse. It depends on the solver's reputation and on its
/// measured speed relative to the fastest fit bid's; a machine that was not measured counts as the slowest.
std::uint64_t bid_weight(const Reputation& reputation, std::uint64_t capability, std::uint64_t best_capability);

struct Offer {
    Address bidder;
    U256 price;  ///< Below 2^128, as the ceiling is.
    std::uint64_t finish_height = 0;
    std::uint64_t weight_bp = kNeutralWeight;
    std::uint64_t capability = 0;  ///< Measured speed; 0: not measured.
    bool fit = true;               ///< False: its measured speed cannot keep its promise, so it is set aside (4.5).

    static constexpr std::uint64_t kNeutralWeight = 10'000;
};
/// A revealed bid with the chain's records about its bidder.
struct RevealedBid {
    Address bidder;
    U256 price;
    std::uint64_t finish_height = 0;
    Reputation reputation;
    std::uint64_t capability = 0;
};
/// Returns the bids as offers with their weights, in the same order. SPEC 4.3, 4.5.
std::vector<Offer> score_bids(const std::vector<RevealedBid>& bids, const Demand& demand);

struct Winner {
    std::size_t offer = 0;  ///< Index into the offers.
    U256 price;             ///< Price that it is paid per segment.
};

/// Clears an auction. Of the sets of `count` fit offers the one whose highest score (price × weight) is the lowest wins; a
/// set of unlike speeds counts twice its own (decisions/009). Ties go to a set of alike speeds, then to the one with the faster
/// slowest machine, and within a set to the lower address. Each winner is paid the highest price at which it would still win,
/// at most `ceiling`; without another set, `ceiling`. With one winner, or when all speeds are alike, this is the best
/// loser's score. Neither what a set counts for its scores nor ties depend on a price, so bidding one's cost is the best strategy
/// of an account (Vickrey 1961), and none is paid more for what others in its set bid less (decisions/008). Returns the
/// winners in the order of score; none when there are fewer than `count` fit offers. count ≤ kReplicasMax.
std::vector<Winner> clear_auction(const std::vector<Offer>& offers, std::size_t count, const U256& ceiling);

}  // namespace retrace::market
