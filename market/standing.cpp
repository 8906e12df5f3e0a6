// SPDX-License-Identifier: MIT
#include "market/standing.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::market {
namespace {

// 2^(-1/4), rounded down: four steps halve an amount.
constexpr std::uint64_t kDecayNumerator = 27'554, kDecayDenominator = 32'768;
constexpr std::uint64_t kDecayStepsMax = 1'100;  // 1,024 steps halve 256 times, so nothing is left of any amount.

U256 sum(const U256& a, const U256& b) { return checked_add(a, b).value_or(U256::max()); }

}  // namespace

Standing decayed(const Standing& standing, std::uint64_t height) {
    ensure(height >= standing.height, "a standing is asked for later heights only");
    const std::uint64_t steps = height / kDecayBlocks - standing.height / kDecayBlocks;
    Standing out{standing.verified, standing.lost, height};
    if (steps >= kDecayStepsMax) out.verified = out.lost = U256();
    for (std::uint64_t i = 0; i < steps && !(out.verified.is_zero() && out.lost.is_zero()); ++i)
        for (U256* amount : {&out.verified, &out.lost})
            *amount = ledger::mul_div(*amount, kDecayNumerator, kDecayDenominator);
    return out;
}

Standing with_verified(const Standing& standing, const U256& fee, std::uint64_t height) {
    Standing out = decayed(standing, height);
    out.verified = sum(out.verified, fee);
    return out;
}

Standing with_loss(const Standing& standing, const U256& amount, bool convicted, std::uint64_t height) {
    Standing out = decayed(standing, height);
    out.verified = convicted ? U256() : out.verified / U256(2);
    out.lost = sum(out.lost, amount);
    return out;
}

}  // namespace retrace::market
