// SPDX-License-Identifier: MIT
// Transactions as bytes. `decode_tx` and `encode_signed` are declared with the transaction itself.
#pragma once

#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

/// The bytes whose Keccak-256 is signed.
Bytes encode_unsigned(const Transaction& tx);

}  // namespace retrace::ledger
