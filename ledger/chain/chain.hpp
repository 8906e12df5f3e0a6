// SPDX-License-Identifier: MIT
// The ledger as an application: executes blocks in memory, commits each with one synced batch, answers
// questions about what is committed. SPEC 5.
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
    other_chain = 2,    ///< The data belong to another chain (another genesis).
    other_version = 3,  ///< The data were written by another format version.
    corrupt = 4,        ///< A record is missing or does not decode, or the state tree does not match.
    store_failed = 5,   ///< The store reported an error. The chain takes no more blocks until it is reopened.
    bad_block = 6,      ///< Height or time does not follow the tip.
    not_kept = 7,       ///< A height in the future, or older than the window that is kept.
    bad_snapshot = 8,   ///< A snapshot is damaged, of another block, or has no place here.
    unfinished = 9,     ///< An import was interrupted; only another import makes a chain of the data.
    stopped = 10,       ///< Whoever asked said that it may not go on.
};
std::string_view slug(ChainError error) noexcept;

struct ChainFailure {
    ChainError code{};
    std::string message;
};

/// Asked before each piece of long work, with its size in reads of one small record; false ends the work.
using GoOn = std::function<bool(std::size_t work)>;

struct ChainOptions {
    std::uint64_t state_window = 1024;  ///< Heights behind the tip whose state can be read.
    std::uint64_t proof_window = 64;    ///< Heights behind the tip for which state proofs can be made.
    std::uint64_t block_window = 0;     ///< Blocks behind the tip that are kept with their receipts; 0: all.
    unsigned threads = 0;               ///< For signature recovery; 0: as many as the machine has.
};

/// A transaction with its place and its receipt.
struct TxRecord {
    std::uint64_t height = 0;
    std::uint32_t index = 0;
    std::uint64_t first_log_index = 0;  ///< Of its logs within the block.
    BlockTx tx;
    Receipt receipt;
};

/// One thread at a time calls `execute_block` and `commit`; everything const may be called from any thread
/// meanwhile.
class Chain {
public:
    /// Writes the genesis block into an empty store; otherwise checks that the store holds this chain.
    /// `store` and `executor` outlive the chain.
    static Result<std::unique_ptr<Chain>, ChainFailure> open(Store& store, const Genesis& genesis,
                                                             const TxExecutor& executor,
                                                             ChainOptions options = {});
    ~Chain();

    /// Memory only and repeatable; `input.height` is the tip's + 1 and `input.time_ns` above the tip's (at
    /// height 1 it may be the genesis time).
    Result<BlockOutcome, ChainFailure> execute_block(const BlockInput& input) const;
    /// One synced batch with everything that belongs to the block. After it returns the block survives any
    /// crash.
    Status<ChainFailure> commit(const BlockOutcome& outcome);

    const Genesis& genesis() const noexcept;
    const TxExecutor& executor() const noexcept;
    std::uint64_t height() const noexcept;
    /// Last committed block.
    std::shared_ptr<const Block> tip() const;
    /// Base fee of the block after the tip.
    U256 next_base_fee() const;
    std::uint64_t oldest_state() const noexcept;  ///< These rise before anything goes. Lowest height `view_at` takes,
    std::uint64_t oldest_proof() const noexcept;  ///< that proofs can be made for,
    std::uint64_t oldest_block() const noexcept;  ///< whose block is there. Block 0 always is.

    /// The committed state: immutable, any thread, stays what it is while blocks are committed.
    std::shared_ptr<const StateView> view() const;
    /// Always the newest committed state: two reads may see two blocks. For the mempool; lives as long as the chain.
    const StateView& live() const noexcept;
    /// The state after block `height`. Right is what was read if `oldest_state` is no higher after the read.
    Result<std::shared_ptr<const StateView>, ChainFailure> view_at(std::uint64_t height) const;
    /// Context for eth_call on the state after block `height`: that block's height, time, base fee, proposer.
    Result<BlockContext, ChainFailure> context_at(std::uint64_t height) const;
    /// Context of the block after the tip if it came at the tip's time; for estimates.
    BlockContext next_context() const;

    std::optional<Header> header(std::uint64_t height) const;
    std::shared_ptr<const Block> block(std::uint64_t height) const;  ///< nullptr: unknown.
    std::optional<std::uint64_t> height_of(const Hash32& block_hash) const;
    std::optional<Bloom> bloom(std::uint64_t height) const;
    std::optional<TxRecord> tx(const Hash32& tx_hash) const;
    std::optional<TxRecord> tx(std::uint64_t height, std::uint32_t index) const;

    /// Presence or absence of a leaf under the state root of block `height`. What the tree's undo records of
    /// all later blocks hold is gone through, and paid for by `go_on`.
    Result<StateProof, ChainFailure> prove_account(std::uint64_t height, const Address& address,
                                                   const GoOn& go_on = {}) const;
    Result<StateProof, ChainFailure> prove_slot(std::uint64_t height, const Address& contract, View key,
                                                const GoOn& go_on = {}) const;

private:
    struct Impl;
    explicit Chain(std::unique_ptr<Impl> impl);
    Result<StateProof, ChainFailure> prove(std::uint64_t height, const Hash32& leaf_key, Bytes value,
                                           const GoOn& go_on) const;
    std::unique_ptr<Impl> impl_;
};

/// Executes every block of `store` again in memory and compares headers, receipts and final state: from genesis or,
/// where old blocks were pruned, from the oldest state that is kept, whose tree is built anew first. `progress` is
/// told each height that agreed.
Status<ChainFailure> verify_db(const Store& store, const Genesis& genesis, const TxExecutor& executor,
                               const std::function<void(std::uint64_t height)>& progress = {});

}  // namespace retrace::ledger
