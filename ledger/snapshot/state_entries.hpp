// SPDX-License-Identifier: MIT
// A whole state as a list of entries, and a builder of a store from such a list. SPEC 8.
#pragma once

#include <functional>
#include <utility>

#include "ledger/chain/chain.hpp"

namespace retrace::ledger {

/// Database key (of an account or a slot) and its value, never empty.
using Entry = std::pair<Bytes, Bytes>;

/// Calls `visit` with every account and slot of the state after block `height`, keys ascending; false ends the visit.
/// Fails with not_kept outside the window. No block may be committed meanwhile.
Status<ChainFailure> visit_state(const Store& store, std::uint64_t height,
                                 const std::function<bool(View key, View value)>& visit);

/// Writes entries and the state tree over them, one synced batch for each call of `add`. Until `finish` the store is
/// marked as unfinished, and Chain::open refuses it.
class StateBuilder {
public:
    /// Clears the remains of an interrupted attempt. Fails if the store holds a chain.
    static Result<StateBuilder, ChainFailure> begin(Store& store);

    /// Keys ascend across all calls. Fails with bad_snapshot for an invalid entry.
    Status<ChainFailure> add(const std::vector<Entry>& entries);

    /// Root of the tree over all entries so far.
    const Hash32& root() const noexcept { return root_; }
    std::uint64_t accounts() const noexcept { return accounts_; }
    std::uint64_t slots() const noexcept { return slots_; }

    /// Makes `block`, whose state root is `root()`, the tip of this chain and its oldest block, state and proof.
    Status<ChainFailure> finish(const Genesis& genesis, const TxExecutor& executor, const Block& block);

private:
    explicit StateBuilder(Store& store) : store_(&store) {}

    Store* store_;
    Bytes last_key_;
    Hash32 root_;
    std::uint64_t accounts_ = 0, slots_ = 0;
};

}  // namespace retrace::ledger
