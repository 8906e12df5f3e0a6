// SPDX-License-Identifier: MIT
// The chain's state at one height, read through a node: what agents see of the ledger.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "ledger/state/view.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// Every slot is asked for once. A StateView has no place for errors, so a failure is remembered: what was
/// read after it is empty, and whoever built something from this view must look at `failure` before using it.
class RemoteState final : public ledger::StateView {
public:
    /// `client` outlives the view.
    RemoteState(RpcClient& client, std::uint64_t height) : client_(client), height_(height) {}

    std::uint64_t height() const noexcept { return height_; }
    const std::optional<RpcFailure>& failure() const noexcept { return failure_; }
    /// Does `reading`, which computes from this view with the rules. What no chain holds breaks an invariant of theirs:
    /// that is a failure too, and ends the reading, not the process. On this thread alone.
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
