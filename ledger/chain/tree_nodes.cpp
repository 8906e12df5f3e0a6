// SPDX-License-Identifier: MIT
#include "ledger/chain/tree_nodes.hpp"

#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"

namespace retrace::ledger {

std::optional<Bytes> TipNodes::get(const Bytes& store_key) const {
    auto node = store_.get(keys::node(store_key));
    if (node) seen_.insert_or_assign(store_key, *node);
    return node;
}

merkle::NodeWrites TipNodes::old_of(const merkle::NodeWrites& writes) const {
    merkle::NodeWrites out;
    for (const auto& [key, node] : writes) {
        const auto seen = seen_.find(key);
        out.emplace_hint(out.end(), key, seen == seen_.end() ? Bytes{} : seen->second);
    }
    return out;
}

std::optional<PastNodes> PastNodes::load(const Store& store, std::uint64_t height, std::uint64_t tip) {
    PastNodes out(store);
    for (std::uint64_t at = height + 1; at <= tip; ++at) {
        const auto record = store.get(keys::old_nodes(at));
        auto nodes = record ? decode_nodes(*record) : std::nullopt;
        if (!nodes) return std::nullopt;
        out.before_.push_back(std::move(*nodes));
    }
    return out;
}

std::optional<Bytes> PastNodes::get(const Bytes& store_key) const {
    for (const merkle::NodeWrites& before : before_) {
        const auto found = before.find(store_key);
        if (found == before.end()) continue;
        return found->second.empty() ? std::nullopt : std::optional<Bytes>(found->second);
    }
    return store_.get(keys::node(store_key));
}

}  // namespace retrace::ledger
