// SPDX-License-Identifier: MIT
#include "node/agents/remote_state.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "ledger/chain/state_proof.hpp"
#include "merkle/base/non_fatal.hpp"
#include "node/agents/proven_state.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {

namespace json = boost::json;

namespace {

constexpr int kServerError = -32000;          // The code of a refused answer of too many bytes.
constexpr std::size_t kUnknownMax = 1 << 14;  // Slots read ahead in one round; a lying node could name any number.

}  // namespace

ledger::Account RemoteState::account(const ledger::Address& address) const {
    if (failure_ || unknown_ != nullptr) return {};
    if (root_) {
        const auto leaf = proven_account(client_, {height_, *root_}, address);
        if (leaf) return ledger::decode_account(*leaf).value_or(ledger::Account{});
        failure_ = leaf.error();
        return {};
    }
    const auto answer = client_.call("retrace_getAccount", {rpc::data(address), rpc::quantity(height_)});
    const json::object* object = answer ? answer->if_object() : nullptr;
    const json::value* nonce = object != nullptr ? object->if_contains("nonce") : nullptr;
    const json::value* balance = object != nullptr ? object->if_contains("balance") : nullptr;
    if (nonce != nullptr && balance != nullptr) {
        const auto n = rpc::parse_u64(*nonce);
        const auto b = rpc::parse_u256(*balance);
        if (n && b) return {*n, *b};
    }
    failure_ = answer ? RpcFailure{0, "the node's answer to retrace_getAccount is not an account", {}} : answer.error();
    return {};
}

Bytes RemoteState::slot(const ledger::Address& contract, View key) const {
    if (failure_) return {};
    const Slot name{contract, to_bytes(key)};
    const auto known = slots_.find(name);
    if (known != slots_.end()) return known->second;
    if (SlotCache* const kept = cache())
        if (const Bytes* const value = kept->find(name)) return *value;
    if (unknown_ != nullptr) {
        if (unknown_->size() < kUnknownMax) unknown_->insert(name);
        return {};
    }
    request({&name, 1});
    return failure_ ? Bytes() : slots_.at(name);
}

void RemoteState::request_proofs(std::span<const Slot> slots) const {
    for (const Slot& slot : slots) {
        auto leaf = proven_slot(client_, {height_, *root_}, slot.first, slot.second);
        if (!leaf) {
            failure_ = leaf.error();
            return;
        }
        slots_[slot] = std::move(*leaf);
    }
}

void RemoteState::request(std::span<const Slot> slots) const {
    if (root_) return request_proofs(slots);
    json::array names;
    for (const auto& [contract, key] : slots)
        names.push_back(json::object{{"contract", rpc::data(contract)}, {"key", rpc::data(key)}});
    const auto answer = client_.call("retrace_getSlots", {std::move(names), rpc::quantity(height_)});
    if (!answer) {
        if (answer.error().code != kServerError || slots.size() == 1) {
            failure_ = answer.error();
            return;
        }
        request(slots.first(slots.size() / 2));
        if (!failure_) request(slots.subspan(slots.size() / 2));
        return;
    }
    const json::object* object = answer->if_object();
    const json::value* values = object != nullptr ? object->if_contains("values") : nullptr;
    if (values != nullptr && values->is_array() && values->get_array().size() == slots.size()) {
        bool all = true;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            auto bytes = rpc::parse_data(values->get_array()[i]);
            all = all && bytes;
            if (!bytes) continue;
            if (SlotCache* const kept = cache()) kept->put(slots[i], *bytes);
            slots_[slots[i]] = std::move(*bytes);
        }
        if (all) return;
    }
    failure_ =
        RpcFailure{0, "the node's answer to retrace_getSlots does not hold one value for each requested slot", {}};
}

void RemoteState::read_ahead(const std::function<void()>& reading) const {
    constexpr std::size_t kMost = 500;  // In a call; the node refuses more than 1,000.
    constexpr int kRounds = 32;         // Records name each other less than ten deep.
    for (int round = 0; round < kRounds && !failure_; ++round) {
        std::set<Slot> unknown;
        unknown_ = &unknown;
        try {
            const NonFatalScope question;
            reading();
        } catch (const std::exception&) {
            // An empty value broke an invariant of the rules; `read` tells whether the whole state breaks one.
        }
        unknown_ = nullptr;
        if (unknown.empty()) return;
        const std::vector<Slot> all(unknown.begin(), unknown.end());
        for (std::span<const Slot> left(all); !left.empty() && !failure_;) {
            const std::size_t count = std::min(left.size(), kMost);
            request(left.first(count));
            left = left.subspan(count);
        }
    }
}

void RemoteState::read(const std::function<void()>& reading) const {
    try {
        const NonFatalScope question;
        reading();
    } catch (const std::exception& impossible) {
        if (failure_) return;
        const std::string what = std::string("the node's state breaks an invariant of the rules: ") + impossible.what();
        failure_ = RpcFailure{0, what, {}, false};
        spdlog::warn("event=read_failed reason=\"{}\"", failure_->message);
    }
}

}  // namespace retrace::node
