// SPDX-License-Identifier: MIT
// The gas that a block needs for a transaction. SPEC 5.3.7
#pragma once

#include "ledger/exec/executor.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

/// The largest amount of gas that `tx` can use, computed from its bytes alone: a higher gas limit takes no room from
/// other transactions. `tx` has passed `check`.
std::uint64_t max_gas(const Transaction& tx, const TxExecutor& executor);

}  // namespace retrace::ledger
