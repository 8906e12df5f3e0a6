// SPDX-License-Identifier: MIT
#include "node/rpc/paid_view.hpp"

namespace retrace::node::rpc {

void PaidView::pay() const {
    // A request is paid for when it comes, so the first reads are free.
    constexpr auto kEach = static_cast<std::size_t>(kWorkPerToken);
    const auto spent = caller_.spend(++reads_ % kEach == 0 ? kEach : 0);
    if (!spent) throw OverBudget(spent.error());
}

ledger::Account PaidView::account(const ledger::Address& address) const {
    pay();
    return state_->account(address);
}

Bytes PaidView::slot(const ledger::Address& contract, View key) const {
    pay();
    return state_->slot(contract, key);
}

}  // namespace retrace::node::rpc
