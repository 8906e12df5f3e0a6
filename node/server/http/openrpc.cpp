// SPDX-License-Identifier: MIT
// rpc.discover: the table of methods as an OpenRPC 1.2 document.
#include "node/server/http/openrpc.hpp"

#include <mutex>

#include "node/server/http/server.hpp"
#include "node/server/jsonrpc/dispatch.hpp"
#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/filters.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/schemas.hpp"

namespace retrace::node::rpc {
namespace {

json::object describe(const Method& method) {
    json::array params;
    for (const ParamInfo& param : method.params) {
        params.push_back(
            json::object{{"name", param.name}, {"required", param.required}, {"schema", schema_named(param.type)}});
    }
    json::object out{{"name", method.name},
                     {"summary", method.summary},
                     {"paramStructure", "by-position"},
                     {"params", std::move(params)},
                     {"result", json::object{{"name", "result"}, {"schema", schema_named(method.result)}}}};
    if (method.admin) out["x-bearer-token"] = true;
    return out;
}

/// The limits of the server, so that clients need not find them by trial. Those on connections and rates are the
/// defaults of settings and apply to clients on other machines.
json::object limits() {
    const DispatchLimits envelope;
    const ServerOptions server;
    return {{"bodyBytes", server.body_max},
            {"webSocketMessageBytes", server.body_max},
            {"unreadBytes", server.held.unread},
            {"heldBytesPerAddress", server.held.client},
            {"jsonDepth", envelope.body.depth},
            {"jsonValues", envelope.body.values},
            {"batchRequests", envelope.body.batch},
            {"batchAnswerBytes", envelope.response_bytes},
            {"subscriptionsPerConnection", server.subscriptions},
            {"connections", server.connections},
            {"connectionsPerAddress", server.connections_per_address},
            {"requestsPerSecond", server.requests_per_second},
            {"requestBurst", server.request_burst},
            {"recordsPerRequest", kWorkPerToken},
            {"requestSeconds", std::chrono::duration<double>(server.request_timeout).count()},
            {"waitingRequests", server.handlers.waiting},
            {"waitingRequestsPerAddress", server.handlers.waiting_per_client},
            {"readSeconds", server.read_timeout.count()},
            {"idleSeconds", server.idle_timeout.count()},
            {"filterIdleSeconds", std::chrono::seconds(FilterStore::kLife).count()},
            {"filterBytes", FilterStore::kBytesMax},
            {"filterBytesPerAddress", FilterStore::kBytesPerClient},
            {"filterBytesOfThisMachine", FilterStore::kBytesLocal},
            {"filterBytesEach", FilterStore::kBytesEach},
            {"logAddresses", 1000},  // as in parse_log_query
            {"logTopics", 4},
            {"stateOverrides", kOverridesMax},
            {"logs", kLogsMax},
            {"logBlocks", kLogRangeMax}};
}

json::value openrpc(const Router& router, std::string_view version) {
    json::array methods;
    for (const auto& [name, method] : router.methods()) methods.push_back(describe(method));
    return json::object{{"openrpc", "1.2.6"},
                        {"info", json::object{{"title", "Retrace JSON-RPC"}, {"version", version}}},
                        {"x-limits", limits()},
                        {"methods", std::move(methods)},
                        {"components", json::object{{"schemas", schemas()}}}};
}

/// The answer of rpc.discover: generated on the first request, and again if methods were added since.
class Document {
public:
    json::value of(const Router& router, const std::string& version) {
        std::shared_ptr<const json::value> made;
        {
            const std::lock_guard lock(mutex_);
            if (!made_ || methods_ != router.methods().size())
                made_ = std::make_shared<const json::value>(openrpc(router, version));
            methods_ = router.methods().size();
            made = made_;
        }
        return *made;
    }

private:
    std::mutex mutex_;
    std::shared_ptr<const json::value> made_;
    std::size_t methods_ = 0;
};

}  // namespace

void register_discover(Router& router, const Backend& backend) {
    router.add({"rpc.discover",
                "This document.",
                {},
                "Object",
                [&router, &backend, document = std::make_shared<Document>()](const Params&, Caller&) -> Answer {
                    return document->of(router, backend.version);
                }});
}

}  // namespace retrace::node::rpc
