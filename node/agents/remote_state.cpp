// SPDX-License-Identifier: MIT
#include "node/agents/remote_state.hpp"

#include <spdlog/spdlog.h>

#include "merkle/base/non_fatal.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {

namespace json = boost::json;

ledger::Account RemoteState::account(const ledger::Address& address) const {
    if (failure_) return {};
    const auto answer = client_.call("retrace_getAccount", {rpc::data(address), rpc::quantity(height_)});
    const json::object* object = answer ? answer->if_object() : nullptr;
    const json::value* nonce = object != nullptr ? object->if_contains("nonce") : nullptr;
    const json::value* balance = object != nullptr ? object->if_contains("balance") : nullptr;
    if (nonce != nullptr && balance != nullptr) {
        const auto n = rpc::parse_u64(*nonce);
        const auto b = rpc::parse_u256(*balance);
        if (n && b) return {*n, *b};
    }
    failure_ = answer ? RpcFailure{0, "the node's account is not one", {}} : answer.error();
    return {};
}

Bytes RemoteState::slot(const ledger::Address& contract, View key) const {
    if (failure_) return {};
    const auto [at, is_new] = slots_.try_emplace({contract, to_bytes(key)});
    if (!is_new) return at->second;
    const json::object name{{"contract", rpc::data(contract)}, {"key", rpc::data(key)}};
    const auto answer = client_.call("retrace_getSlots", {json::array{name}, rpc::quantity(height_)});
    const json::object* object = answer ? answer->if_object() : nullptr;
    const json::value* values = object != nullptr ? object->if_contains("values") : nullptr;
    if (values != nullptr && values->is_array() && values->get_array().size() == 1) {
        if (auto bytes = rpc::parse_data(values->get_array()[0])) return at->second = std::move(*bytes);
    }
    failure_ = answer ? RpcFailure{0, "the node's slot is not one", {}} : answer.error();
    return {};
}

void RemoteState::read(const std::function<void()>& reading) const {
    try {
        const NonFatalScope question;
        reading();
    } catch (const std::exception& impossible) {
        if (failure_) return;
        const std::string what = std::string("the node's state is none that the rules make: ") + impossible.what();
        failure_ = RpcFailure{0, what, {}, false};
        spdlog::warn("event=read_failed reason=\"{}\"", failure_->message);
    }
}

}  // namespace retrace::node
