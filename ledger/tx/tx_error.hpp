// SPDX-License-Identifier: MIT
// Reasons why a transaction is refused. The texts are the interface: wallets match them, not the codes (RPC page 1.5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "merkle/base/result.hpp"

namespace retrace::ledger {

/// Numbers are never reused. 1xx: permanently invalid; 2xx: not valid now; 3xx: included without effect.
enum class TxError : std::uint16_t {
    oversized = 101,  ///< Over kTxBytesMax.
    malformed = 102,  ///< Not the canonical RLP of a transaction.
    type_not_supported = 103,
    wrong_chain_id = 104,
    unprotected = 105,    ///< A legacy signature without a chain id (before EIP-155).
    bad_signature = 106,  ///< r, s or v out of range, high s, or no recoverable key.
    nonce_max = 107,      ///< 2^64 - 1 (EIP-2681).
    tip_above_fee_cap = 108,
    intrinsic_gas_too_low = 109,
    creation_not_supported = 110,  ///< No `to`: there is no EVM.
    cost_overflow = 111,           ///< gas * price + value does not fit 256 bits.

    nonce_too_low = 201,
    nonce_too_high = 202,  ///< Further ahead than an account's queue holds.
    already_known = 203,
    insufficient_funds = 204,
    replacement_underpriced = 205,
    exceeds_block_gas = 206,
    fee_cap_below_base_fee = 207,
    underpriced = 208,  ///< Below the node's own minimum, or below the cheapest in a full pool.
    pool_full = 209,
    account_queue_full = 210,
};

std::string_view slug(TxError error) noexcept;

/// A refusal with its text, e.g. "nonce too low: next nonce 5, tx nonce 3".
struct TxRefusal {
    TxError code{};
    std::string message;
};

inline Unexpected<TxRefusal> refuse(TxError code, std::string message) { return {TxRefusal{code, std::move(message)}}; }

}  // namespace retrace::ledger
