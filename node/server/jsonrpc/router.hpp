// SPDX-License-Identifier: MIT
// The table of methods. Every family of methods registers itself here; `rpc.discover` is made from the table.
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

/// What happened to a task, as JSON.
struct TaskProgress {
    std::uint64_t task = 0;
    std::string json;
};

struct Subscription {
    /// `syncing` never has an event: a node here has every block that there is.
    enum class Kind : std::uint8_t { new_heads, logs, pending_txs, task_progress, syncing };
    Kind kind = Kind::new_heads;
    ledger::LogFilter filter;  ///< Of logs.
    bool full_txs = false;     ///< Of pending_txs: objects instead of hashes.
    std::uint64_t task = 0;    ///< Of task_progress: this one alone; 0: all.
    /// Of task_progress: what a block brought to all tasks, the same for every such subscription. Any thread.
    std::function<std::vector<TaskProgress>(const ledger::Block&)> of_block;
};

/// The subscriptions of one WebSocket connection.
class Subscriptions {
public:
    virtual ~Subscriptions() = default;
    /// Its id; an empty string when the connection holds too many. Events follow the answer that carries the
    /// id.
    virtual std::string add(Subscription subscription) = 0;
    /// Why the last one was not added.
    virtual const char* refusal() const { return "too many subscriptions on this connection"; }
    virtual bool remove(const std::string& id) = 0;
};

/// That much long work costs as much of an allowance as one request does.
inline constexpr double kWorkPerToken = 16;

/// Who asks.
struct Caller {
    Subscriptions* subscriptions = nullptr;  ///< nullptr over HTTP.
    Allowance* allowance = nullptr;          ///< nullptr: may ask without limit.
    bool admin = false;                      ///< Showed the token of administrative methods.
    std::string client{};                    ///< As the limits name it; empty: on this machine.
    Budget* budget = nullptr;                ///< nullptr: may take as long as it likes.

    /// Before each piece of long work, with its size as `ledger::search_logs` counts it: takes it from the
    /// allowance, and fails once the request has used its time or nobody waits for it any more.
    Status<RpcError> spend(std::size_t work);
};

/// How long one request of a method may hold a thread.
enum class RequestCost : std::uint8_t {
    heavy,  ///< As long as the budget lasts.
    brief,  ///< A few lookups of one small record, if the parameters are small: below a millisecond.
    light,  ///< One lookup, or one signature: below 100 microseconds, so a batch of them is brief.
};

/// Of a request by its parameters. Called where nobody may be held up longer than one lookup takes.
using CostFunction = std::function<RequestCost(const json::array& params)>;

using Answer = Checked<json::value>;
using Handler = std::function<Answer(const Params&, Caller&)>;

struct ParamInfo {
    std::string name;
    std::string type;      ///< As schema_named (schemas.hpp) takes it.
    bool required = true;  ///< Optional ones come last.
};

struct Method {
    std::string name;
    std::string summary;
    std::vector<ParamInfo> params;
    std::string result;  ///< As ParamInfo::type.
    Handler handler;
    bool admin = false;  ///< Only for callers that show the node's token.
    RequestCost cost = RequestCost::heavy;
    bool mutates_state = false;  ///< Changes what the chain is made of: its broken invariants end the process.
};

class Router {
public:
    /// A name is registered once (asserted).
    void add(Method method);
    const Method* find(std::string_view name) const;
    /// Of a method that was added (asserted).
    void set_cost(std::string_view name, RequestCost cost);
    void set_cost(std::string_view name, CostFunction weigh);
    /// Of a call; light when there is no such method.
    RequestCost cost_of(std::string_view name, const json::array& params) const;
    /// By name.
    const std::map<std::string, Method, std::less<>>& methods() const noexcept { return methods_; }

    /// Checks the number of parameters and calls the handler. What it throws and invariants it breaks are -32603.
    Answer call(std::string_view name, const json::array& params, Caller& caller) const;

private:
    std::map<std::string, Method, std::less<>> methods_;
    std::map<std::string, CostFunction, std::less<>> cost_functions_;  // of those whose cost depends on the parameters
};

}  // namespace retrace::node::rpc
