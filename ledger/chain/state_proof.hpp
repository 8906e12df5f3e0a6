// SPDX-License-Identifier: MIT
// Proofs of accounts and slots against a header's state root. SPEC 5.5. Stand-alone: needs neither a chain nor a store.
#pragma once

#include <optional>

#include "ledger/state/state.hpp"
#include "merkle/tree/sparse_proof.hpp"

namespace retrace::ledger {

/// Leaf keys: SHA-256("retrace/account/1" ‖ address), SHA-256("retrace/slot/1" ‖ contract ‖ key).
Hash32 account_leaf_key(const Address& address);
Hash32 slot_leaf_key(const Address& contract, View key);

/// nonce u64, balance 32 bytes big endian; empty for the zero account, which has no leaf.
Bytes encode(const Account& account);
std::optional<Account> decode_account(View bytes);

struct StateProof {
    std::uint64_t height = 0;
    Hash32 state_root;
    Hash32 leaf_key;
    Bytes value;  ///< Encoded account or slot bytes; empty: proof of absence.
    merkle::SparseProof proof;
};
/// Whether the proof shows `value` (or absence) under its leaf key and state root. The caller compares the key with the
/// leaf it asked for, and the root with a header that it trusts.
Status<merkle::SparseError> verify(const StateProof& proof);

void encode_to(Writer& out, const StateProof& proof);
StateProof decode_state_proof(Reader& in);

}  // namespace retrace::ledger
