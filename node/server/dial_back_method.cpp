// SPDX-License-Identifier: MIT
// retrace_dialBack
#include "node/server/dial_back_method.hpp"

#include <boost/asio/ip/address.hpp>

#include "node/platform/json_values.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

const char* name_of(DialBack::Outcome outcome) {
    switch (outcome) {
        case DialBack::Outcome::dialling: return "dialling";
        case DialBack::Outcome::reached: return "reached";
        case DialBack::Outcome::not_reached: return "not_reached";
    }
    return "dialling";
}

/// Why a connection to the address would tell nothing; empty: it may be dialled.
std::string why_not(const std::string& address, bool also_loopback) {
    boost::system::error_code code;
    const auto parsed = boost::asio::ip::make_address(address, code);
    if (code || parsed.is_unspecified() || parsed.is_multicast() || (parsed.is_v6() && parsed.to_v6().is_link_local()))
        return "this call comes from no address that could be connected to";
    if (parsed.is_loopback() && !also_loopback)
        return "this call comes from the node's own machine, or by a proxy on it: from there nothing is learned about "
               "other machines";
    return {};
}

}  // namespace

void register_dial_back(rpc::Router& router, DialBack& dial_back, bool also_loopback) {
    const auto handler = [&dial_back, also_loopback](const rpc::Params& params, rpc::Caller& caller) -> rpc::Answer {
        RETRACE_TRY(port, params.u64(0));
        RETRACE_TRY(nonce, params.hash(1));
        if (!DialBack::is_allowed(port)) return rpc::invalid_argument(0, "the port is 80, or from 1024 to 65535");
        if (const std::string why = why_not(caller.peer, also_loopback); !why.empty()) return rpc::server_error(why);
        const auto outcome = dial_back.ask(caller.peer, static_cast<std::uint16_t>(port), nonce);
        if (!outcome) return rpc::rpc_error(rpc::kLimitExceeded, outcome.error().message);
        return json::value(
            json::object{{"address", caller.peer}, {"port", rpc::quantity(port)}, {"outcome", name_of(*outcome)}});
    };
    router.add({"retrace_dialBack",
                "Connects back to the caller's own address and asks there for an agent's answer to the nonce; called "
                "again with the same port and nonce until the outcome is known.",
                {{"port", "Quantity"}, {"nonce", "Hash"}},
                "DialBack",
                handler});
    router.set_cost("retrace_dialBack", rpc::RequestCost::brief);
}

}  // namespace retrace::node
