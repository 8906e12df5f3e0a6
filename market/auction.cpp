// SPDX-License-Identifier: MIT
#include "market/auction.hpp"

#include <numeric>
#include <span>

#include "market/reputation.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

struct Ranked {
    std::size_t offer = 0;
    U256 score;
    std::uint64_t capability = 0;
    Address bidder;
};

/// Best score first; ties go to the lower address.
void sort(std::vector<Ranked>& ranked) {
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
        return a.score != b.score ? a.score < b.score : a.bidder < b.bidder;
    });
}

/// The fit offers.
std::vector<Ranked> rank(const std::vector<Offer>& offers) {
    std::vector<Ranked> out;
    for (std::size_t i = 0; i < offers.size(); ++i)
        if (offers[i].fit)
            out.push_back({i, offers[i].price * U256(offers[i].weight_bp), offers[i].capability, offers[i].bidder});
    sort(out);
    return out;
}

constexpr std::size_t kNobody = ~std::size_t{0};
/// By how much dearer a set counts whose speeds are unlike (decisions/009).
constexpr std::uint64_t kUnlikeFactor = 2;

/// Places in the ranking, ascending, and what the set is compared by: the highest score, twice that if its speeds are unlike;
/// the least speed that it allows, 0 for a set of any speeds.
struct Chosen {
    std::vector<std::size_t> places;
    U256 value;
    bool alike = false;
    std::uint64_t slowest = 0;

    bool has(const std::vector<Ranked>& ranked, std::size_t offer) const {
        return std::ranges::any_of(places, [&](std::size_t place) { return ranked[place].offer == offer; });
    }
    /// Ties go by speed, which no price changes.
    bool is_better_than(const Chosen& other) const {
        if (value != other.value) return value < other.value;
        return alike != other.alike ? alike : slowest > other.slowest;
    }
};

/// Returns the best set of `count` offers whose slowest speed is at least `slowest` and whose fastest is alike to it, or of
/// any speeds where there is no `slowest`; without the offer `without`.
std::optional<Chosen> best_above(const std::vector<Ranked>& ranked, std::size_t count,
                                 std::optional<std::uint64_t> slowest, std::size_t without) {
    Chosen out;
    for (std::size_t place = 0; place < ranked.size() && out.places.size() < count; ++place) {
        const std::uint64_t speed = ranked[place].capability;
        if (ranked[place].offer == without || (slowest && (speed < *slowest || !alike(*slowest, speed)))) continue;
        out.places.push_back(place);
        out.value = ranked[place].score * U256(slowest ? 1 : kUnlikeFactor);
    }
    if (out.places.size() < count) return std::nullopt;
    out.alike = slowest.has_value();
    out.slowest = slowest.value_or(0);
    return out;
}

/// Returns the best set. A set of alike speeds is bounded by its slowest member, so trying each speed as the slowest
/// finds the best one.
std::optional<Chosen> best_set(const std::vector<Ranked>& ranked, std::size_t count, std::size_t without) {
    std::optional<Chosen> best = best_above(ranked, count, std::nullopt, without);
    for (const Ranked& slowest : ranked) {
        auto set = best_above(ranked, count, slowest.capability, without);
        if (set && set->is_better_than(*best)) best = std::move(set);
    }
    return best;
}

/// The highest score with which the winner `offer` would stay in the best set, where the best set without it has `value`:
/// that value if it wins with all scores below it, which needs partners that are alike to it, else that of a set of unlike
/// speeds with this value.
U256 highest_score(const std::vector<Ranked>& ranked, std::size_t count, std::size_t offer, const U256& value) {
    if (value.is_zero()) return value;
    std::vector<Ranked> changed = ranked;
    for (Ranked& one : changed)
        if (one.offer == offer) one.score = value - U256(1);
    sort(changed);
    return best_set(changed, count, kNobody)->has(changed, offer) ? value : value / U256(kUnlikeFactor);
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
    const Chosen chosen = best_set(ranked, count, kNobody).value();
    std::vector<Winner> winners;
    for (const std::size_t place : chosen.places) {
        const std::size_t winner = ranked[place].offer;
        U256 price = ceiling;
        if (const auto other = best_set(ranked, count, winner))
            price = ledger::min(ceiling,
                                highest_score(ranked, count, winner, other->value) / U256(offers[winner].weight_bp));
        winners.push_back({winner, price});
    }
    return winners;
}

}  // namespace retrace::market
