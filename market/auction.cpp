// SPDX-License-Identifier: MIT
#include "market/auction.hpp"

#include <numeric>

#include "market/reputation.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {

Hash32 bid_commitment(std::uint64_t task, std::uint32_t round, const U256& price, std::uint64_t finish_height,
                      const Hash32& salt, const Address& bidder) {
    return merkle::Sha256()
        .update(view(std::string_view("retrace/bid/1")))
        .update_u64(task)
        .update_u32(round)
        .update(price.to_be())
        .update_u64(finish_height)
        .update(view(salt))
        .update(view(bidder))
        .finish();
}

std::uint64_t bid_weight(const Reputation& reputation, std::uint64_t capability, std::uint64_t best_capability) {
    std::uint64_t weight = reputation_weight(reputation);
    // A machine with half the best measured speed counts as half dearer; one that was never measured is neutral.
    if (capability != 0 && capability < best_capability) {
        const U256 lag = ledger::mul_div(best_capability - capability, 10'000, best_capability);
        weight += weight * lag.low64() / 10'000 / 2;
    }
    return weight;
}

std::vector<Winner> clear_auction(const std::vector<Offer>& offers, std::size_t count, const U256& ceiling) {
    if (count == 0 || offers.size() < count) return {};
    const auto score = [&](std::size_t i) { return offers[i].price * U256(offers[i].weight_bp); };
    std::vector<std::size_t> order(offers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const U256 score_a = score(a), score_b = score(b);
        return score_a != score_b ? score_a < score_b : offers[a].bidder < offers[b].bidder;
    });
    std::vector<Winner> winners;
    for (std::size_t i = 0; i < count; ++i) {
        U256 price = ceiling;
        if (offers.size() > count)
            price = ledger::min(ceiling, score(order[count]) / U256(offers[order[i]].weight_bp));
        winners.push_back({order[i], price});
    }
    return winners;
}

}  // namespace retrace::market
