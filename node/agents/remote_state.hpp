// SPDX-License-Identifier: MIT
// The ledger state at one height as agents read it through a node.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "ledger/state/view.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// Every slot is requested once. A StateView has no place for errors, so the first failure is stored: later reads
/// return empty values, and the caller must check `failure` before it uses anything computed from this view.
class RemoteState final : public ledger::StateView {
public:
    /// `client` outlives the view.
    RemoteState(RpcClient& client, std::uint64_t height) : client_(client), height_(height) {}

    std::uint64_t height() const noexcept { return height_; }
    const std::optional<RpcFailure>& failure() const noexcept { return failure_; }
    /// Calls `reading`, which applies the rules to this view. A state that no chain can have breaks an invariant of the
    /// rules: that ends `reading` and counts as a failure, instead of ending the process. Affects this thread only.
    void read(const std::function<void()>& reading) const;

    ledger::Account account(const ledger::Address& address) const override;
    Bytes slot(const ledger::Address& contract, View key) const override;

private:
    RpcClient& client_;
    std::uint64_t height_;
    mutable std::map<std::pair<ledger::Address, Bytes>, Bytes> slots_;
    mutable std::optional<RpcFailure> failure_;
};

}  // namespace retrace::node
