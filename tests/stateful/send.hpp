// SPDX-License-Identifier: MIT
// Turns a player's call into a transaction, unchanged or mutated.
#pragma once

#include "contracts/calls/encode.hpp"
#include "tests/stateful/mutator.hpp"
#include "tests/stateful/players.hpp"

namespace retrace::stateful {

template <class Call>
contracts::CallStatus Players::send(const Address& who, Call call, const U256& value) {
    SendCall out{who, Call::kContract, value, {}};
    const bool mutated = draws_.percent(profile_.mutated_percent);
    const std::uint64_t what = mutated ? draws_.below(8) : 99;
    Mutator mutator(draws_);
    if (what == 0) out.sender = anybody();
    if (what == 1) mutator.change(out.value);
    if constexpr (std::tuple_size_v<decltype(Call::tie(call))> != 0)
        if (what >= 2 && what < 6) mutator.change(call);
    out.data = contracts::calldata(call);
    if (what == 6) mutator.change(out.data);
    if (what == 7) out.data[draws_.below(out.data.size())] ^= static_cast<std::uint8_t>(draws_.next());
    const contracts::CallStatus status = world_.send(out);
    // Sometimes the call is sent twice.
    if (mutated && draws_.one_in(4)) (void)world_.send(out);
    return status;
}

}  // namespace retrace::stateful
