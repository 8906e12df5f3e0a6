// SPDX-License-Identifier: MIT
#include "ledger/tx/admit.hpp"

namespace retrace::ledger {

namespace {

std::string nonces(std::uint64_t nonce, std::uint64_t next) {
    return ": next nonce " + std::to_string(next) + ", tx nonce " + std::to_string(nonce);
}

TxRefusal exceeds_block_gas() { return {TxError::exceeds_block_gas, "exceeds block gas limit"}; }

}  // namespace

TxRefusal nonce_too_low(std::uint64_t nonce, std::uint64_t next) {
    return {TxError::nonce_too_low, "nonce too low" + nonces(nonce, next)};
}

TxRefusal nonce_too_high(std::uint64_t nonce, std::uint64_t next) {
    return {TxError::nonce_too_high, "nonce too high" + nonces(nonce, next)};
}

TxRefusal fee_cap_too_low(const SignedTx& tx, const U256& base_fee) {
    return {TxError::fee_cap_below_base_fee, "max fee per gas less than block base fee: address " + to_0x(tx.sender) +
                                                 ", maxFeePerGas: " + tx.tx.fee_cap.to_decimal() +
                                                 ", baseFee: " + base_fee.to_decimal()};
}

std::optional<TxRefusal> admit(const SignedTx& tx, const StateView& view, const U256& base_fee, std::uint64_t max_gas,
                               std::uint64_t gas_left) {
    const Account account = view.account(tx.sender);
    if (tx.tx.nonce < account.nonce) return nonce_too_low(tx.tx.nonce, account.nonce);
    if (tx.tx.nonce > account.nonce) return nonce_too_high(tx.tx.nonce, account.nonce);
    if (tx.tx.fee_cap < base_fee) return fee_cap_too_low(tx, base_fee);
    if (max_gas > gas_left) return exceeds_block_gas();
    return check_funds(tx, account.balance);
}

std::optional<TxRefusal> check_gas_limit(const Transaction& tx, std::uint64_t block_gas_limit) {
    return tx.gas_limit > block_gas_limit ? std::optional(exceeds_block_gas()) : std::nullopt;
}

std::optional<TxRefusal> check_funds(const SignedTx& tx, const U256& balance) {
    const auto cost = max_cost(tx.tx);
    if (cost && *cost <= balance) return std::nullopt;
    const std::string numbers = cost ? "tx cost " + cost->to_decimal() + ", overshot " + (*cost - balance).to_decimal()
                                     : std::string("tx cost is over 256 bits");
    return TxRefusal{TxError::insufficient_funds,
                     "insufficient funds for gas * price + value: balance " + balance.to_decimal() + ", " + numbers};
}

}  // namespace retrace::ledger
