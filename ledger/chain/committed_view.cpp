// SPDX-License-Identifier: MIT
#include "ledger/chain/committed_view.hpp"

#include "ledger/chain/keys.hpp"
#include "ledger/chain/state_proof.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

Account CommittedView::account(const Address& address) const {
    const auto account = decode_account(read(keys::account(address)));
    ensure(account.has_value(), "the data base holds an account that does not decode");
    return *account;
}

Bytes CommittedView::slot(const Address& contract, View key) const { return read(keys::slot(contract, key)); }

Bytes CommittedView::read(View state_key) const {
    // The order matters: the newest value first, then whether a later batch may have replaced it. A batch
    // brings the new value and its undo record together, so a value read too new always finds the record.
    Bytes value = store_.get(state_key).value_or(Bytes{});
    if (writing_.load() == height_) return value;
    store_.scan(keys::undo_prefix(state_key), keys::undo(state_key, height_ + 1), 1, [&](View, View before) {
        value = to_bytes(before);
        return false;
    });
    return value;
}

}  // namespace retrace::ledger
