// SPDX-License-Identifier: MIT
#include "market/reputation.hpp"

namespace retrace::market {
namespace {

constexpr std::uint64_t kNeutral = 10'000;
constexpr std::uint64_t kBonusEach = 50, kBonusMax = 1'000;  // at most ten per cent
constexpr std::uint64_t kFault = 2'500, kSilence = 1'000, kMalusMax = 10'000;

}  // namespace

std::uint64_t reputation_weight(const Reputation& r) noexcept {
    const std::uint64_t bonus = std::min(kBonusMax, kBonusEach * r.settled);
    const std::uint64_t malus = std::min(kMalusMax, kFault * r.faults + kSilence * r.silences);
    // The bonus counts only without faults or silences, so that good work never hides them.
    return malus == 0 ? kNeutral - bonus : kNeutral + malus;
}

}  // namespace retrace::market
