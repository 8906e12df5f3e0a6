// SPDX-License-Identifier: MIT
#include "node/server/jsonrpc/router.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "merkle/base/non_fatal.hpp"
#include "node/server/jsonrpc/metered_view.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::size_t kNameEchoMax = 128;  // longer method names are shortened in errors

std::string_view shortened(std::string_view name) {
    std::size_t end = std::min(name.size(), kNameEchoMax);
    // Does not cut a UTF-8 sequence.
    while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
    return name.substr(0, end);
}

std::size_t required_count(const Method& method) {
    return static_cast<std::size_t>(
        std::count_if(method.params.begin(), method.params.end(), [](const ParamInfo& p) { return p.required; }));
}

}  // namespace

Status<RpcError> Caller::spend(std::size_t work) {
    if (allowance != nullptr && work != 0) allowance->charge(static_cast<double>(work) / kWorkPerToken);
    if (budget == nullptr) return Unit{};
    return budget->check();
}

void Router::add(Method method) {
    std::string name = method.name;
    const bool added = methods_.emplace(std::move(name), std::move(method)).second;
    ensure(added, "an RPC method is registered once");
}

const Method* Router::find(std::string_view name) const {
    const auto it = methods_.find(name);
    return it == methods_.end() ? nullptr : &it->second;
}

void Router::set_cost(std::string_view name, RequestCost cost) {
    const auto it = methods_.find(name);
    ensure(it != methods_.end(), "only a method that was registered has a cost");
    it->second.cost = cost;
}

void Router::set_cost(std::string_view name, CostFunction cost) {
    ensure(find(name) != nullptr, "only a method that was registered has a cost");
    cost_functions_[std::string(name)] = std::move(cost);
}

RequestCost Router::cost_of(std::string_view name, const json::array& params) const {
    const Method* method = find(name);
    if (method == nullptr) return RequestCost::light;  // answered with an error
    const auto found = cost_functions_.find(name);
    return found != cost_functions_.end() ? found->second(params) : method->cost;
}

Answer Router::call(std::string_view name, const json::array& params, Caller& caller) const {
    const Method* method = find(name);
    if (method == nullptr) {
        // The exact text matters: ethers falls back from filters to polling only on it.
        return rpc_error(kMethodNotFound,
                         "the method " + std::string(shortened(name)) + " does not exist/is not available");
    }
    if (method->admin && !caller.admin) {
        return rpc_error(kUnauthorized, "unauthorized: this method needs the node's bearer token");
    }
    for (std::size_t i = 0, n = required_count(*method); i < n; ++i) {
        if (i >= params.size() || params[i].is_null()) {
            return invalid_params("missing value for required argument " + std::to_string(i));
        }
    }
    if (params.size() > method->params.size()) {
        return invalid_params("too many arguments, want at most " + std::to_string(method->params.size()));
    }
    try {
        // A broken invariant fails only the request; in a method that mutates state it ends the process, as in a
        // block.
        std::optional<NonFatalScope> question;
        if (!method->mutates_state) question.emplace();
        return method->handler(Params(params), caller);
    } catch (const RequestAborted& ended) {
        return Unexpected{ended.error};
    } catch (const std::exception& e) {
        spdlog::error("event=rpc_bug method={} what=\"{}\"", method->name, e.what());
        return rpc_error(kInternalError, "internal error");
    }
}

}  // namespace retrace::node::rpc
