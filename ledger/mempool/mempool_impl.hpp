// SPDX-License-Identifier: MIT
// Members of a Mempool; included by its source files only.
#pragma once

#include <map>
#include <set>
#include <shared_mutex>

#include "ledger/mempool/account_queue.hpp"
#include "ledger/mempool/mempool.hpp"
#include "ledger/tx/tx_error.hpp"

namespace retrace::ledger {

/// Cheapest first, and the newest of equals first: the eviction order of a full pool. There are few distinct tips and
/// arrivals come in order, so that a transaction is inserted without a search through all of them.
using Ranks = std::map<U256, std::map<std::uint64_t, Hash32>>;  // tip → arrival → transaction

/// 7.4.1: limits on an awaited call together with the transactions of its account before it, so that those of all
/// members of a beacon (1,024) fit into two blocks. The gas is that of a revealed verdict or an attestation, and the
/// reveal.
inline constexpr std::size_t kAwaitedAmong = 8, kAwaitedBytes = 2048;
inline constexpr std::uint64_t kAwaitedGas = 640'000;

struct Mempool::Impl {
    struct Known {
        TxPtr tx;
        U256 tip;  // effective tip and arrival, as ranked
        std::uint64_t arrival = 0;
    };

    Impl(const TxExecutor& e, MempoolLimits l) : executor(e), limits(l) {}

    const TxExecutor& executor;
    const MempoolLimits limits;
    mutable std::shared_mutex mutex;
    std::map<Address, AccountQueue> accounts;
    std::map<Hash32, Known> known;
    Ranks ranks;
    std::set<std::pair<std::size_t, Address>> waiting;   // accounts with transactions behind a gap, with their number
    std::map<Address, std::uint64_t> last_block_nonces;  // next nonces of the last block's senders
    U256 base_fee;
    std::uint64_t next_height = 0;  // of the next block; 0 until a block was seen
    std::size_t bytes = 0;
    std::uint64_t arrivals = 0;

    std::uint64_t next_nonce(const Address& sender, const Account& account) const;
    std::optional<TxRefusal> check_fee(const SignedTx& tx, const U256& base_fee) const;
    std::optional<TxRefusal> check_place(const SignedTx& tx, const AccountQueue& queue, std::uint64_t next) const;
    std::optional<TxRefusal> check_balance(const SignedTx& tx, const AccountQueue& queue, const Account& account) const;
    /// Returns the evicted transactions, or why none was evicted.
    Result<std::vector<TxPtr>, TxRefusal> make_room(const SignedTx& tx, const AccountQueue& queue,
                                                    const StateView& view);
    bool is_awaited(const SignedTx& tx, const StateView& view) const;
    /// 7.4.1: the nonce of an awaited call among the account's first transactions from `next` on, if these are few and
    /// small: the call and those before it come before all that is not awaited.
    std::optional<std::uint64_t> awaited_until(const AccountQueue& queue, std::uint64_t next,
                                               const StateView& view) const;
    /// Inserts it into its account's queue, replacing one with the same nonce. `gas`: the most that it uses; `next`:
    /// the account's next nonce.
    Added put(const TxPtr& tx, std::uint64_t gas, std::uint64_t next);
    class Eviction;
    void index(const TxPtr& tx);
    void forget(const SignedTx& tx);
    void remove(const SignedTx& tx);
    void rank_again(const U256& new_base_fee);
    /// Call after each change of an account's queue; `before`: the number of transactions behind its gap until then.
    void note_waiting(const Address& account, std::size_t before, std::size_t now);
};

}  // namespace retrace::ledger
