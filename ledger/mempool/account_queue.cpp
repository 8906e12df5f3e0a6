// SPDX-License-Identifier: MIT
#include "ledger/mempool/account_queue.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

U256 cost_of(const Transaction& tx) {
    const auto cost = max_cost(tx);
    ensure(cost.has_value(), "the pool holds only transactions that passed check()");
    return *cost;
}

}  // namespace

const AccountQueue::Entry* AccountQueue::find(std::uint64_t nonce) const {
    const auto found = entries_.find(nonce);
    return found == entries_.end() ? nullptr : &found->second;
}

AccountQueue::Entries::iterator AccountQueue::erase(Entries::iterator at) {
    total_cost_ -= at->second.cost;
    return entries_.erase(at);
}

std::vector<TxPtr> AccountQueue::put(TxPtr tx, std::uint64_t arrival, std::uint64_t gas) {
    const std::uint64_t nonce = tx->tx.nonce;
    const std::uint64_t old_end = pending_end_;
    if (const auto old = entries_.find(nonce); old != entries_.end()) erase(old);
    const U256 cost = cost_of(tx->tx);
    entries_.emplace(nonce, Entry{std::move(tx), arrival, cost, gas});
    total_cost_ += cost;
    find_end();
    if (nonce < old_end) return {entries_.at(nonce).tx};  // a replacement
    return pending_from(old_end);
}

void AccountQueue::remove(std::uint64_t nonce) {
    if (const auto found = entries_.find(nonce); found != entries_.end()) erase(found);
    pending_end_ = std::min(pending_end_, nonce);
}

AccountQueue::Advance AccountQueue::advance(std::uint64_t next_nonce, const U256& balance) {
    Advance out;
    const std::uint64_t old_end = std::max(pending_end_, next_nonce);
    for (auto at = entries_.begin(); at != entries_.end();) {
        const bool done = at->first < next_nonce;
        if (done || at->second.cost > balance) {
            (done ? out.done : out.dropped).push_back(at->second.tx);
            at = erase(at);
        } else {
            ++at;
        }
    }
    next_ = next_nonce;
    pending_end_ = next_nonce;
    find_end();
    out.promoted = pending_from(old_end);
    return out;
}

void AccountQueue::find_end() noexcept {
    for (auto at = entries_.find(pending_end_); at != entries_.end() && at->first == pending_end_; ++at) {
        ++pending_end_;
    }
}

std::vector<TxPtr> AccountQueue::pending_from(std::uint64_t nonce) const {
    std::vector<TxPtr> out;
    for (auto at = entries_.lower_bound(nonce); at != entries_.end() && at->first < pending_end_; ++at) {
        out.push_back(at->second.tx);
    }
    return out;
}

}  // namespace retrace::ledger
