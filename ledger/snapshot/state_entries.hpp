// SPDX-License-Identifier: MIT
// A whole state as a list, and a store made from such a list. SPEC 8.
#pragma once

#include <functional>
#include <utility>

#include "ledger/chain/chain.hpp"

namespace retrace::ledger {

/// Key of the data base (an account's or a slot's) and its value, never empty.
using Entry = std::pair<Bytes, Bytes>;

/// Calls `visit` with every account and slot of the state after block `height`, keys ascending; false ends
/// it. Fails with not_kept outside the window. Nobody may commit meanwhile.
Status<ChainFailure> visit_state(const Store& store, std::uint64_t height,
                                 const std::function<bool(View key, View value)>& visit);

/// Writes entries and the state tree over them, one synced batch for each call of `add`. Until `finish` the
/// store says that it is unfinished, and Chain::open refuses it.
class StateBuilder {
public:
    /// Clears what an interrupted attempt left. Fails when the store holds a chain.
    static Result<StateBuilder, ChainFailure> begin(Store& store);

    /// Keys ascend across all calls. Fails with bad_snapshot for what can be no entry.
    Status<ChainFailure> add(const std::vector<Entry>& entries);

    /// Of the tree over everything so far.
    const Hash32& root() const noexcept { return root_; }
    std::uint64_t accounts() const noexcept { return accounts_; }
    std::uint64_t slots() const noexcept { return slots_; }

    /// Makes `block`, whose state root is `root()`, the tip of this chain: its oldest block, state and proof.
    Status<ChainFailure> finish(const Genesis& genesis, const TxExecutor& executor, const Block& block);

private:
    explicit StateBuilder(Store& store) : store_(&store) {}

    Store* store_;
    Bytes last_key_;
    Hash32 root_;
    std::uint64_t accounts_ = 0, slots_ = 0;
};

}  // namespace retrace::ledger
