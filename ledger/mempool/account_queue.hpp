// SPDX-License-Identifier: MIT
// The waiting transactions of one account, by nonce.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

/// Transactions from the account's next nonce up to the first gap are executable ("pending"); those behind a gap are
/// queued.
class AccountQueue {
public:
    struct Entry {
        TxPtr tx;
        std::uint64_t arrival = 0;  ///< Order of arrival in the pool.
        U256 cost;                  ///< Highest possible cost: gas and value together.
        std::uint64_t gas = 0;      ///< Most gas that it can use.
    };

    explicit AccountQueue(std::uint64_t next_nonce) : next_(next_nonce), pending_end_(next_nonce) {}

    bool empty() const noexcept { return entries_.empty(); }
    std::size_t size() const noexcept { return entries_.size(); }
    std::size_t pending() const noexcept { return pending_end_ - next_; }
    /// Number of transactions behind a gap.
    std::size_t waiting() const noexcept { return entries_.size() - pending(); }
    /// The first missing nonce.
    std::uint64_t pending_end() const noexcept { return pending_end_; }
    using Entries = std::map<std::uint64_t, Entry>;
    const Entries& entries() const noexcept { return entries_; }
    const Entry* find(std::uint64_t nonce) const;
    const Entry& last() const { return entries_.rbegin()->second; }

    /// Sum of the highest costs of all transactions here.
    const U256& total_cost() const noexcept { return total_cost_; }

    /// Inserts or replaces; the caller has checked that the sum of all costs fits. Returns the transactions that became
    /// pending, including `tx`, in nonce order.
    std::vector<TxPtr> put(TxPtr tx, std::uint64_t arrival, std::uint64_t gas);
    /// Removes one transaction; those behind it are no longer pending.
    void remove(std::uint64_t nonce);

    struct Advance {
        std::vector<TxPtr> done;     ///< Transactions with used nonces.
        std::vector<TxPtr> dropped;  ///< Transactions that the balance cannot cover.
        std::vector<TxPtr> promoted;
    };
    /// Sets the account's next nonce and its balance: drops transactions with used nonces and those that the balance
    /// can never cover.
    Advance advance(std::uint64_t next_nonce, const U256& balance);

private:
    Entries::iterator erase(Entries::iterator at);
    void find_end() noexcept;
    std::vector<TxPtr> pending_from(std::uint64_t nonce) const;

    std::uint64_t next_;
    std::uint64_t pending_end_;
    U256 total_cost_;
    std::map<std::uint64_t, Entry> entries_;
};

}  // namespace retrace::ledger
