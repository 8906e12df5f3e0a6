// SPDX-License-Identifier: MIT
#include "ledger/state/cached_view.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

void CachedView::remember(const std::vector<Address>& addresses, const std::vector<Account>& accounts) {
    ensure(accounts_.empty(), "accounts are remembered before any other is read");
    ensure(addresses.size() == accounts.size(), "an account for each address");
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        accounts_.emplace_hint(accounts_.end(), addresses[i], accounts[i]);
    }
}

Account CachedView::account(const Address& address) const {
    const auto found = accounts_.find(address);
    if (found != accounts_.end()) return found->second;
    return accounts_.emplace(address, base_.account(address)).first->second;
}

Bytes CachedView::slot(const Address& contract, View key) const {
    const auto found = slots_.find(SlotRef{contract, key});
    if (found != slots_.end()) return found->second;
    return slots_.emplace(SlotKey{contract, to_bytes(key)}, base_.slot(contract, key)).first->second;
}

}  // namespace retrace::ledger
