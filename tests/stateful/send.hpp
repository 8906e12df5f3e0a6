// SPDX-License-Identifier: MIT
// Turns a player's call into a transaction, unchanged or with something odd.
#pragma once

#include "contracts/calls/encode.hpp"
#include "tests/stateful/odd.hpp"
#include "tests/stateful/players.hpp"

namespace retrace::stateful {

template <class Call>
contracts::Verdict Players::send(const Address& who, Call call, const U256& value) {
    SendCall out{who, Call::kContract, value, {}};
    const bool odd = draws_.percent(profile_.odd);
    const std::uint64_t what = odd ? draws_.below(8) : 99;
    Odd odds(draws_);
    if (what == 0) out.sender = anybody();
    if (what == 1) odds.change(out.value);
    if constexpr (std::tuple_size_v<decltype(Call::tie(call))> != 0)
        if (what >= 2 && what < 6) odds.change(call);
    out.data = contracts::calldata(call);
    if (what == 6) odds.change(out.data);
    if (what == 7) out.data[draws_.below(out.data.size())] ^= static_cast<std::uint8_t>(draws_.next());
    const contracts::Verdict verdict = world_.send(out);
    // Sometimes the call is sent twice.
    if (odd && draws_.one_in(4)) (void)world_.send(out);
    return verdict;
}

}  // namespace retrace::stateful
