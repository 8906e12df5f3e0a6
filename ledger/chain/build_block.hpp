// SPDX-License-Identifier: MIT
// Builds a block with its roots from executed transactions. SPEC 4, 5.2.
#pragma once

#include "ledger/chain/chain.hpp"
#include "ledger/chain/execute.hpp"

namespace retrace::ledger {

/// Inputs of a new block.
struct BlockParts {
    Header header;  ///< Parent, height, time, proposer, base fee, gas limit.
    std::vector<BlockTx> txs;
    ExecutedTxs executed;
    StateDiff diff;
    StateDiff before;  ///< The values that `diff` replaces.
    Hash32 old_state_root;
    unsigned threads = 0;   ///< For the state tree; 0: one per hardware thread.
    TreePrefetch prefetch;  ///< Pages of the state tree that were read in advance.
};
/// Fills in the roots and the hash; applies `diff` to the state tree read from `source`.
Result<BlockOutcome, ChainFailure> build_block(const PageSource& source, BlockParts parts);

/// Bytes of the header and of the transactions with their lengths.
std::uint64_t encoded_size(const Header& header, const std::vector<BlockTx>& txs);

/// The block of height 0: allocations and the contracts' own records.
Result<BlockOutcome, ChainFailure> build_genesis(const Store& store, const Genesis& genesis,
                                                 const TxExecutor& executor);

}  // namespace retrace::ledger
