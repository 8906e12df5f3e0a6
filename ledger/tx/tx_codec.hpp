// SPDX-License-Identifier: MIT
// Transaction encoding. `decode_tx` and `encode_signed` are declared in transaction.hpp.
#pragma once

#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

/// The bytes whose Keccak-256 is signed.
Bytes encode_unsigned(const Transaction& tx);

}  // namespace retrace::ledger
