// SPDX-License-Identifier: MIT
// Sealed bids, second price. SPEC 4. Pure: no state.
#pragma once

#include <optional>
#include <vector>

#include "market/capability.hpp"

namespace retrace::market {

/// SHA-256("retrace/bid/1" ‖ task u64 ‖ round u32 ‖ price 32 big endian ‖ finish height u64 ‖ salt 32 ‖ bidder 20).
/// The bidder is inside, so a copied commitment cannot be opened by the copier.
Hash32 bid_commitment(std::uint64_t task, std::uint32_t round, const U256& price, std::uint64_t finish_height,
                      const Hash32& salt, const Address& bidder);

/// Weight of a bid in basis points: 10,000 is neutral, more is worse. From what the solver did before and from how its
/// measured speed compares with the best among the bids; a machine that was not measured counts as the slowest.
std::uint64_t bid_weight(const Reputation& reputation, std::uint64_t capability, std::uint64_t best_capability);

struct Offer {
    Address bidder;
    U256 price;                       ///< Below 2^128: the ceiling is.
    std::uint64_t finish_height = 0;
    std::uint64_t weight_bp = kNeutralWeight;
    std::uint64_t capability = 0;     ///< Measured speed; 0: not measured.
    bool fit = true;                  ///< False: its measured speed cannot keep its promise; set aside (4.5).

    static constexpr std::uint64_t kNeutralWeight = 10'000;
};
/// A revealed bid with what the chain knows of its bidder.
struct RevealedBid {
    Address bidder;
    U256 price;
    std::uint64_t finish_height = 0;
    Reputation reputation;
    std::uint64_t capability = 0;
};
/// The offers in the order of the bids. SPEC 4.3, 4.5.
std::vector<Offer> weigh(const std::vector<RevealedBid>& bids, const Demand& demand);

struct Winner {
    std::size_t offer = 0;            ///< Index into the offers.
    U256 price;                       ///< What it is paid for each segment.
};

/// Among the sets of `count` fit offers whose speeds are alike (of all sets, when there is none such), the one with the
/// lowest sum of price × weight wins; ties: the set with the better places in the order of score and address. Each
/// winner is paid the price at which the best set without it would have won instead, capped by `ceiling`; without such
/// a set, the ceiling. With one winner, or speeds that are all alike, that is the best loser's score. Which sets are
/// allowed does not depend on any price, so bidding one's cost is the best strategy (Vickrey 1961, Clarke 1971). Fewer
/// than `count` fit offers: empty. Winners in the order of score. count ≤ kReplicasMax.
std::vector<Winner> clear_auction(const std::vector<Offer>& offers, std::size_t count, const U256& ceiling);

}  // namespace retrace::market
