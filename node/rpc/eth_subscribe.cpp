// SPDX-License-Identifier: MIT
// eth_subscribe and eth_unsubscribe. The connection delivers the events (ws_session.cpp).
#include "node/rpc/log_filter.hpp"
#include "node/rpc/methods.hpp"

namespace retrace::node::rpc {
namespace {

/// Over HTTP there is nobody to deliver to: the sentence that makes clients poll instead.
Unexpected<RpcError> not_here(const char* method) {
    return rpc_error(kMethodNotFound,
                     std::string("the method ") + method + " does not exist/is not available");
}

Checked<Subscription> parse_subscription(const Params& params) {
    const json::string* kind = params.at(0).if_string();
    if (kind == nullptr) return invalid_argument(0, "not the name of a subscription");
    Subscription out;
    if (*kind == "newHeads") return out;
    if (*kind == "newPendingTransactions") {
        out.kind = Subscription::Kind::pending_txs;
        if (params.has(1)) {
            RETRACE_TRY(full, params.boolean(1));
            out.full_txs = full;
        }
        return out;
    }
    if (*kind != "logs")
        return invalid_argument(0, "no such subscription; newHeads, logs, newPendingTransactions");
    out.kind = Subscription::Kind::logs;
    if (params.has(1)) {
        RETRACE_TRY(query, parse_log_query(params, 1));
        out.filter = std::move(query.filter);
    }
    return out;
}

Answer subscribe(const Params& params, Caller& caller) {
    if (caller.subscriptions == nullptr) return not_here("eth_subscribe");
    RETRACE_TRY(subscription, parse_subscription(params));
    std::string id = caller.subscriptions->add(std::move(subscription));
    if (id.empty()) return server_error("too many subscriptions on this connection");
    return json::value(std::move(id));
}

Answer unsubscribe(const Params& params, Caller& caller) {
    if (caller.subscriptions == nullptr) return not_here("eth_unsubscribe");
    const json::string* id = params.at(0).if_string();
    if (id == nullptr) return invalid_argument(0, "not a subscription id");
    if (!caller.subscriptions->remove(std::string(id->data(), id->size()))) {
        return server_error("subscription not found");
    }
    return json::value(true);
}

}  // namespace

void register_eth_subscribe(Router& router, const Backend&) {
    router.add({"eth_subscribe",
                "Pushes newHeads, logs or newPendingTransactions (WebSocket only).",
                {{"kind", "Text"}, {"options", "Any", false}},
                "Quantity",
                subscribe});
    router.add({"eth_unsubscribe", "Ends a subscription.", {{"id", "Quantity"}}, "Boolean", unsubscribe});
}

}  // namespace retrace::node::rpc
