// SPDX-License-Identifier: MIT
#include "ledger/tx/transaction.hpp"

#include <algorithm>
#include <limits>

#include "ledger/crypto/keccak.hpp"
#include "ledger/tx/tx_codec.hpp"

namespace retrace::ledger {

Hash32 signing_hash(const Transaction& tx) { return keccak256(encode_unsigned(tx)); }

Result<TxPtr, TxRefusal> read_tx(View raw, std::uint64_t chain_id) {
    RETRACE_TRY(decoded, decode_tx(raw));
    const Transaction& tx = decoded.tx;
    if (tx.chain_id != chain_id) {
        return refuse(TxError::wrong_chain_id, "invalid sender: invalid chain id for signer: have " +
                                                   std::to_string(tx.chain_id) + " want " + std::to_string(chain_id));
    }
    const auto key = recover(signing_hash(tx), decoded.signature);
    if (!key) return refuse(TxError::bad_signature, "invalid sender: invalid transaction v, r, s values");
    return std::make_shared<const SignedTx>(SignedTx{.tx = std::move(decoded.tx),
                                                     .signature = decoded.signature,
                                                     .sender = address_of(*key),
                                                     .hash = keccak256(raw),
                                                     .raw = to_bytes(raw)});
}

TxPtr sign_tx(Transaction tx, const SecretKey& key) {
    const Signature signature = key.sign(signing_hash(tx));
    Bytes raw = encode_signed(tx, signature);
    const Hash32 hash = keccak256(raw);
    return std::make_shared<const SignedTx>(SignedTx{
        .tx = std::move(tx), .signature = signature, .sender = key.address(), .hash = hash, .raw = std::move(raw)});
}

std::uint64_t intrinsic_gas(const Transaction& tx) {
    // Every term is bounded by the size of a transaction (128 KiB), so the sum is far below 2^64.
    const auto zeros = static_cast<std::uint64_t>(std::count(tx.data.begin(), tx.data.end(), 0));
    std::uint64_t gas = kTransferGas + 4 * zeros + 16 * (tx.data.size() - zeros);
    for (const AccessEntry& entry : tx.access_list) gas += 2400 + 1900 * entry.keys.size();
    return gas;
}

U256 effective_tip(const Transaction& tx, const U256& base_fee) {
    const auto room = checked_sub(tx.fee_cap, base_fee);
    return room ? min(*room, tx.tip_cap) : U256{};
}

U256 effective_gas_price(const Transaction& tx, const U256& base_fee) { return base_fee + effective_tip(tx, base_fee); }

std::optional<U256> max_cost(const Transaction& tx) {
    const auto fee = checked_mul(tx.fee_cap, tx.gas_limit);
    return fee ? checked_add(*fee, tx.value) : std::nullopt;
}

std::optional<TxRefusal> check(const Transaction& tx) {
    if (tx.nonce == std::numeric_limits<std::uint64_t>::max()) {
        return TxRefusal{TxError::nonce_max, "nonce has max value"};
    }
    if (tx.fee_cap < tx.tip_cap) {
        return TxRefusal{TxError::tip_above_fee_cap,
                         "max priority fee per gas higher than max fee per gas: maxPriorityFeePerGas: " +
                             tx.tip_cap.to_decimal() + ", maxFeePerGas: " + tx.fee_cap.to_decimal()};
    }
    if (!tx.to) return TxRefusal{TxError::creation_not_supported, "contract creation is not supported: no EVM"};
    if (const std::uint64_t needed = intrinsic_gas(tx); tx.gas_limit < needed) {
        return TxRefusal{TxError::intrinsic_gas_too_low, "intrinsic gas too low: gas " + std::to_string(tx.gas_limit) +
                                                             ", minimum needed " + std::to_string(needed)};
    }
    if (!max_cost(tx)) {
        return TxRefusal{TxError::cost_overflow,
                         "insufficient funds for gas * price + value: tx cost is over 256 bits"};
    }
    return std::nullopt;
}

}  // namespace retrace::ledger
