// SPDX-License-Identifier: MIT
// The ledger state at one height as agents read it through a node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "ledger/state/view.hpp"
#include "node/agents/slot_cache.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// Every slot is requested once, alone or ahead with others. A StateView has no place for errors, so the first failure
/// is stored: later reads return empty values, and the caller must check `failure` before it uses anything computed from
/// this view.
class RemoteState final : public ledger::StateView {
public:
    /// `client` outlives the view. With `root`, the state root of that block, every value is proved; otherwise the node
    /// is believed.
    RemoteState(RpcClient& client, std::uint64_t height, const std::optional<Hash32>& root = std::nullopt)
        : client_(client), height_(height), root_(root) {}
    /// The same of a node that is believed, with the slots that `cache` has of this height.
    RemoteState(RpcClient& client, std::uint64_t height, std::shared_ptr<SlotCache> cache)
        : client_(client), height_(height), cache_(std::move(cache)) {}
    /// A state of which nothing can be read.
    static RemoteState unreadable(RpcClient& client, std::uint64_t height, std::string why) {
        RemoteState out(client, height);
        out.failure_ = RpcFailure{0, std::move(why), {}};
        return out;
    }

    std::uint64_t height() const noexcept { return height_; }
    const std::optional<RpcFailure>& failure() const noexcept { return failure_; }
    /// Calls `reading`, which applies the rules to this view. A state that no chain can have breaks an invariant of the
    /// rules: that ends `reading` and counts as a failure, instead of ending the process. Affects this thread only.
    void read(const std::function<void()>& reading) const;
    /// Requests the slots that `reading` will read, many in one call: a view of a thousand tasks takes as many round
    /// trips as records name each other in a row, not one for each slot. Calls `reading` several times, with empty
    /// values for the slots that are not known yet, so `reading` must have no effect but caches of single records. What
    /// it could not request ahead is requested when it is read.
    void read_ahead(const std::function<void()>& reading) const;

    ledger::Account account(const ledger::Address& address) const override;
    Bytes slot(const ledger::Address& contract, View key) const override;

private:
    using Slot = SlotName;

    /// The cache while it is of this height; a later state takes it over.
    SlotCache* cache() const noexcept { return cache_ && cache_->height() == height_ ? cache_.get() : nullptr; }
    /// Requests the slots. If they are too long for one answer, each half is requested.
    void request(std::span<const Slot> slots) const;
    /// Requests each with its proof.
    void request_proofs(std::span<const Slot> slots) const;

    RpcClient& client_;
    std::uint64_t height_;
    std::optional<Hash32> root_;
    std::shared_ptr<SlotCache> cache_ = nullptr;
    mutable std::map<Slot, Bytes> slots_;
    mutable std::set<Slot>* unknown_ = nullptr;  ///< Collects the slots that are read ahead.
    mutable std::optional<RpcFailure> failure_;
};

}  // namespace retrace::node
