// SPDX-License-Identifier: MIT
// What a Mempool consists of; included by its source files only.
#pragma once

#include <map>
#include <set>
#include <shared_mutex>

#include "ledger/mempool/account_queue.hpp"
#include "ledger/mempool/mempool.hpp"
#include "ledger/tx/tx_error.hpp"

namespace retrace::ledger {

/// Cheapest first, and the newest of equals first: the order in which a full pool gives up transactions. Tips
/// are few and arrivals come in order, so that a transaction finds its place without a search through all of
/// them.
using Ranks = std::map<U256, std::map<std::uint64_t, Hash32>>;  // tip → arrival → transaction

struct Mempool::Impl {
    struct Known {
        TxPtr tx;
        U256 tip;  // as ranked, with the next
        std::uint64_t arrival = 0;
    };

    Impl(const TxExecutor& e, MempoolLimits l) : executor(e), limits(l) {}

    const TxExecutor& executor;
    const MempoolLimits limits;
    mutable std::shared_mutex mutex;
    std::map<Address, AccountQueue> accounts;
    std::map<Hash32, Known> known;
    Ranks ranks;
    std::set<std::pair<std::size_t, Address>>
        waiting;  // accounts with transactions behind a hole: how many, who
    std::map<Address, std::uint64_t> last_block_nonces;  // of the senders in the last block
    U256 base_fee;
    std::size_t bytes = 0;
    std::uint64_t arrivals = 0;

    std::uint64_t next_nonce(const Address& sender, const Account& account) const;
    std::optional<TxRefusal> check_fee(const SignedTx& tx, const U256& base_fee) const;
    std::optional<TxRefusal> check_place(const SignedTx& tx, const AccountQueue& queue,
                                         std::uint64_t next) const;
    std::optional<TxRefusal> check_balance(const SignedTx& tx, const AccountQueue& queue,
                                           const Account& account) const;
    /// What it gave up, or why it gave up nothing.
    Result<std::vector<TxPtr>, TxRefusal> make_room(const SignedTx& tx, const AccountQueue& queue);
    /// Puts it into its account's queue, in place of another of the same nonce. `gas`: that it uses at most; `next`:
    /// the account's next nonce.
    Added put(const TxPtr& tx, std::uint64_t gas, std::uint64_t next);
    class Eviction;
    void index(const TxPtr& tx);
    void forget(const SignedTx& tx);
    void remove(const SignedTx& tx);
    void rank_again(const U256& new_base_fee);
    /// After each change of an account's queue; `before`: what waited behind its hole until then.
    void note_waiting(const Address& account, std::size_t before, std::size_t now);
};

}  // namespace retrace::ledger
