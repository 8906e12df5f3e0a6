// SPDX-License-Identifier: MIT
// A record of all calls and blocks of a game, which can be replayed without the generator and shortened.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "contracts/calls/addresses.hpp"
#include "ledger/types/u256.hpp"
#include "market/params.hpp"
#include "merkle/base/result.hpp"

namespace retrace::stateful {

using ledger::Address;
using ledger::U256;

/// Blocks pass; the first has the next height. Heights at which nothing is due are skipped.
struct PassBlocks {
    std::uint64_t count = 1;
    bool operator==(const PassBlocks&) const = default;
};
struct SendCall {
    Address sender;
    contracts::Contract contract{};
    U256 value;
    Bytes data;
    bool operator==(const SendCall&) const = default;
};
/// All parties are silent: every open record must end by itself within so many heights.
struct Drain {
    std::uint64_t blocks = 0;
    bool operator==(const Drain&) const = default;
};
using Event = std::variant<PassBlocks, SendCall, Drain>;

struct Trace {
    market::Params params;
    std::uint32_t accounts = 0;  ///< party(0) …, each with a balance of 2^180 of the smallest unit.
    std::vector<Event> events;
};

Address party(std::uint32_t index);
/// Returns the method's name, e.g. "commitBid", or "?" if there is no such method.
std::string method_name(contracts::Contract contract, View data);
/// Writes one line per event; a call ends with the name of its method.
std::string to_text(const Trace& trace);
Result<Trace> read_trace(std::string_view text);

}  // namespace retrace::stateful
