// SPDX-License-Identifier: MIT
#include "ledger/chain/state_proof.hpp"

#include "ledger/types/codec.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kValueMax = 1U << 24;

}  // namespace

Hash32 account_leaf_key(const Address& address) {
    return merkle::sha256({view(std::string_view("retrace/account/1")), view(address)});
}

Hash32 slot_leaf_key(const Address& contract, View key) {
    return merkle::sha256({view(std::string_view("retrace/slot/1")), view(contract), key});
}

Bytes encode(const Account& account) {
    if (account == Account{}) return {};
    Writer out;
    out.u64(account.nonce);
    encode_to(out, account.balance);
    return std::move(out).take();
}

std::optional<Account> decode_account(View bytes) {
    if (bytes.empty()) return Account{};
    Reader in(bytes);
    Account account;
    account.nonce = in.u64();
    account.balance = decode_u256(in);
    if (!in.finish() || account == Account{}) return std::nullopt;
    return account;
}

Status<merkle::SparseError> verify(const StateProof& proof) {
    std::optional<Hash32> value_hash;
    if (!proof.value.empty()) value_hash = merkle::sha256(proof.value);
    return merkle::verify_sparse(proof.state_root, proof.leaf_key, value_hash, proof.proof);
}

void encode_to(Writer& out, const StateProof& proof) {
    out.u64(proof.height).hash(proof.state_root).hash(proof.leaf_key).bytes(proof.value);
    merkle::encode_to(out, proof.proof);
}

StateProof decode_state_proof(Reader& in) {
    StateProof proof;
    proof.height = in.u64();
    proof.state_root = in.hash();
    proof.leaf_key = in.hash();
    proof.value = to_bytes(in.bytes(kValueMax));
    proof.proof = merkle::decode_sparse_proof(in);
    return proof;
}

}  // namespace retrace::ledger
