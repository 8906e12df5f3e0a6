// SPDX-License-Identifier: MIT
// What was done to a ledger, call by call and block by block: it plays again without the generator, and can
// be cut down.
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

/// Blocks pass, the first at the next height. Nothing is due in the heights that are left out.
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
/// Nobody does anything any more: everything that is open ends by itself within so many heights.
struct LetEnd {
    std::uint64_t blocks = 0;
    bool operator==(const LetEnd&) const = default;
};
using Event = std::variant<PassBlocks, SendCall, LetEnd>;

struct Trace {
    market::Params params;
    std::uint32_t accounts = 0;  ///< party(0) …, each with 2^180 of the smallest unit.
    std::vector<Event> events;
};

Address party(std::uint32_t index);
/// "commitBid", or "?" for what is no method.
std::string method_name(contracts::Contract contract, View data);
/// One line an event; a call with the name of its method behind its bytes.
std::string to_text(const Trace& trace);
Result<Trace> read_trace(std::string_view text);

}  // namespace retrace::stateful
