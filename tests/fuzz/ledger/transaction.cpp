// SPDX-License-Identifier: MIT
// Signed transactions: a decoded transaction encodes to the same bytes, a naive reader accepts the same bytes and finds
// the same fields, and all derived values can be computed safely.
#include "ledger/tx/transaction.hpp"

#include "ledger/crypto/keccak.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/fuzz/ledger/naive_transaction.hpp"

namespace retrace::fuzz {
namespace {

constexpr std::uint64_t kChain = 7298;

Bytes signed_bytes(ledger::TxType type) {
    ledger::Transaction tx;
    tx.type = type;
    tx.chain_id = kChain;
    tx.nonce = 3;
    tx.tip_cap = 1'000'000'000;
    tx.fee_cap = type == ledger::TxType::dynamic_fee ? 2'000'000'000 : 1'000'000'000;
    tx.gas_limit = 90'000;
    tx.to = ledger::Address{};
    tx.value = 5;
    tx.data = Bytes(40, 0x11);
    if (type != ledger::TxType::legacy) tx.access_list.push_back({ledger::Address{}, {Hash32{}, Hash32{}}});
    const auto key = ledger::SecretKey::from_bytes(Bytes(32, 7));
    return ledger::sign_tx(tx, *key)->raw;
}

/// Formats a number without leading zeros.
std::string shown(const ledger::U256& value) {
    const std::string digits = to_hex(value.to_be());
    const std::size_t first = digits.find_first_not_of('0');
    return first == std::string::npos ? "" : digits.substr(first / 2 * 2);
}

/// Formats the fields as the naive reader does.
std::vector<std::string> fields_of(const ledger::DecodedTx& decoded) {
    const ledger::Transaction& tx = decoded.tx;
    const bool legacy = tx.type == ledger::TxType::legacy;
    std::vector<std::string> out;
    if (!legacy) out.push_back(shown(tx.chain_id));
    out.push_back(shown(tx.nonce));
    if (tx.type == ledger::TxType::dynamic_fee) out.push_back(shown(tx.tip_cap));
    out.insert(out.end(), {shown(tx.fee_cap), shown(tx.gas_limit), tx.to ? to_hex(view(*tx.to)) : "", shown(tx.value),
                           to_hex(tx.data)});
    std::string list = "[";
    for (const ledger::AccessEntry& entry : tx.access_list) {
        list += "[" + to_hex(view(entry.address)) + ",[";
        for (const Hash32& key : entry.keys) list += to_hex(view(key)) + ",";
        list += "],],";
    }
    if (!legacy) out.push_back(list + "]");
    ledger::U256 v = decoded.signature.y_parity;
    if (legacy) v += ledger::U256(tx.chain_id) + ledger::U256(tx.chain_id) + ledger::U256(35);
    out.push_back(shown(v));
    for (const Hash32& word : {decoded.signature.r, decoded.signature.s})
        out.push_back(shown(ledger::U256::from_be(view(word))));
    return out;
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (const auto type : {ledger::TxType::legacy, ledger::TxType::access_list, ledger::TxType::dynamic_fee})
        out.push_back(signed_bytes(type));
    return out;
}

void run(View input) {
    const auto decoded = ledger::decode_tx(input);
    const auto naive = NaiveTransaction::read(to_bytes(input));
    require(decoded.has_value() == naive.has_value(), "the decoder takes what the naive reader takes");
    require(!decoded || fields_of(*decoded) == *naive, "and finds the same fields in it");
    if (!decoded) {
        require(!ledger::read_tx(input, kChain), "what does not decode is not read");
        return;
    }
    const ledger::Transaction& tx = decoded->tx;
    require(equal(ledger::encode_signed(tx, decoded->signature), input), "a transaction has one spelling");
    require(ledger::intrinsic_gas(tx) >= ledger::kTransferGas, "no transaction is free");
    const bool refused = ledger::check(tx).has_value();
    require(refused || ledger::max_cost(tx).has_value(), "a cost over 256 bits is refused");
    if (!refused && !(tx.fee_cap < ledger::U256(7))) {
        require(!(tx.fee_cap < ledger::effective_gas_price(tx, 7)), "nobody pays above the cap");
        require(!(tx.fee_cap < ledger::effective_tip(tx, 7)), "nor the proposer");
    }
    const auto read = ledger::read_tx(input, tx.chain_id);
    if (!read) return;
    require((*read)->hash == ledger::keccak256(input), "the hash is that of the bytes");
    require(!ledger::read_tx(input, tx.chain_id + 1), "another chain's transaction is refused");
}

}  // namespace retrace::fuzz
