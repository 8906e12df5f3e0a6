// SPDX-License-Identifier: MIT
// retrace_dialBack
#include "node/server/dial_back_method.hpp"

#include "node/net/address_scope.hpp"
#include "node/net/reach.hpp"
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

/// A host's name has 253 bytes at most, a fingerprint 95.
constexpr std::size_t kEndpointBytesMax = 384;

/// The URL of an endpoint with this port. Its name goes into a request and a TLS handshake to the caller's address.
rpc::Checked<Url> endpoint_of(const json::value& text, std::uint64_t port) {
    const auto* const written = text.if_string();
    if (written == nullptr || written->size() > kEndpointBytesMax)
        return rpc::invalid_argument(
            2, "the endpoint is a URL of at most " + std::to_string(kEndpointBytesMax) + " bytes");
    auto url = parse_public_url(std::string_view(written->data(), written->size()));
    if (!url) return rpc::invalid_argument(2, url.error().message);
    constexpr std::string_view kOfHosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
    if (url->host.size() > 253 || url->host.find_first_not_of(kOfHosts) != std::string::npos)
        return rpc::invalid_argument(2, "the endpoint's host is no name of the DNS and no IP address");
    if (std::stoul(url->port) != port) return rpc::invalid_argument(2, "the endpoint has another port");
    return std::move(url).value();
}

/// Why a connection to the caller's address would tell nothing, or too much; empty: it may be dialled.
std::string why_not(const rpc::Caller& caller, DialBackScope scope) {
    if (caller.proxied)
        return "this call came by a proxy, which a connection back would reach in place of you: ask a node that you "
               "reach without a proxy";
    const AddressScope from = scope_of(caller.peer);
    if (from == AddressScope::none) return "this call comes from no address that could be connected to";
    if ((from == AddressScope::loopback || caller.from_own_address) && scope != DialBackScope::also_own)
        return "this call comes from the node's own machine, or by a proxy on it: from there nothing is learned about "
               "other machines";
    if (from == AddressScope::local && scope == DialBackScope::open)
        return "this call comes from an address of a private network, or by a proxy in it: ask a node on another "
               "network, or have this one's operator set rpc.dial_back to all";
    return {};
}

}  // namespace

void register_dial_back(rpc::Router& router, DialBack& dial_back, DialBackScope scope) {
    const auto handler = [&dial_back, scope](const rpc::Params& params, rpc::Caller& caller) -> rpc::Answer {
        RETRACE_TRY(port, params.u64(0));
        RETRACE_TRY(nonce, params.hash(1));
        std::optional<Url> endpoint;
        if (params.has(2)) {
            RETRACE_TRY(url, endpoint_of(params.at(2), port));
            endpoint = std::move(url);
        }
        if (!is_reach_port(port, endpoint && endpoint->tls))
            return rpc::invalid_argument(0, "this node connects back to ports " + std::string(kReachPorts) +
                                                ": have the agent listen on one of these");
        if (const std::string why = why_not(caller, scope); !why.empty()) return rpc::server_error(why);
        const auto outcome = dial_back.ask(caller.peer, static_cast<std::uint16_t>(port), nonce, endpoint);
        if (!outcome) return rpc::rpc_error(rpc::kLimitExceeded, outcome.error().message);
        json::object answer{{"port", rpc::quantity(port)}, {"outcome", name_of(*outcome)}};
        // A private address may be that of a hop, and would tell how the node's network is made.
        if (scope_of(caller.peer) == AddressScope::open) answer["address"] = caller.peer;
        return json::value(std::move(answer));
    };
    router.add({"retrace_dialBack",
                "Connects back to the caller's own address and asks there for an agent's answer to the nonce, by https "
                "and under the name that an endpoint has; called again with the same parameters until the outcome is "
                "known.",
                {{"port", "Quantity"}, {"nonce", "Hash"}, {"endpoint", "Text", false}},
                "DialBack",
                handler});
    router.set_cost("retrace_dialBack", rpc::RequestCost::brief);
}

}  // namespace retrace::node
