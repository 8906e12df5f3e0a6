// SPDX-License-Identifier: MIT
// What parties do about their validators.
#include "tests/stateful/players.hpp"
#include "tests/stateful/send.hpp"
#include "tests/stateful/validator_keys.hpp"

namespace retrace::stateful {

using namespace contracts;

void Players::serve_validators() {
    if (!draws_.one_in(8)) return;
    // Few parties, so that each gets through all that a validator can do.
    const Address who = draws_.one_in(8) ? anybody() : party(static_cast<std::uint32_t>(draws_.below(4)));
    const auto known = mirror().validators.find(who);
    if (known == mirror().validators.end() || draws_.one_in(30)) {
        send(who, registration(who, static_cast<std::uint8_t>(draws_.below(6))));
        return;
    }
    const market::ValidatorInfo& info = known->second;
    if (info.jailed_until != 0 && (world_.height() >= info.jailed_until || draws_.one_in(10))) {
        send(who, UnjailValidator{});
    } else if (!info.leaving.is_zero() && (world_.height() >= info.leaving_height || draws_.one_in(10))) {
        send(who, ReleaseValidator{});
    } else if (draws_.one_in(6)) {
        const std::uint64_t epoch = profile_.params.epoch_blocks;
        const std::uint64_t height = (world_.height() / epoch + 2 + draws_.below(2)) * epoch;
        send(who, VoteUpgrade{draws_.one_in(6) ? 0 : views::upgrade(world_.state()).current + 1, height});
    } else if (!info.stake.is_zero() && draws_.one_in(3)) {
        send(who, UnbondValidator{draws_.one_in(2) ? info.stake : info.stake / U256(3)});
    } else {
        const U256 wanted = U256(market::kMilli) * U256(draws_.between(1, 400));
        bond(who, wanted);
        send(who, BondValidator{wanted});
    }
}

}  // namespace retrace::stateful
