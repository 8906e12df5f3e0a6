// SPDX-License-Identifier: MIT
// Why a task ended without a model.
#pragma once

#include "node/explain/task_reason.hpp"

namespace retrace::node {

/// Explains a task that expired or whose last run was lost. `auction`: the newest one in its last block; nullptr if it is not
/// known. Fills `reason`, `why` and `remedy`.
void explain_expired(const ledger::StateView& view, const market::Task& task, const AuctionRecord* auction,
                     TaskExplanation& out);

}  // namespace retrace::node
