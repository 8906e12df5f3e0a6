// SPDX-License-Identifier: MIT
// A state view that charges a request for each read and aborts it when its budget is used up or the state is pruned.
#pragma once

#include <exception>
#include <memory>

#include "ledger/chain/chain.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node::rpc {

/// Aborts a handler in the middle of a read; Router::call turns it into the request's answer. It is an exception,
/// because the rules read states through an interface that cannot fail and know nothing of requests.
class RequestAborted final : public std::exception {
public:
    explicit RequestAborted(RpcError e) : error(std::move(e)) {}
    const char* what() const noexcept override { return error.message.c_str(); }
    RpcError error;
};

/// The error for a state that is not kept, or no longer kept.
RpcError state_not_kept(const ledger::Chain& chain, std::uint64_t height);

/// Serves one request on one thread. Every read may throw RequestAborted: the request is over its budget, or the state
/// left the kept window before the read ended, so the value may belong to a later block.
class MeteredView final : public ledger::StateView {
public:
    /// `state` is the state after block `height`. `caller` and `chain` outlive the view.
    MeteredView(Caller& caller, const ledger::Chain& chain, std::uint64_t height,
                std::shared_ptr<const ledger::StateView> state)
        : caller_(caller), chain_(chain), height_(height), state_(std::move(state)) {}

    ledger::Account account(const ledger::Address& address) const override;
    Bytes slot(const ledger::Address& contract, View key) const override;

private:
    void pay() const;
    void check_kept() const;

    Caller& caller_;
    const ledger::Chain& chain_;
    const std::uint64_t height_;
    const std::shared_ptr<const ledger::StateView> state_;
    mutable std::size_t reads_ = 0;
};

}  // namespace retrace::node::rpc
