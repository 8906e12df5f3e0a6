// SPDX-License-Identifier: MIT
#include "ledger/tx/tx_error.hpp"

namespace retrace::ledger {

std::string_view slug(TxError error) noexcept {
    switch (error) {
        case TxError::oversized: return "oversized";
        case TxError::malformed: return "malformed";
        case TxError::type_not_supported: return "type_not_supported";
        case TxError::wrong_chain_id: return "wrong_chain_id";
        case TxError::unprotected: return "unprotected";
        case TxError::bad_signature: return "bad_signature";
        case TxError::nonce_max: return "nonce_max";
        case TxError::tip_above_fee_cap: return "tip_above_fee_cap";
        case TxError::intrinsic_gas_too_low: return "intrinsic_gas_too_low";
        case TxError::creation_not_supported: return "creation_not_supported";
        case TxError::cost_overflow: return "cost_overflow";
        case TxError::nonce_too_low: return "nonce_too_low";
        case TxError::nonce_too_high: return "nonce_too_high";
        case TxError::already_known: return "already_known";
        case TxError::insufficient_funds: return "insufficient_funds";
        case TxError::replacement_underpriced: return "replacement_underpriced";
        case TxError::exceeds_block_gas: return "exceeds_block_gas";
        case TxError::fee_cap_below_base_fee: return "fee_cap_below_base_fee";
        case TxError::underpriced: return "underpriced";
        case TxError::pool_full: return "pool_full";
        case TxError::account_queue_full: return "account_queue_full";
    }
    return "unknown";
}

}  // namespace retrace::ledger
