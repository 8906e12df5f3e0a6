// SPDX-License-Identifier: MIT
// The gas that a block needs for a transaction. SPEC 5.3.7
#pragma once

#include "ledger/exec/executor.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

/// What it can use at most, from its bytes alone: what a limit promises beyond that takes no room from others. Of a
/// transaction that passed `check`.
std::uint64_t max_gas(const Transaction& tx, const TxExecutor& executor);

}  // namespace retrace::ledger
