// SPDX-License-Identifier: MIT
// The batch that a block writes, and the repair of a torn batch. SPEC 5.4.
#pragma once

#include "ledger/chain/chain.hpp"
#include "ledger/chain/records.hpp"

namespace retrace::ledger {

struct CommitPlan {
    Batch batch;
    TipRecord tip;
};
/// `old` is the previous tip; nullopt for genesis.
CommitPlan plan_commit(const Store& store, const BlockOutcome& outcome, const std::optional<TipRecord>& old,
                       const ChainOptions& options);

/// Undoes the partial writes of a torn batch. A store that keeps the promise of Store::write never needs this. Returns
/// the tip; nullopt for a store without a chain.
Result<std::optional<TipRecord>, ChainFailure> repair(Store& store);

}  // namespace retrace::ledger
