// SPDX-License-Identifier: MIT
#include "node/server/jsonrpc/metered_view.hpp"

namespace retrace::node::rpc {

RpcError state_not_kept(const ledger::Chain& chain, std::uint64_t height) {
    return {kServerError,
            "header not found: the state of block " + std::to_string(height) + " is not kept; the oldest is " +
                std::to_string(chain.oldest_state()),
            std::nullopt};
}

void MeteredView::pay() const {
    // The request itself costs a token on arrival, so the first reads are free.
    constexpr auto kEach = static_cast<std::size_t>(kWorkPerToken);
    const auto spent = caller_.spend(++reads_ % kEach == 0 ? kEach : 0);
    if (!spent) throw RequestAborted(spent.error());
}

void MeteredView::check_kept() const {
    if (height_ < chain_.oldest_state()) throw RequestAborted(state_not_kept(chain_, height_));
}

ledger::Account MeteredView::account(const ledger::Address& address) const {
    pay();
    const ledger::Account out = state_->account(address);
    check_kept();
    return out;
}

Bytes MeteredView::slot(const ledger::Address& contract, View key) const {
    pay();
    Bytes out = state_->slot(contract, key);
    check_kept();
    return out;
}

}  // namespace retrace::node::rpc
