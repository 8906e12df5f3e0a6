// SPDX-License-Identifier: MIT
// The one batch that a block writes, and how a batch that was torn is taken back. SPEC 5.4.
#pragma once

#include "ledger/chain/chain.hpp"
#include "ledger/chain/records.hpp"

namespace retrace::ledger {

struct CommitPlan {
    Batch batch;
    TipRecord tip;
};
/// `old` is the tip before; nullopt for genesis.
CommitPlan plan_commit(const Store& store, const BlockOutcome& outcome, const std::optional<TipRecord>& old,
                       const ChainOptions& options);

/// Takes back what a torn batch left. A store that keeps the promise of Store::write never needs it.
/// Returns the tip, nullopt for a store without a chain.
Result<std::optional<TipRecord>, ChainFailure> repair(Store& store);

}  // namespace retrace::ledger
