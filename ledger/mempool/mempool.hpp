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
    U256 min_tip = 0;  ///< Lowest tip cap that is taken.
};

struct Added {
    Hash32 hash;
    std::optional<Hash32> replaced;  ///< The transaction of the same nonce that went.
    std::vector<TxPtr> promoted;     ///< Became executable by this one, itself included; in nonce order.
    std::vector<TxPtr> evicted;      ///< Of others, given up for this one by a full pool.
};

/// What a block changed, beside taking out what it included.
struct PoolChange {
    std::vector<TxPtr> promoted;  ///< Became executable.
    std::vector<TxPtr> dropped;   ///< Can never be paid for any more.
};

struct PoolStats {
    std::size_t pending = 0;  ///< Executable in nonce order.
    std::size_t queued = 0;   ///< Behind a gap.
    std::size_t bytes = 0;
};

/// Thread-safe. Holds nothing but transactions that `read_tx` returned.
class Mempool {
public:
    /// `executor` outlives the pool: it says what gas a transaction uses.
    explicit Mempool(const TxExecutor& executor, MempoolLimits limits = {});
    ~Mempool();

    /// `view` is the committed state, best Chain::live(): a view that is blocks old may put a transaction behind a
    /// gap that is none, until the next one of its account. `base_fee` is the next block's. Refusals carry
    /// Ethereum's texts.
    Result<Added, TxRefusal> add(TxPtr tx, const StateView& view, const U256& base_fee,
                                 std::uint64_t gas_limit);

    /// Takes back what the pool of an earlier run had accepted: neither a base fee that has risen meanwhile nor a hole
    /// in front of it is a reason to lose it. Of one account and nonce the first stays; nothing is given up for it.
    Status<TxRefusal> restore(TxPtr tx, const StateView& view, const U256& base_fee, std::uint64_t gas_limit);

    /// What a proposer puts in the next block: by effective tip, per account by nonce, each account's
    /// transactions covered by its balance together; at most that many bytes, and that much gas as it is used
    /// (max_gas), not as limits promise it.
    std::vector<TxPtr> ready(const StateView& view, const U256& base_fee, std::size_t max_bytes,
                             std::uint64_t gas_limit) const;

    /// After a commit: drops what the block included and what can never run any more, promotes what it can.
    /// `view` is the state after the block, `base_fee` the one of the block that follows.
    PoolChange on_block(const Block& block, const StateView& view, const U256& base_fee);

    /// As read_tx, but what the pool has already is refused (already_known) before its signature is recovered: a
    /// repetition costs one hash.
    Result<TxPtr, TxRefusal> read(View raw, std::uint64_t chain_id) const;
    /// nullptr when unknown. Also the cache of checked signatures for execution (BlockInput::known).
    TxPtr find(const Hash32& hash) const;
    /// Nonce after the account's executable transactions here; its nonce in `view` when there are none.
    std::uint64_t pending_nonce(const Address& sender, const StateView& view) const;
    PoolStats stats() const;
    std::size_t bytes() const;  ///< As in stats(), which counts more.
    /// All transactions, for a restart: per account in nonce order.
    std::vector<TxPtr> contents() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::ledger
