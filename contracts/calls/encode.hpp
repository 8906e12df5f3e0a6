// SPDX-License-Identifier: MIT
// Conversions between the structs of calls.hpp and events.hpp and their encoded bytes. Instantiated for every member of
// AnyCall and AnyEvent in encode.cpp, so that this header stays cheap to include.
#pragma once

#include <optional>

#include "contracts/calls/events.hpp"
#include "ledger/exec/executor.hpp"

namespace retrace::contracts {

/// Encodes selector and arguments, for a transaction to address_of(Call::kContract).
template <class Call>
Bytes calldata(const Call& call);
/// Returns a signature such as "commitBid(uint64,bytes32)", for calls, events, errors and view methods.
template <class T>
std::string signature_of();

template <class Event>
ledger::Log to_log(const Event& event);
/// Returns nullopt when the log belongs to another event or is malformed.
template <class Event>
std::optional<Event> decode_event(const ledger::Log& log);
/// Decodes any event of the native contracts.
std::optional<AnyEvent> decode_any_event(const ledger::Log& log);

/// The custom error of every refusal: Refused(uint16 code, string slug).
struct Refused {
    static constexpr std::string_view kName = "Refused";
    static Names names() { return {"code", "slug"}; }
    static auto tie(auto& e) { return std::tie(e.code, e.slug); }
    std::uint16_t code = 0;
    std::string slug;
};
/// Decodes the revert data of a refused call.
std::optional<Refused> decode_refusal(View revert_data);

}  // namespace retrace::contracts
