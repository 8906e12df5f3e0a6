// SPDX-License-Identifier: MIT
#include "ledger/state/cached_view.hpp"

namespace retrace::ledger {

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
