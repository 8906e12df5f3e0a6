// SPDX-License-Identifier: MIT
#include "ledger/state/cached_view.hpp"

#include <algorithm>
#include <thread>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

void CachedView::prefetch(const std::vector<Address>& addresses, unsigned threads) {
    constexpr std::size_t kWorthAThread = 128;  // reads, about a millisecond
    ensure(accounts_.empty(), "accounts are read ahead before any other");
    std::vector<Account> read(addresses.size());
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t workers = std::clamp<std::size_t>(addresses.size() / kWorthAThread, 1, threads);
    const auto work = [&](std::size_t worker) {
        const std::size_t end = addresses.size() * (worker + 1) / workers;
        for (std::size_t i = addresses.size() * worker / workers; i < end; ++i) read[i] = base_.account(addresses[i]);
    };
    std::vector<std::thread> helpers;
    for (std::size_t worker = 1; worker < workers; ++worker) helpers.emplace_back(work, worker);
    work(0);
    for (std::thread& helper : helpers) helper.join();
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        accounts_.emplace_hint(accounts_.end(), addresses[i], read[i]);
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
