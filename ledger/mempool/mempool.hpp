// SPDX-License-Identifier: MIT
// Transactions that wait for a block: one queue of nonces per account, bounded, ordered by fee. SPEC 7.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ledger/block/block.hpp"
#include "ledger/exec/executor.hpp"
#include "ledger/state/view.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

struct MempoolLimits {
    std::size_t count = 65'536;
    std::size_t bytes = 64U << 20;
    std::size_t gap_per_account = 64;  ///< Nonces beyond the first missing one that are queued.
    std::size_t pending_per_account = 16'384;
    U256 min_tip = 0;  ///< Lowest accepted tip cap.
};

struct Added {
    Hash32 hash;
    std::optional<Hash32> replaced;  ///< The transaction with the same nonce that was removed.
    std::vector<TxPtr> promoted;     ///< Became executable through this one, which is included; in nonce order.
    std::vector<TxPtr> evicted;      ///< Transactions of other accounts that a full pool dropped for this one.
};

/// Changes by a block, apart from the removal of included transactions.
struct PoolChange {
    std::vector<TxPtr> promoted;  ///< Became executable.
    std::vector<TxPtr> dropped;   ///< Can no longer be paid for.
};

struct PoolStats {
    std::size_t pending = 0;  ///< Executable in nonce order.
    std::size_t queued = 0;   ///< Behind a gap.
    std::size_t bytes = 0;
};

/// Thread-safe. Holds only transactions that `read_tx` returned.
class Mempool {
public:
    /// `executor` outlives the pool; it gives the gas that a transaction uses.
    explicit Mempool(const TxExecutor& executor, MempoolLimits limits = {});
    ~Mempool();

    /// `view` is the committed state, preferably Chain::live(): an older view may put a transaction behind a gap that
    /// no longer exists, until the next one of its account arrives. `base_fee` is the next block's. Refusals carry
    /// Ethereum's texts.
    Result<Added, TxRefusal> add(TxPtr tx, const StateView& view, const U256& base_fee, std::uint64_t gas_limit);

    /// Re-adds a transaction that the pool accepted in an earlier run: neither a base fee that has risen since nor a
    /// gap in front of it makes the pool refuse it. The first transaction of an account and nonce stays; nothing is
    /// evicted.
    Status<TxRefusal> restore(TxPtr tx, const StateView& view, const U256& base_fee, std::uint64_t gas_limit);

    /// Selects the transactions of the next block: by effective tip, per account by nonce, with each account's
    /// transactions together covered by its balance. They fit `max_bytes`, and the gas they can use (max_gas), not
    /// their gas limits, fits `gas_limit`.
    std::vector<TxPtr> ready(const StateView& view, const U256& base_fee, std::size_t max_bytes,
                             std::uint64_t gas_limit) const;

    /// Call after a commit: drops the included transactions and those that can never run any more, and promotes others.
    /// `view` is the state after the block, `base_fee` the next block's.
    PoolChange on_block(const Block& block, const StateView& view, const U256& base_fee);

    /// As read_tx, but refuses a transaction that is in the pool (already_known) before recovering its signature: a
    /// duplicate costs one hash.
    Result<TxPtr, TxRefusal> read(View raw, std::uint64_t chain_id) const;
    /// nullptr when unknown. It is also the cache of checked signatures for execution (BlockInput::known).
    TxPtr find(const Hash32& hash) const;
    /// Nonce after the account's executable transactions here; its nonce in `view` if there are none.
    std::uint64_t pending_nonce(const Address& sender, const StateView& view) const;
    PoolStats stats() const;
    std::size_t bytes() const;  ///< As in stats(), without counting the rest.
    /// All transactions, for a restart: per account in nonce order.
    std::vector<TxPtr> contents() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::ledger
