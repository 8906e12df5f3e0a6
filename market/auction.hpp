// SPDX-License-Identifier: MIT
// Sealed bids, second price. SPEC 4. Pure: no state.
#pragma once

#include <optional>
#include <vector>

#include "market/types.hpp"

namespace retrace::market {

/// SHA-256("retrace/bid/1" ‖ task u64 ‖ round u32 ‖ price 32 big endian ‖ finish height u64 ‖ salt 32 ‖ bidder 20).
/// The bidder is inside, so a copied commitment cannot be opened by the copier.
Hash32 bid_commitment(std::uint64_t task, std::uint32_t round, const U256& price, std::uint64_t finish_height,
                      const Hash32& salt, const Address& bidder);

/// Weight of a bid in basis points: 10,000 is neutral, more is worse. From what the solver did before and, when
/// `capability` was measured, from how it compares with `best_capability` among the bids.
std::uint64_t bid_weight(const Reputation& reputation, std::uint64_t capability, std::uint64_t best_capability);

struct Offer {
    Address bidder;
    U256 price;                       ///< Below 2^192 (asserted): the ceiling is.
    std::uint64_t finish_height = 0;
    std::uint64_t weight_bp = kNeutralWeight;

    static constexpr std::uint64_t kNeutralWeight = 10'000;
};
struct Winner {
    std::size_t offer = 0;            ///< Index into the offers.
    U256 price;                       ///< What it is paid for each segment.
};

/// The `count` offers with the lowest price × weight (ties: lower address). Each is paid the price at which its score
/// would equal that of the best loser, capped by `ceiling`; without a loser, the ceiling. So a lower or higher bid than
/// one's cost never pays (uniform-price auction for one unit each; Vickrey 1961). Fewer than `count` offers: empty.
std::vector<Winner> clear_auction(const std::vector<Offer>& offers, std::size_t count, const U256& ceiling);

}  // namespace retrace::market
