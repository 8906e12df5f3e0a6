// SPDX-License-Identifier: MIT
// Signatures over data other than transactions: EIP-191 texts and EIP-712 typed data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledger/crypto/secp256k1.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::wallet {

/// Keccak-256 of "\x19Ethereum Signed Message:\n", the decimal length in bytes, and the message.
Hash32 personal_digest(View message);

/// Digest of eth_signTypedData_v4: {types, primaryType, domain, message} as JSON, at most 1 MiB and 16 structs deep.
/// Integers may be JSON numbers or texts, decimal or 0x. Errors name the member that does not fit its type (also an
/// address whose EIP-55 checksum fails). As in ethers, no type may contain itself, and the primary type must use all of
/// them.
Result<Hash32> typed_data_digest(std::string_view json);

/// r ‖ s ‖ v with v = 27 or 28.
Bytes sign_digest(const ledger::SecretKey& key, const Hash32& digest);
/// Returns the signer; nullopt unless the signature has 65 bytes with v 27/28 (or 0/1) and low s, and recovers to a
/// key.
std::optional<ledger::Address> recover_signer(const Hash32& digest, View signature);

}  // namespace retrace::node::wallet
