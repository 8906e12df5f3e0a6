// SPDX-License-Identifier: MIT
#include "node/agents/proven_state.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "ledger/chain/state_proof.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {

namespace json = boost::json;

namespace {

const json::value* member(const Result<json::value, RpcFailure>& answer, const char* name) {
    const json::object* const object = answer ? answer->if_object() : nullptr;
    return object != nullptr ? object->if_contains(name) : nullptr;
}

Result<Bytes, RpcFailure> proven_leaf(RpcClient& client, const ProvenRoot& at, json::value leaf,
                                      const Hash32& leaf_key) {
    const auto refused = [](const std::string& why) { return Unexpected{RpcFailure{0, why, {}}}; };
    const auto answer = client.call("retrace_getProof", {std::move(leaf), rpc::quantity(at.height)});
    if (!answer) return Unexpected{answer.error()};
    const json::value* const encoded = member(answer, "encoded");
    const auto bytes = encoded != nullptr ? rpc::parse_data(*encoded) : rpc::parse_data(json::value(nullptr));
    if (!bytes) return refused("the node's answer is no proof");
    Reader in(*bytes);
    ledger::StateProof proof = ledger::decode_state_proof(in);
    if (!in.finish() || proof.leaf_key != leaf_key || proof.state_root != at.root || !ledger::verify(proof))
        return refused("the node's proof does not hold under the state root of block " + std::to_string(at.height));
    return std::move(proof.value);
}

}  // namespace

Result<Bytes, RpcFailure> proven_account(RpcClient& client, const ProvenRoot& at, const ledger::Address& address) {
    return proven_leaf(client, at, json::string(rpc::data(address)), ledger::account_leaf_key(address));
}

Result<Bytes, RpcFailure> proven_slot(RpcClient& client, const ProvenRoot& at, const ledger::Address& contract,
                                      View key) {
    return proven_leaf(client, at, json::object{{"contract", rpc::data(contract)}, {"key", rpc::data(key)}},
                       ledger::slot_leaf_key(contract, key));
}

template <class Ask>
Bytes ProvenState::proven(const Hash32& leaf_key, const Ask& ask) const {
    if (failure_) return {};
    const auto [at, is_new] = leaves_.try_emplace(leaf_key);
    if (!is_new) return at->second;
    auto leaf = ask();
    if (!leaf) {
        failure_ = leaf.error().message;
        return {};
    }
    ++proofs_;
    return at->second = std::move(*leaf);
}

ledger::Account ProvenState::account(const ledger::Address& address) const {
    const Bytes value = proven(ledger::account_leaf_key(address), [&] {
        return proven_account(client_, {height_, root_}, address);
    });
    if (value.empty()) return {};
    return ledger::decode_account(value).value_or(ledger::Account{});
}

Bytes ProvenState::slot(const ledger::Address& contract, View key) const {
    return proven(ledger::slot_leaf_key(contract, key), [&] {
        return proven_slot(client_, {height_, root_}, contract, key);
    });
}

Result<Hash32> state_root_at(RpcClient& client, std::uint64_t height) {
    const auto block = client.call("eth_getBlockByNumber", {rpc::quantity(height), false});
    if (!block) return error(block.error().message);
    const json::value* const root = member(block, "stateRoot");
    const auto bytes = root != nullptr ? rpc::parse_data(*root) : rpc::parse_data(json::value(nullptr));
    if (!bytes || bytes->size() != 32) return error("the node knows no block " + std::to_string(height));
    Hash32 out;
    std::copy(bytes->begin(), bytes->end(), out.bytes.begin());
    return out;
}

}  // namespace retrace::node
