// SPDX-License-Identifier: MIT
// A state whose readers pay for each read, and stop once their request may use no more or the state is gone.
#pragma once

#include <exception>
#include <memory>

#include "ledger/chain/chain.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node::rpc {

/// Leaves a handler through whatever rule was reading; Router::call makes it the request's answer. An
/// exception, because the rules read a state that cannot fail and know nothing of requests.
class RequestAborted final : public std::exception {
public:
    explicit RequestAborted(RpcError e) : error(std::move(e)) {}
    const char* what() const noexcept override { return error.message.c_str(); }
    RpcError error;
};

/// What is answered about a state that is not kept, or not any more.
RpcError state_not_kept(const ledger::Chain& chain, std::uint64_t height);

/// For one request, on one thread. Every read may throw RequestAborted: over budget, or the state left the
/// window that is kept before the read was over, so that it may be of a later block.
class MeteredView final : public ledger::StateView {
public:
    /// `state` is that of block `height`. `caller` and `chain` outlive the view.
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
