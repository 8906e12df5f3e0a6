// SPDX-License-Identifier: MIT
#include "market/auction.hpp"

#include <numeric>
#include <span>

#include "market/reputation.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

/// Ranks the fit offers, best score first; ties go to the lower address.
struct Ranked {
    std::size_t offer = 0;
    U256 score;
    std::uint64_t capability = 0;
};
std::vector<Ranked> rank(const std::vector<Offer>& offers) {
    std::vector<Ranked> out;
    for (std::size_t i = 0; i < offers.size(); ++i)
        if (offers[i].fit) out.push_back({i, offers[i].price * U256(offers[i].weight_bp), offers[i].capability});
    std::sort(out.begin(), out.end(), [&](const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score < b.score : offers[a.offer].bidder < offers[b.offer].bidder;
    });
    return out;
}

/// Places in the ranking, ascending, the highest of their scores, and the least speed that the set allows.
struct Chosen {
    std::vector<std::size_t> places;
    U256 highest;
    std::uint64_t slowest = 0;
};
constexpr std::size_t kNobody = ~std::size_t{0};

/// Returns the best set of `count` offers whose slowest speed is at least `slowest` and whose fastest is alike to it,
/// without place `without`.
std::optional<Chosen> best_above(const std::vector<Ranked>& ranked, std::size_t count, std::uint64_t slowest,
                                 std::size_t without, bool any_speed) {
    Chosen out;
    for (std::size_t place = 0; place < ranked.size() && out.places.size() < count; ++place) {
        const std::uint64_t speed = ranked[place].capability;
        if (place == without || (!any_speed && (speed < slowest || !alike(slowest, speed)))) continue;
        out.places.push_back(place);
        out.highest = ranked[place].score;
    }
    if (out.places.size() < count) return std::nullopt;
    out.slowest = slowest;
    return out;
}

/// Returns the best set. A set of alike speeds is bounded by its slowest member, so trying each speed as the slowest
/// finds the best one. Ties go by speed, which no price changes.
std::optional<Chosen> best_set(const std::vector<Ranked>& ranked, std::size_t count, std::size_t without,
                               bool any_speed) {
    std::optional<Chosen> best;
    for (const Ranked& slowest : ranked) {
        auto set = best_above(ranked, count, slowest.capability, without, any_speed);
        if (!set) continue;
        if (!best || set->highest < best->highest || (set->highest == best->highest && set->slowest > best->slowest))
            best = std::move(set);
        if (any_speed) break;
    }
    return best;
}

}  // namespace

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
    // A machine with half the best measured speed counts as a quarter more expensive. An unmeasured machine counts as
    // the slowest: otherwise slow machines would gain by not answering challenges.
    if (capability < best_capability) {
        const U256 lag = ledger::mul_div(best_capability - capability, kBasisPoints, best_capability);
        weight += weight * lag.low64() / kBasisPoints / 2;
    }
    return weight;
}

std::vector<Offer> score_bids(const std::vector<RevealedBid>& bids, const Demand& demand) {
    std::vector<std::optional<std::uint64_t>> fitness;
    std::uint64_t best = 0;  // Of fit bids: who is set aside takes no part, so it moves no weight.
    for (const RevealedBid& bid : bids)
        if (fitness.emplace_back(fitness_bp(demand, bid.capability, bid.finish_height)))
            best = std::max(best, bid.capability);
    std::vector<Offer> out;
    for (std::size_t i = 0; i < bids.size(); ++i) {
        const RevealedBid& bid = bids[i];
        Offer& offer = out.emplace_back();
        offer.bidder = bid.bidder;
        offer.price = bid.price;
        offer.finish_height = bid.finish_height;
        offer.capability = bid.capability;
        offer.weight_bp = bid_weight(bid.reputation, bid.capability, best);
        offer.fit = fitness[i].has_value();
        if (fitness[i]) offer.weight_bp = offer.weight_bp * *fitness[i] / kBasisPoints;
    }
    return out;
}

std::vector<Winner> clear_auction(const std::vector<Offer>& offers, std::size_t count, const U256& ceiling) {
    const std::vector<Ranked> ranked = rank(offers);
    if (count == 0 || ranked.size() < count) return {};
    auto chosen = best_set(ranked, count, kNobody, false);
    const bool any_speed = !chosen;
    if (any_speed) chosen = best_set(ranked, count, kNobody, true);
    std::vector<Winner> winners;
    for (const std::size_t place : chosen->places) {
        const Ranked& winner = ranked[place];
        U256 price = ceiling;
        // The highest score with which this offer would stay in the best set, whatever it bids.
        if (const auto other = best_set(ranked, count, place, any_speed))
            price = ledger::min(ceiling, other->highest / U256(offers[winner.offer].weight_bp));
        winners.push_back({winner.offer, price});
    }
    return winners;
}

}  // namespace retrace::market
