// SPDX-License-Identifier: MIT
#include <chrono>
#include <random>

#include "market/auction.hpp"
#include "market/groups.hpp"
#include "merkle/base/ensure.hpp"
#include "tests/bench/market/measurements.hpp"

namespace retrace::bench {
namespace {

using market::Offer;
using market::U256;

constexpr std::uint64_t kCeiling = 1'000'000;
constexpr int kAuctions = 101;

std::vector<Offer> offers(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Offer> out;
    for (std::size_t i = 0; i < count; ++i) {
        Offer offer;
        for (std::uint8_t& byte : offer.bidder.bytes) byte = static_cast<std::uint8_t>(random());
        offer.price = U256(1 + random() % kCeiling);
        offer.weight_bp = 9'000 + random() % 11'000;
        offer.capability = random() % 8 == 0 ? 0 : 1'000 + random() % 100'000;
        out.push_back(offer);
    }
    return out;
}

/// The median of kAuctions auctions of so many bids, in milliseconds.
template <class Clear>
double clearing(std::size_t bids, const Clear& clear) {
    std::vector<double> times;
    for (std::uint64_t seed = 1; seed <= kAuctions; ++seed) {
        const auto all = offers(bids, seed);
        const auto from = std::chrono::steady_clock::now();
        const std::size_t winners = clear(all);
        times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count());
        ensure(winners != 0, "the auction has winners");
    }
    return median(times);
}

}  // namespace

std::vector<Row> measure_match() {
    const double plain = clearing(market::kBiddersMax, [](const std::vector<Offer>& all) {
        return market::clear_auction(all, market::kReplicasMax, U256(kCeiling)).size();
    });
    const double group = clearing(market::kGroupBiddersMax, [](const std::vector<Offer>& all) {
        return market::clear_seats(all, market::kMembersMax, 2, U256(kCeiling)).offers.size();
    });
    return {{"match", "ms", "", plain, 0}, {"match_group", "ms", "", group, 0}};
}

}  // namespace retrace::bench
