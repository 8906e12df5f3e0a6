// SPDX-License-Identifier: MIT
#include "ledger/chain/committed_view.hpp"

#include <algorithm>
#include <thread>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/state_proof.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

namespace {

Account checked(View bytes) {
    const auto account = decode_account(bytes);
    ensure(account.has_value(), "the data base holds an account that does not decode");
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

std::vector<Account> CommittedView::accounts(std::span<const Address> addresses, unsigned threads) const {
    constexpr std::size_t kWorthAThread = 128;  // reads, about half a millisecond
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t workers = std::clamp<std::size_t>(addresses.size() / kWorthAThread, 1, threads);
    std::vector<Account> out(addresses.size());
    const auto work = [&](std::size_t worker) {
        const std::size_t begin = addresses.size() * worker / workers;
        const std::size_t size = addresses.size() * (worker + 1) / workers - begin;
        read_part(addresses.subspan(begin, size), std::span(out).subspan(begin, size));
    };
    std::vector<std::thread> helpers;
    for (std::size_t worker = 1; worker < workers; ++worker) helpers.emplace_back(work, worker);
    work(0);
    for (std::thread& helper : helpers) helper.join();
    return out;
}

void CommittedView::read_part(std::span<const Address> addresses, std::span<Account> out) const {
    std::vector<Bytes> state_keys;
    state_keys.reserve(addresses.size());
    for (const Address& address : addresses) state_keys.push_back(keys::account(address));
    std::vector<std::optional<Bytes>> newest = store_.get_many(state_keys);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = checked(as_of_height(state_keys[i], std::move(newest[i])));
}

Bytes CommittedView::slot(const Address& contract, View key) const { return read(keys::slot(contract, key)); }

Bytes CommittedView::read(View state_key) const { return as_of_height(state_key, store_.get(state_key)); }

Bytes CommittedView::as_of_height(View state_key, std::optional<Bytes> newest) const {
    // The order matters: the newest value first, then whether a later batch may have replaced it. A batch
    // brings the new value and its undo record together, so a value read too new always finds the record.
    Bytes value = std::move(newest).value_or(Bytes{});
    if (writing_.load() == height_) return value;
    store_.scan(keys::undo_prefix(state_key), keys::undo(state_key, height_ + 1), 1, [&](View, View before) {
        value = to_bytes(before);
        return false;
    });
    return value;
}

}  // namespace retrace::ledger
