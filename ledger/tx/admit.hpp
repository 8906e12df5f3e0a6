// SPDX-License-Identifier: MIT
// Whether a transaction may run on a state (2xx). SPEC 5.3.2; the order and the texts are go-ethereum's.
#pragma once

#include "ledger/state/view.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

/// Checks nonce, fee cap, block gas and funds. `check` is not repeated. `max_gas`: the most gas the transaction can
/// use.
std::optional<TxRefusal> admit(const SignedTx& tx, const StateView& view, const U256& base_fee, std::uint64_t max_gas,
                               std::uint64_t gas_left);
/// Refuses a gas limit above that of a whole block.
std::optional<TxRefusal> check_gas_limit(const Transaction& tx, std::uint64_t block_gas_limit);

/// The single conditions, for the mempool, which checks them in another order.
TxRefusal nonce_too_low(std::uint64_t nonce, std::uint64_t next);
TxRefusal nonce_too_high(std::uint64_t nonce, std::uint64_t next);
TxRefusal fee_cap_too_low(const SignedTx& tx, const U256& base_fee);
/// Whether a balance covers the transaction's highest cost.
std::optional<TxRefusal> check_funds(const SignedTx& tx, const U256& balance);

}  // namespace retrace::ledger
