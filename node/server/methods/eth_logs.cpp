// SPDX-License-Identifier: MIT
// eth_getLogs and the polled filters.
#include <algorithm>

#include "node/server/methods/eth_json.hpp"
#include "node/server/methods/filters.hpp"
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::uint64_t kHashesMax = 10'000;  // in one answer of a block filter; the next answer continues

Checked<std::string> filter_id(const Params& params) {
    const json::string* id = params.at(0).if_string();
    if (id == nullptr) return invalid_argument(0, "not a filter id");
    return std::string(id->data(), id->size());
}

/// The new logs, up to the limits of one answer; the next answer continues.
Answer log_changes(const Backend& backend, Caller& caller, LogFilterState& state) {
    const std::uint64_t tip = backend.chain.height();
    std::uint64_t last = std::min(tip, state.next_height + kLogRangeMax - 1);
    if (state.query.to.kind == BlockRef::Kind::height) last = std::min(last, state.query.to.height);
    if (state.next_height > last) return json::value(json::array());
    RETRACE_TRY(range, log_range(backend, state.next_height, last));
    RETRACE_TRY(found, search(backend, caller, state.query.filter, range));
    state.next_height = found.next;
    return json::value(logs_json(found.logs));
}

Answer block_changes(const Backend& backend, Caller& caller, BlockFilterState& state) {
    const std::uint64_t last = std::min(backend.chain.height(), state.next_height + kHashesMax - 1);
    json::array hashes;
    for (; state.next_height <= last; ++state.next_height) {
        RETRACE_CHECK(caller.spend(1));
        const auto header = backend.chain.header(state.next_height);
        if (!header) return server_error("header not found");
        hashes.emplace_back(data(ledger::block_hash(*header)));
    }
    return json::value(std::move(hashes));
}

Answer pending_changes(const Backend& backend, PendingFilterState& state) {
    json::array hashes;
    for (const Hash32& hash : backend.filters.take_pending(state)) hashes.emplace_back(data(hash));
    return json::value(std::move(hashes));
}

Answer changes(const Backend& backend, Caller& caller, FilterState& state) {
    if (auto* logs = std::get_if<LogFilterState>(&state)) return log_changes(backend, caller, *logs);
    if (auto* blocks = std::get_if<BlockFilterState>(&state)) return block_changes(backend, caller, *blocks);
    return pending_changes(backend, std::get<PendingFilterState>(state));
}

Answer get_filter_changes(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, filter_id(params));
    Answer answer = server_error("filter not found");
    backend.filters.with(id, [&](FilterState& state) { answer = changes(backend, caller, state); });
    return answer;
}

Answer get_filter_logs(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, filter_id(params));
    const auto query = backend.filters.query_of(id);
    if (!query) return server_error("filter not found");
    RETRACE_TRY(found, find_logs(backend, caller, *query));
    return json::value(logs_json(found));
}

/// Returns the id of a new filter, or an error if it is empty because there was no room.
Answer named(std::string id) {
    if (id.empty())
        return rpc_error(kLimitExceeded, "too many filters are in use, remove some or try again in five minutes");
    return json::value(std::move(id));
}

Answer new_log_filter(const Backend& backend, const Params& params, const Caller& caller) {
    RETRACE_TRY(query, parse_log_query(params, 0));
    if (query.block_hash) return invalid_params("a filter of one block never changes; use eth_getLogs");
    std::uint64_t next = backend.chain.height() + 1;
    if (query.from.kind == BlockRef::Kind::height) next = std::max(next, query.from.height);
    return named(backend.filters.add(LogFilterState{std::move(query), next}, caller.client));
}

}  // namespace

void register_eth_logs(Router& router, const Backend& backend) {
    router.add({"eth_getLogs",
                "Events of a range of blocks.",
                {{"filter", "Filter"}},
                "Log[]",
                [&backend](const Params& params, Caller& caller) -> Answer {
                    RETRACE_TRY(query, parse_log_query(params, 0));
                    RETRACE_TRY(found, find_logs(backend, caller, query));
                    return json::value(logs_json(found));
                }});
    router.add({"eth_newFilter",
                "Watches for events.",
                {{"filter", "Filter"}},
                "Id",
                [&backend](const Params& params, Caller& caller) { return new_log_filter(backend, params, caller); }});
    router.add(
        {"eth_newBlockFilter", "Watches for blocks.", {}, "Id", [&backend](const Params&, Caller& caller) -> Answer {
             const BlockFilterState state{backend.chain.height() + 1};
             return named(backend.filters.add(state, caller.client));
         }});
    router.add({"eth_newPendingTransactionFilter",
                "Watches for transactions.",
                {},
                "Id",
                [&backend](const Params&, Caller& caller) -> Answer {
                    return named(backend.filters.add_pending(caller.client));
                }});
    router.add(
        {"eth_getFilterChanges",
         "New logs or hashes since the last poll.",
         {{"id", "Id"}},
         "Changes",
         [&backend](const Params& params, Caller& caller) { return get_filter_changes(backend, params, caller); }});
    router.add({"eth_getFilterLogs",
                "All events of a filter's range.",
                {{"id", "Id"}},
                "Log[]",
                [&backend](const Params& params, Caller& caller) { return get_filter_logs(backend, params, caller); }});
    router.add({"eth_uninstallFilter",
                "Removes a filter.",
                {{"id", "Id"}},
                "Boolean",
                [&backend](const Params& params, Caller&) -> Answer {
                    RETRACE_TRY(id, filter_id(params));
                    return json::value(backend.filters.remove(id));
                }});
}

}  // namespace retrace::node::rpc
