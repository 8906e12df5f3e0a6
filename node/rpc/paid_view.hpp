// SPDX-License-Identifier: MIT
// A state whose readers pay for each read, and stop once their request may use no more.
#pragma once

#include <exception>
#include <memory>

#include "ledger/state/view.hpp"
#include "node/rpc/router.hpp"

namespace retrace::node::rpc {

/// Leaves a handler through whatever rule was reading; Router::call makes it the request's answer. An
/// exception, because the rules read a state that cannot fail and know nothing of requests.
class OverBudget final : public std::exception {
public:
    explicit OverBudget(RpcError e) : error(std::move(e)) {}
    const char* what() const noexcept override { return error.message.c_str(); }
    RpcError error;
};

/// For one request, on one thread. Every read may throw OverBudget.
class PaidView final : public ledger::StateView {
public:
    /// `caller` outlives the view.
    PaidView(Caller& caller, std::shared_ptr<const ledger::StateView> state)
        : caller_(caller), state_(std::move(state)) {}

    ledger::Account account(const ledger::Address& address) const override;
    Bytes slot(const ledger::Address& contract, View key) const override;

private:
    void pay() const;

    Caller& caller_;
    const std::shared_ptr<const ledger::StateView> state_;
    mutable std::size_t reads_ = 0;
};

}  // namespace retrace::node::rpc
