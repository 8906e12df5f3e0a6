// SPDX-License-Identifier: MIT
#include "ledger/chain/committed_view.hpp"

#include "ledger/chain/keys.hpp"
#include "ledger/chain/state_proof.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

namespace {

Account checked(View bytes) {
    const auto account = decode_account(bytes);
    ensure(account.has_value(), "the database holds an account that does not decode");
    return *account;
}

}  // namespace

Account LiveView::account(const Address& address) const {
    return checked(store_.get(keys::account(address)).value_or(Bytes{}));
}

Bytes LiveView::slot(const Address& contract, View key) const {
    return store_.get(keys::slot(contract, key)).value_or(Bytes{});
}

Account CommittedView::account(const Address& address) const { return checked(read(keys::account(address))); }

std::vector<Account> CommittedView::accounts(std::span<const Address> addresses) const {
    std::vector<Bytes> state_keys;
    state_keys.reserve(addresses.size());
    for (const Address& address : addresses) state_keys.push_back(keys::account(address));
    std::vector<Bytes> newest(addresses.size());
    store_.get_many(state_keys, [&](std::size_t i, View value) { newest[i] = to_bytes(value); });
    std::vector<Account> out;
    out.reserve(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        out.push_back(checked(as_of_height(state_keys[i], std::move(newest[i]))));
    }
    return out;
}

Bytes CommittedView::slot(const Address& contract, View key) const { return read(keys::slot(contract, key)); }

Bytes CommittedView::read(View state_key) const {
    return as_of_height(state_key, store_.get(state_key).value_or(Bytes{}));
}

Bytes CommittedView::as_of_height(View state_key, Bytes value) const {
    // The order matters: first read the newest value, then check whether a later batch may have replaced it. A batch
    // writes the new value and its undo record together, so the record exists for every value that is too new.
    if (writing_.load() == height_) return value;
    store_.scan(keys::undo_prefix(state_key), keys::undo(state_key, height_ + 1), 1, [&](View, View before) {
        value = to_bytes(before);
        return false;
    });
    return value;
}

}  // namespace retrace::ledger
