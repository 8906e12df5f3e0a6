// SPDX-License-Identifier: MIT
// The ledger as an application: executes blocks in memory, commits each one with one synced batch, and answers queries
// about the committed state. SPEC 5.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ledger/chain/block_input.hpp"
#include "ledger/chain/genesis.hpp"
#include "ledger/chain/state_proof.hpp"
#include "ledger/exec/executor.hpp"
#include "ledger/storage/store.hpp"

namespace retrace::ledger {

enum class ChainError : std::uint8_t {
    bad_genesis = 1,    ///< The genesis itself is refused.
    other_chain = 2,    ///< The data belongs to another chain (another genesis).
    other_version = 3,  ///< The data was written by another format version.
    corrupt = 4,        ///< A record is missing or does not decode, or the state tree does not match.
    store_failed = 5,   ///< The store reported an error. The chain takes no more blocks until it is reopened.
    bad_block = 6,      ///< Height or time does not follow the tip.
    not_kept = 7,       ///< A height in the future, or older than the window that is kept.
    bad_snapshot = 8,   ///< A snapshot is damaged, of another block, or not importable here.
    unfinished = 9,     ///< An import was interrupted; only another import can turn the data into a chain.
    stopped = 10,       ///< The caller's `WorkMeter` ended the work.
};
std::string_view slug(ChainError error) noexcept;

struct ChainFailure {
    ChainError code{};
    std::string message;
};

/// Called before each piece of long work, with its size in reads of one small record. It returns false when the budget
/// is used up, and the work ends.
using WorkMeter = std::function<bool(std::size_t work)>;

struct ChainOptions {
    std::uint64_t state_window = 1024;  ///< Heights behind the tip whose state can be read.
    std::uint64_t proof_window = 64;    ///< Heights behind the tip for which state proofs can be made.
    std::uint64_t block_window = 0;     ///< Blocks behind the tip that are kept with their receipts; 0: all.
    unsigned threads = 0;               ///< For signature recovery; 0: one per hardware thread.
};

/// A transaction with its place and its receipt.
struct TxRecord {
    std::uint64_t height = 0;
    std::uint32_t index = 0;
    std::uint64_t first_log_index = 0;  ///< Index of its first log within the block.
    BlockTx tx;
    Receipt receipt;
};

/// Cost of loading an empty block, in reads of one small record (Chain::block_work).
inline constexpr std::uint64_t kBlockWork = 16;

/// Only one thread at a time may call `execute_block` and `commit`; const queries may run on any thread at the same
/// time.
class Chain {
public:
    /// Writes the genesis block into an empty store; otherwise checks that the store holds this chain.
    /// `store` and `executor` outlive the chain.
    static Result<std::unique_ptr<Chain>, ChainFailure> open(Store& store, const Genesis& genesis,
                                                             const TxExecutor& executor, ChainOptions options = {});
    ~Chain();

    /// Works in memory only and is repeatable. `input.height` is the tip's + 1 and `input.time_ns` is above the tip's
    /// (at height 1 it may be the genesis time).
    Result<BlockOutcome, ChainFailure> execute_block(const BlockInput& input) const;
    /// Writes everything that belongs to the block in one synced batch. Once it returns, the block survives any crash.
    Status<ChainFailure> commit(const BlockOutcome& outcome);

    const Genesis& genesis() const noexcept;
    const TxExecutor& executor() const noexcept;
    std::uint64_t height() const noexcept;
    /// Last committed block.
    std::shared_ptr<const Block> tip() const;
    /// Base fee of the block after the tip.
    U256 next_base_fee() const;
    std::uint64_t oldest_state() const noexcept;  ///< Lowest height for `view_at`. All three rise before an erasure.
    std::uint64_t oldest_proof() const noexcept;  ///< Lowest height for which proofs can be made.
    std::uint64_t oldest_block() const noexcept;  ///< Lowest height whose block is kept; block 0 always is.

    /// The committed state: immutable, thread-safe, and unchanged while later blocks are committed.
    std::shared_ptr<const StateView> view() const;
    /// Always the newest committed state: two reads may see two blocks. For the mempool; lives as long as the chain.
    const StateView& live() const noexcept;
    /// The state after block `height`. A value that was read is right if `oldest_state` is not above `height` after the
    /// read.
    Result<std::shared_ptr<const StateView>, ChainFailure> view_at(std::uint64_t height) const;
    /// The slots that block `height` changed, each as its contract's address and its key. nullopt: they are not kept,
    /// which holds up to `oldest_state`, there is no such block, or `meter` refused the size of the record, which has the
    /// accounts too.
    std::optional<std::vector<Bytes>> changed_slots(std::uint64_t height, const WorkMeter& meter = {}) const;
    /// Context for eth_call on the state after block `height`: that block's height, time, base fee and proposer.
    Result<BlockContext, ChainFailure> context_at(std::uint64_t height) const;
    /// Context of the block after the tip, assuming the tip's time; for estimates.
    BlockContext next_context() const;

    std::optional<Header> header(std::uint64_t height) const;
    /// Cost of loading the block, in reads of one small record, by its transactions and bytes; 0: it is not stored.
    std::uint64_t block_work(std::uint64_t height) const;
    std::shared_ptr<const Block> block(std::uint64_t height) const;  ///< nullptr if unknown.
    std::optional<std::uint64_t> height_of(const Hash32& block_hash) const;
    std::optional<Bloom> bloom(std::uint64_t height) const;
    std::optional<TxRecord> tx(const Hash32& tx_hash) const;
    std::optional<TxRecord> tx(std::uint64_t height, std::uint32_t index) const;

    /// Proves presence or absence of a leaf under the state root of block `height`. It reads the tree's undo records of
    /// all later blocks; `meter` is asked before each one.
    Result<StateProof, ChainFailure> prove_account(std::uint64_t height, const Address& address,
                                                   const WorkMeter& meter = {}) const;
    Result<StateProof, ChainFailure> prove_slot(std::uint64_t height, const Address& contract, View key,
                                                const WorkMeter& meter = {}) const;

private:
    struct Impl;
    explicit Chain(std::unique_ptr<Impl> impl);
    Result<StateProof, ChainFailure> prove(std::uint64_t height, const Hash32& leaf_key, Bytes value,
                                           const WorkMeter& meter) const;
    std::unique_ptr<Impl> impl_;
};

/// Executes every block of `store` again in memory and compares headers, receipts and final state. It starts from
/// genesis or, if old blocks were pruned, from the oldest kept state, whose tree is rebuilt first. `progress` is called
/// with each height that agreed.
Status<ChainFailure> verify_db(const Store& store, const Genesis& genesis, const TxExecutor& executor,
                               const std::function<void(std::uint64_t height)>& progress = {});

}  // namespace retrace::ledger
