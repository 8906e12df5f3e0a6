// SPDX-License-Identifier: MIT
// What goes into the execution of a block and what comes out. SPEC 5.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ledger/block/block.hpp"
#include "ledger/chain/paged_tree.hpp"
#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// Looks up a transaction whose signature was checked before (the mempool does); nullptr when unknown. Any
/// thread.
using KnownTx = std::function<TxPtr(const Hash32& tx_hash)>;

struct BlockInput {
    std::uint64_t height = 0;
    std::uint64_t time_ns = 0;
    Address proposer;           ///< Account that receives the tips.
    std::span<const View> txs;  ///< Raw transactions in decided order.
    KnownTx known;              ///< Optional: saves recovering senders again. Never changes a result.
};

/// A block that was executed but not written. Executing the same input again gives the same outcome.
struct BlockOutcome {
    std::shared_ptr<const Block> block;
    StateDiff diff;
    StateDiff before;  ///< The values that `diff` replaces; of a genesis none.
    std::vector<PageChange> pages;  ///< Of the state tree.
};

}  // namespace retrace::ledger
