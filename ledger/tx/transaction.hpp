// SPDX-License-Identifier: MIT
// Ethereum transactions: legacy with EIP-155, type 1 (EIP-2930), type 2 (EIP-1559). SPEC 3.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ledger/crypto/secp256k1.hpp"
#include "ledger/tx/tx_error.hpp"
#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"
#include "merkle/base/result.hpp"

namespace retrace::ledger {

inline constexpr std::size_t kTxBytesMax = 128 * 1024;
inline constexpr std::uint64_t kTransferGas = 21'000;

enum class TxType : std::uint8_t { legacy = 0, access_list = 1, dynamic_fee = 2 };

struct AccessEntry {
    Address address;
    std::vector<Hash32> keys;
    bool operator==(const AccessEntry&) const = default;
};

struct Transaction {
    TxType type = TxType::dynamic_fee;
    std::uint64_t chain_id = 0;
    std::uint64_t nonce = 0;
    U256 tip_cap;  ///< maxPriorityFeePerGas; types 0 and 1: the gas price.
    U256 fee_cap;  ///< maxFeePerGas; types 0 and 1: the gas price.
    std::uint64_t gas_limit = 0;
    std::optional<Address> to;  ///< Absent: a contract creation, which `check` refuses.
    U256 value;
    Bytes data;
    std::vector<AccessEntry> access_list;
    bool operator==(const Transaction&) const = default;
};

/// A transaction whose signature was checked. Immutable and shared: mempool, block and RPC hold the same one.
struct SignedTx {
    Transaction tx;
    Signature signature;
    Address sender;
    Hash32 hash;  ///< Keccak-256 of `raw`.
    Bytes raw;    ///< The signed bytes as sent; re-encoding gives the same bytes.
};
using TxPtr = std::shared_ptr<const SignedTx>;

/// The digest that the signature covers.
Hash32 signing_hash(const Transaction& tx);
/// The bytes on the wire.
Bytes encode_signed(const Transaction& tx, const Signature& signature);

/// Result of strict decoding; neither the signature nor the chain was checked.
struct DecodedTx {
    Transaction tx;
    Signature signature;
};
Result<DecodedTx, TxRefusal> decode_tx(View raw);

/// Decodes, checks the chain id and recovers the sender. Any thread. This is the whole cost of an unknown transaction.
Result<TxPtr, TxRefusal> read_tx(View raw, std::uint64_t chain_id);

/// Signs with `key`. `tx.chain_id` must be set; the sender is the key's address.
TxPtr sign_tx(Transaction tx, const SecretKey& key);

/// 21000, plus 4/16 per zero/non-zero data byte, plus 2400/1900 per address/key of the access list; saturates.
std::uint64_t intrinsic_gas(const Transaction& tx);
/// Price that the sender pays per unit of gas: min(fee cap, base fee + tip cap). Requires fee cap ≥ base fee.
U256 effective_gas_price(const Transaction& tx, const U256& base_fee);
/// Amount that the proposer receives per unit of gas: effective price minus base fee; 0 if the cap is below the base
/// fee.
U256 effective_tip(const Transaction& tx, const U256& base_fee);
/// gas limit * fee cap + value: the balance that the sender needs. nullopt if it exceeds 256 bits.
std::optional<U256> max_cost(const Transaction& tx);

/// Checks that need no state (1xx).
std::optional<TxRefusal> check(const Transaction& tx);

}  // namespace retrace::ledger
