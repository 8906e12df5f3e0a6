// SPDX-License-Identifier: MIT
#include "node/agents/stake_share.hpp"

#include "market/odds.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {

std::optional<ledger::U256> usual_lock(const market::Params& params) {
    market::TaskSpec usual;
    usual.price_ceiling = ledger::U256(1'000) * ledger::U256(market::kMilli);
    usual.steps = usual.interval = 1;
    return market::stake_floor(params, usual);
}

std::string exceeds_share(const market::Params& params, const ledger::U256& lock, const ledger::U256& bonded,
                          std::uint64_t share) {
    const ledger::U256 most =
        ledger::max(ledger::mul_div(bonded, share, 100), usual_lock(params).value_or(ledger::U256()));
    if (share >= 100 || lock <= most) return {};
    return "it locks " + describe_coins(lock) + " of stake, and one task may lock " + describe_coins(most) +
           ", so that one which comes to nothing does not keep this solver from others; --stake-share raises it (now " +
           std::to_string(share) + " %)";
}

}  // namespace retrace::node
