// SPDX-License-Identifier: MIT
#include "ledger/tx/tx_codec.hpp"

#include "ledger/codec/rlp.hpp"

namespace retrace::ledger {
namespace {

Unexpected<TxRefusal> refuse(rlp::Error error) {
    return refuse(TxError::malformed, "invalid transaction encoding: rlp: " + std::string(rlp::slug(error)));
}
Unexpected<TxRefusal> refuse_signature() {
    return refuse(TxError::bad_signature, "invalid sender: invalid transaction v, r, s values");
}

std::optional<Address> read_to(rlp::ListReader& in) {
    const View to = in.bytes();
    if (to.empty()) return std::nullopt;
    if (to.size() == 20) return address_of_bytes(to);
    in.fail(rlp::Error::wrong_size);
    return std::nullopt;
}

std::vector<AccessEntry> read_access_list(rlp::ListReader& in) {
    std::vector<AccessEntry> out;
    rlp::ListReader entries = in.list();
    while (!entries.at_end()) {
        rlp::ListReader fields = entries.list();
        AccessEntry entry;
        if (const View address = fields.fixed(20); !address.empty()) entry.address = address_of_bytes(address);
        rlp::ListReader keys = fields.list();
        while (!keys.at_end()) {
            if (const View key = keys.fixed(32); !key.empty()) entry.keys.push_back(to_hash32(key));
        }
        fields.adopt(keys);
        if (const auto end = fields.finish(); !end) entries.fail(end.error());
        out.push_back(std::move(entry));
    }
    in.adopt(entries);
    return out;
}

Hash32 to_hash(const U256& v) {
    const auto be = v.to_be();
    return to_hash32(be);
}

void write_to(rlp::Encoder& out, const std::optional<Address>& to) { out.bytes(to ? view(*to) : View{}); }

void write_to(rlp::Encoder& out, const std::vector<AccessEntry>& list) {
    rlp::Encoder entries;
    for (const AccessEntry& entry : list) {
        rlp::Encoder keys;
        for (const Hash32& key : entry.keys) keys.bytes(view(key));
        rlp::Encoder fields;
        fields.bytes(view(entry.address)).list(keys);
        entries.list(fields);
    }
    out.list(entries);
}

void write_to(rlp::Encoder& out, const Hash32& scalar) { out.u256(U256::from_be(view(scalar))); }

/// All fields before the signature, in the order of the type.
rlp::Encoder body(const Transaction& tx) {
    rlp::Encoder out;
    if (tx.type != TxType::legacy) out.u64(tx.chain_id);
    out.u64(tx.nonce);
    if (tx.type == TxType::dynamic_fee) out.u256(tx.tip_cap);
    out.u256(tx.fee_cap).u64(tx.gas_limit);
    write_to(out, tx.to);
    out.u256(tx.value).bytes(tx.data);
    if (tx.type != TxType::legacy) write_to(out, tx.access_list);
    return out;
}

Bytes with_type(TxType type, const rlp::Encoder& fields) {
    Bytes list = fields.to_list();
    if (type != TxType::legacy) list.insert(list.begin(), static_cast<std::uint8_t>(type));
    return list;
}

U256 legacy_v(const Transaction& tx, std::uint8_t y_parity) {
    return U256{tx.chain_id} * U256{2} + U256{std::uint64_t{35} + y_parity};
}

/// Reads chain id and parity from a legacy v = 35 + 2 chain id + parity.
std::optional<TxRefusal> read_legacy_v(const U256& v, DecodedTx& out) {
    if (v == U256{27} || v == U256{28}) {
        return TxRefusal{TxError::unprotected, "only replay-protected (EIP-155) transactions allowed over RPC"};
    }
    const auto offset = checked_sub(v, 35);
    if (!offset) return refuse_signature().error;
    const U256 chain_id = *offset / U256{2};
    if (!chain_id.fits_u64()) {
        return TxRefusal{TxError::wrong_chain_id, "invalid sender: invalid chain id for signer: have " +
                                                      chain_id.to_decimal() + ", which is over 64 bits"};
    }
    out.tx.chain_id = chain_id.low64();
    out.signature.y_parity = static_cast<std::uint8_t>(offset->low64() & 1);
    return std::nullopt;
}

Result<DecodedTx, TxRefusal> decode_fields(TxType type, View list) {
    const auto item = rlp::decode(list);
    if (!item) return refuse(item.error());
    rlp::ListReader in(*item);
    DecodedTx out;
    Transaction& tx = out.tx;
    tx.type = type;
    if (type != TxType::legacy) tx.chain_id = in.u64();
    tx.nonce = in.u64();
    if (type == TxType::dynamic_fee) tx.tip_cap = in.u256();
    tx.fee_cap = in.u256();
    if (type != TxType::dynamic_fee) tx.tip_cap = tx.fee_cap;
    tx.gas_limit = in.u64();
    tx.to = read_to(in);
    tx.value = in.u256();
    tx.data = to_bytes(in.bytes());
    if (type != TxType::legacy) tx.access_list = read_access_list(in);
    const U256 v = in.u256();
    const U256 r = in.u256();
    const U256 s = in.u256();
    if (const auto end = in.finish(); !end) return refuse(end.error());
    if (type == TxType::legacy) {
        if (auto refusal = read_legacy_v(v, out)) return Unexpected{std::move(*refusal)};
    } else {
        if (v > U256{1}) return refuse_signature();
        out.signature.y_parity = static_cast<std::uint8_t>(v.low64());
    }
    out.signature.r = to_hash(r);
    out.signature.s = to_hash(s);
    return out;
}

}  // namespace

Bytes encode_unsigned(const Transaction& tx) {
    rlp::Encoder out = body(tx);
    if (tx.type == TxType::legacy) out.u64(tx.chain_id).u64(0).u64(0);
    return with_type(tx.type, out);
}

Bytes encode_signed(const Transaction& tx, const Signature& signature) {
    rlp::Encoder out = body(tx);
    out.u256(tx.type == TxType::legacy ? legacy_v(tx, signature.y_parity) : U256{signature.y_parity});
    write_to(out, signature.r);
    write_to(out, signature.s);
    return with_type(tx.type, out);
}

Result<DecodedTx, TxRefusal> decode_tx(View raw) {
    if (raw.size() > kTxBytesMax) {
        return refuse(TxError::oversized, "oversized data: transaction size " + std::to_string(raw.size()) +
                                              ", limit " + std::to_string(kTxBytesMax));
    }
    if (raw.empty()) return refuse(rlp::Error::truncated);
    // EIP-2718: a first byte of an RLP list means a legacy transaction, 0x01 and 0x02 are types, all others are
    // unknown.
    const bool legacy = raw[0] >= 0xc0;
    if (!legacy && raw[0] != 1 && raw[0] != 2) {
        return refuse(TxError::type_not_supported, "transaction type not supported");
    }
    RETRACE_TRY(out,
                decode_fields(legacy ? TxType::legacy : static_cast<TxType>(raw[0]), legacy ? raw : raw.subspan(1)));
    // Second check: an encoding that the decoder accepted by mistake does not encode to the same bytes.
    if (!equal(encode_signed(out.tx, out.signature), raw)) {
        return refuse(TxError::malformed, "invalid transaction encoding: not canonical");
    }
    return out;
}

}  // namespace retrace::ledger
