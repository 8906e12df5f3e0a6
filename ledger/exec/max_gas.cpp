// SPDX-License-Identifier: MIT
#include "ledger/exec/max_gas.hpp"

#include <algorithm>

namespace retrace::ledger {

std::uint64_t max_gas(const Transaction& tx, const TxExecutor& executor) {
    const std::uint64_t intrinsic = intrinsic_gas(tx);
    const std::uint64_t rest = tx.gas_limit - intrinsic;
    return intrinsic + (executor.is_contract(*tx.to) ? std::min(rest, executor.gas_of(*tx.to, tx.data)) : 0);
}

}  // namespace retrace::ledger
