// SPDX-License-Identifier: MIT
// Input and output of a block's execution. SPEC 5.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ledger/block/block.hpp"
#include "ledger/chain/paged_tree.hpp"
#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// Looks up a transaction whose signature was checked before (the mempool provides it); nullptr when unknown.
/// Thread-safe.
using KnownTx = std::function<TxPtr(const Hash32& tx_hash)>;

struct BlockInput {
    std::uint64_t height = 0;
    std::uint64_t time_ns = 0;
    Address proposer;           ///< Account that receives the tips.
    std::span<const View> txs;  ///< Raw transactions in decided order.
    KnownTx known;              ///< Optional: avoids recovering senders again. It never changes a result.
    EngineReport report = {};   ///< What the engine says about the block besides its transactions.
};

/// A block that was executed but not written. Executing the same input again gives the same outcome.
struct BlockOutcome {
    std::shared_ptr<const Block> block;
    StateDiff diff;
    StateDiff before;               ///< The values that `diff` replaces; empty for genesis.
    std::vector<PageChange> pages;  ///< Changes of the state tree.
};

}  // namespace retrace::ledger
