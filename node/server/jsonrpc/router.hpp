// SPDX-License-Identifier: MIT
// The table of RPC methods. Every family of methods registers itself here; `rpc.discover` is generated from the table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/chain/log_search.hpp"
#include "node/server/jsonrpc/budget.hpp"
#include "node/server/jsonrpc/params.hpp"
#include "node/server/jsonrpc/rate_limit.hpp"

namespace retrace::node::rpc {

/// An event of a task, as JSON.
struct TaskProgress {
    std::uint64_t task = 0;
    std::string json;
};

struct Subscription {
    /// `syncing` never has an event: no event says that a node is behind: clients poll eth_syncing.
    enum class Kind : std::uint8_t { new_heads, logs, pending_txs, task_progress, syncing };
    Kind kind = Kind::new_heads;
    ledger::LogFilter filter;  ///< For `logs`.
    bool full_txs = false;     ///< For `pending_txs`: objects instead of hashes.
    std::uint64_t task = 0;    ///< For `task_progress`: events of this task only; 0: all.
    /// For `task_progress`: the events of all tasks in a block, the same for every such subscription. Thread-safe.
    std::function<std::vector<TaskProgress>(const ledger::Block&)> of_block;
};

/// The subscriptions of one WebSocket connection.
class Subscriptions {
public:
    virtual ~Subscriptions() = default;
    /// Returns the id; an empty string if a limit of the connection is reached. Events are sent after the answer that
    /// carries the id.
    virtual std::string add(Subscription subscription) = 0;
    /// Why the last subscription was not added.
    virtual const char* refusal() const { return "too many subscriptions on this connection"; }
    virtual bool remove(const std::string& id) = 0;
};

/// Units of work (see Caller::spend) that cost one token of the allowance, the price of a request.
inline constexpr double kWorkPerToken = 16;

/// The sender of a request, with its limits.
struct Caller {
    Subscriptions* subscriptions = nullptr;  ///< nullptr over HTTP.
    Allowance* allowance = nullptr;          ///< nullptr: no rate limit.
    bool admin = false;                      ///< Presented the token of administrative methods.
    std::string client{};                    ///< Name that the limits use; empty: this machine.
    Budget* budget = nullptr;                ///< nullptr: no time limit.
    std::string peer{};                      ///< IP address that the connection came from; empty: unknown.
    bool proxied = false;                    ///< A proxy said that it made the connection for another.
    bool from_own_address = false;           ///< `peer` is also the address that the connection went to.

    /// Called before each piece of long work, with its size as `ledger::search_logs` counts it. Charges the allowance;
    /// fails once the request has timed out or is abandoned.
    Status<RpcError> spend(std::size_t work);
};

/// How long one request of a method may hold a thread.
enum class RequestCost : std::uint8_t {
    heavy,  ///< Up to the whole time budget.
    brief,  ///< A few lookups of one small record, if the parameters are small: less than a millisecond.
    light,  ///< One lookup or one signature: less than 100 microseconds, so a batch of them is brief.
};

/// Returns the cost of a request by its parameters. Runs on an I/O thread, so it may take no longer than one lookup.
using CostFunction = std::function<RequestCost(const json::array& params)>;

using Answer = Checked<json::value>;
using Handler = std::function<Answer(const Params&, Caller&)>;

struct ParamInfo {
    std::string name;
    std::string type;      ///< In the notation of schema_named (schemas.hpp).
    bool required = true;  ///< Optional ones come last.
};

struct Method {
    std::string name;
    std::string summary;
    std::vector<ParamInfo> params;
    std::string result;  ///< In the notation of ParamInfo::type.
    Handler handler;
    bool admin = false;  ///< Only for callers that present the node's token.
    RequestCost cost = RequestCost::heavy;
    bool mutates_state = false;  ///< Changes the chain's data: a broken invariant ends the process.
};

class Router {
public:
    /// Each name is registered once (asserted).
    void add(Method method);
    const Method* find(std::string_view name) const;
    /// Sets the cost of a method that was added (asserted).
    void set_cost(std::string_view name, RequestCost cost);
    void set_cost(std::string_view name, CostFunction cost);
    /// The cost of a call; light if there is no such method.
    RequestCost cost_of(std::string_view name, const json::array& params) const;
    /// All methods by name.
    const std::map<std::string, Method, std::less<>>& methods() const noexcept { return methods_; }

    /// Checks the number of parameters and calls the handler. Exceptions and, unless the method mutates state, broken
    /// invariants are answered with -32603.
    Answer call(std::string_view name, const json::array& params, Caller& caller) const;

private:
    std::map<std::string, Method, std::less<>> methods_;
    std::map<std::string, CostFunction, std::less<>> cost_functions_;  // methods whose cost depends on the parameters
};

}  // namespace retrace::node::rpc
