// SPDX-License-Identifier: MIT
// eth_subscribe and eth_unsubscribe. The connection delivers the events (ws_session.cpp).
#include <boost/json/serialize.hpp>

#include "merkle/base/non_fatal.hpp"
#include "node/server/methods/log_filter.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/task_events.hpp"

namespace retrace::node::rpc {
namespace {

/// The error over HTTP, where events cannot be delivered; its text makes clients poll instead.
Unexpected<RpcError> not_here(const char* method) {
    return rpc_error(kMethodNotFound, std::string("the method ") + method + " does not exist/is not available");
}

/// A subscription to the decoded events of one task, or of all tasks (0).
Checked<Subscription> task_progress(const Backend& backend, const Params& params) {
    std::uint64_t task = 0;
    if (params.has(1)) {
        RETRACE_TRY(options, params.object(1));
        const json::value* id = options->if_contains("task");
        if (id == nullptr) return invalid_argument(1, "taskProgress takes {task}, or no options");
        RETRACE_TRY(given, argument(1, parse_u64(*id)));
        task = given;
    }
    Subscription out;
    out.kind = Subscription::Kind::task_progress;
    out.task = task;
    out.of_block = [&backend](const ledger::Block& block) {
        const NonFatalScope question;  // a broken invariant fails only the subscribers' connections
        std::vector<TaskProgress> progress;
        const auto logs = ledger::logs_of(block, task_event_filter());
        for (const TaskEventAnswer& event : task_events(logs, *backend.chain.view(), 0))
            progress.push_back({event.task, json::serialize(record_json(event))});
        return progress;
    };
    return out;
}

Checked<Subscription> parse_subscription(const Backend& backend, const Params& params) {
    const json::string* kind = params.at(0).if_string();
    if (kind == nullptr) return invalid_argument(0, "not the name of a subscription");
    Subscription out;
    if (*kind == "newHeads") return out;
    if (*kind == "syncing") {
        out.kind = Subscription::Kind::syncing;
        return out;
    }
    if (*kind == "newPendingTransactions") {
        out.kind = Subscription::Kind::pending_txs;
        const json::object* options = params.at(1).if_object();  // some clients send {} for no options
        if (params.has(1) && (options == nullptr || !options->empty())) {
            RETRACE_TRY(full, params.boolean(1));
            out.full_txs = full;
        }
        return out;
    }
    if (*kind == "taskProgress") return task_progress(backend, params);
    if (*kind != "logs")
        return invalid_argument(0,
                                "no such subscription; newHeads, logs, newPendingTransactions, syncing, taskProgress");
    out.kind = Subscription::Kind::logs;
    if (params.has(1)) {
        RETRACE_TRY(query, parse_log_query(params, 1));
        out.filter = std::move(query.filter);
    }
    return out;
}

Answer subscribe(const Backend& backend, const Params& params, Caller& caller) {
    if (caller.subscriptions == nullptr) return not_here("eth_subscribe");
    RETRACE_TRY(subscription, parse_subscription(backend, params));
    std::string id = caller.subscriptions->add(std::move(subscription));
    if (id.empty()) return server_error(caller.subscriptions->refusal());
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

void register_eth_subscribe(Router& router, const Backend& backend) {
    router.add({"eth_subscribe",
                "Pushes newHeads, logs, newPendingTransactions, syncing or taskProgress (WebSocket only).",
                {{"kind", "Text"}, {"options", "Subscribed", false}},
                "Id",
                [&backend](const Params& params, Caller& caller) { return subscribe(backend, params, caller); }});
    router.add({"eth_unsubscribe", "Ends a subscription.", {{"id", "Id"}}, "Boolean", unsubscribe});
}

}  // namespace retrace::node::rpc
