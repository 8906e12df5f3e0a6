// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "ledger/crypto/eip55.hpp"
#include "ledger/tx/admit.hpp"
#include "ledger/tx/transaction.hpp"
#include "ledger/tx/tx_codec.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::hex;
using test::text;
using test::json::object;

U256 amount(const test::json::value& v) { return *U256::from_decimal(text(v)); }

Transaction parse(const object& v) {
    Transaction tx;
    tx.type = static_cast<TxType>(v.at("type").as_int64());
    tx.chain_id = amount(v.at("chainId")).low64();
    tx.nonce = v.at("nonce").is_string() ? amount(v.at("nonce")).low64() : v.at("nonce").to_number<std::uint64_t>();
    const bool dynamic = tx.type == TxType::dynamic_fee;
    tx.fee_cap = amount(v.at(dynamic ? "maxFeePerGas" : "gasPrice"));
    tx.tip_cap = amount(v.at(dynamic ? "maxPriorityFeePerGas" : "gasPrice"));
    tx.gas_limit = amount(v.at("gasLimit")).low64();
    if (v.contains("to") && v.at("to").is_string()) tx.to = parse_address(text(v.at("to")));
    tx.value = amount(v.at("value"));
    tx.data = hex(v.at("data"));
    if (!v.contains("accessList")) return tx;
    for (const auto& entry : v.at("accessList").as_array()) {
        AccessEntry& out = tx.access_list.emplace_back();
        out.address = *parse_address(text(entry.at("address")));
        for (const auto& key : entry.at("storageKeys").as_array()) out.keys.push_back(test::hash(key));
    }
    return tx;
}

class SignedVectors : public testing::TestWithParam<const char*> {};

TEST_P(SignedVectors, AgreeBothWays) {
    const auto vectors = test::load_vectors(std::string("ethereum/") + GetParam());
    for (const auto& v : vectors.as_array()) {
        SCOPED_TRACE(text(v.at("note")));
        const Transaction tx = parse(v.at("tx").as_object());
        EXPECT_EQ(encode_unsigned(tx), hex(v.at("unsigned")));
        EXPECT_EQ(signing_hash(tx), test::hash(v.at("signingHash")));
        const auto key = SecretKey::from_bytes(hex(v.at("privateKey")));
        const TxPtr made = sign_tx(tx, *key);
        EXPECT_EQ(to_0x(View(made->raw)), text(v.at("raw")));
        EXPECT_EQ(made->hash, test::hash(v.at("hash")));
        const auto read = read_tx(hex(v.at("raw")), tx.chain_id);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ((*read)->tx, tx);
        EXPECT_EQ((*read)->signature.y_parity, v.at("signature").at("yParity").as_int64());
        EXPECT_EQ((*read)->hash, test::hash(v.at("hash")));
        EXPECT_EQ(parse_address(text(v.at("from"))), (*read)->sender);
        EXPECT_EQ((*read)->raw, hex(v.at("raw")));
    }
}
INSTANTIATE_TEST_SUITE_P(Tx, SignedVectors,
                         testing::Values("tx_legacy_eip155.json", "tx_eip2930.json", "tx_eip1559.json"));

TEST(Tx, RefusesEveryBadOne) {
    const auto vectors = test::load_vectors("ethereum/tx_invalid.json");
    const auto chain_id = vectors.at("chainId").to_number<std::uint64_t>();
    for (const char* good : {"eip1559", "legacy"}) {
        EXPECT_TRUE(read_tx(hex(vectors.at("good").at(good)), chain_id)) << good;
    }
    for (const auto& v : vectors.at("reject").as_array()) {
        const auto read = read_tx(hex(v.at("raw")), chain_id);
        const bool refused = !read || check((*read)->tx).has_value();
        EXPECT_TRUE(refused) << text(v.at("why"));
    }
}

std::string refusal_of(View raw, std::uint64_t chain_id) {
    const auto read = read_tx(raw, chain_id);
    if (!read) return read.error().message;
    const auto refusal = check((*read)->tx);
    return refusal ? refusal->message : "";
}

TEST(Tx, RefusalsHaveEthereumsWords) {
    const auto vectors = test::load_vectors("ethereum/tx_invalid.json");
    const auto text_for = [&](std::string_view why) {
        for (const auto& v : vectors.at("reject").as_array()) {
            if (v.at("why").as_string() == why) return refusal_of(hex(v.at("raw")), 31337);
        }
        return std::string("no such vector");
    };
    EXPECT_EQ(text_for("wrong chain id"), "invalid sender: invalid chain id for signer: have 1 want 31337");
    EXPECT_EQ(text_for("wrong chain id in v"), "invalid sender: invalid chain id for signer: have 1 want 31337");
    EXPECT_EQ(text_for("legacy without EIP-155 (policy: refuse)"),
              "only replay-protected (EIP-155) transactions allowed over RPC");
    EXPECT_EQ(text_for("high s (EIP-2)"), "invalid sender: invalid transaction v, r, s values");
    EXPECT_EQ(text_for("yParity 2"), "invalid sender: invalid transaction v, r, s values");
    EXPECT_EQ(text_for("type 3"), "transaction type not supported");
    EXPECT_EQ(text_for("type byte 0 before a legacy body"), "transaction type not supported");
    EXPECT_EQ(text_for("nonce 2^64-1 (EIP-2681)"), "nonce has max value");
    EXPECT_TRUE(text_for("tip above fee cap").starts_with("max priority fee per gas higher than max fee per gas"));
    EXPECT_EQ(text_for("trailing byte"), "invalid transaction encoding: rlp: trailing");
    EXPECT_EQ(text_for("31-byte storage key"), "invalid transaction encoding: rlp: wrong_size");
}

TEST(Tx, CheckRefusesWhatNoStateCanMend) {
    const Transaction good = test::transfer(0, test::number(1), 1);
    EXPECT_FALSE(check(good));
    Transaction tx = good;
    tx.gas_limit = 20'999;
    EXPECT_EQ(check(tx)->message, "intrinsic gas too low: gas 20999, minimum needed 21000");
    tx = good;
    tx.to.reset();
    EXPECT_EQ(check(tx)->code, TxError::creation_not_supported);
    tx = good;
    tx.value = U256::max();
    EXPECT_EQ(check(tx)->code, TxError::cost_overflow);
    tx = good;
    tx.fee_cap = U256::max();
    EXPECT_EQ(check(tx)->code, TxError::cost_overflow);
}

TEST(Tx, OversizedIsRefusedBeforeItIsDecoded) {
    const auto read = read_tx(Bytes(kTxBytesMax + 1, 0xff), 1);
    EXPECT_EQ(read.error().code, TxError::oversized);
}

TEST(Tx, GasAndPricesFollowTheSchedule) {
    Transaction tx = test::transfer(0, test::number(1), 1);
    EXPECT_EQ(intrinsic_gas(tx), 21'000U);
    tx.data = {0, 0, 1};
    tx.access_list = {{test::number(1), {Hash32{}, Hash32{}}}, {test::number(2), {}}};
    EXPECT_EQ(intrinsic_gas(tx), 21'000U + 2 * 4 + 16 + 2 * 2400 + 2 * 1900);
    const auto vectors = test::load_vectors("ethereum/fees_bloom.json");
    for (const auto& v : vectors.at("effective_gas_price").as_array()) {
        tx.fee_cap = amount(v.at("maxFeePerGas"));
        tx.tip_cap = amount(v.at("maxPriorityFeePerGas"));
        EXPECT_EQ(effective_gas_price(tx, amount(v.at("baseFee"))), amount(v.at("effectiveGasPrice")));
    }
    EXPECT_EQ(effective_tip(tx, U256::max()), U256{});
}

TEST(Tx, DamagedBytesNeverPassAsAnotherTransaction) {
    // Every accepted mutation is canonical and has another signer than the original.
    std::mt19937_64 random(3);
    Transaction tx = test::call(1, test::bytes("some data"));
    tx.access_list = {{test::number(1), {Hash32{}}}};
    const TxPtr good = sign_tx(tx, test::key(0));
    for (int i = 0; i < 3'000; ++i) {
        Bytes raw = good->raw;
        raw[random() % raw.size()] ^= static_cast<std::uint8_t>(1U << (random() % 8));
        if (random() % 4 == 0) raw.resize(random() % raw.size());
        const auto read = read_tx(raw, 7298);
        if (!read) continue;
        ASSERT_EQ(encode_signed((*read)->tx, (*read)->signature), raw) << "case " << i;
        ASSERT_NE((*read)->sender, good->sender) << "case " << i;
    }
}

TEST(Admit, AsksInEthereumsOrder) {
    const test::EmptyView empty;
    State state(empty);
    const SecretKey key = test::key(0);
    state.set_account(key.address(), {5, 1'000'000});
    const auto refusal = [&](const Transaction& tx, const U256& base_fee, std::uint64_t gas_left) {
        const auto refused = admit(*sign_tx(tx, key), state, base_fee, tx.gas_limit, gas_left);
        return refused ? refused->message : "";
    };
    Transaction tx = test::transfer(5, test::number(1), 0);
    tx.fee_cap = tx.tip_cap = 10;
    EXPECT_EQ(refusal(tx, 1, 30'000), "");
    tx.nonce = 4;
    EXPECT_EQ(refusal(tx, 1, 30'000), "nonce too low: next nonce 5, tx nonce 4");
    tx.nonce = 6;
    EXPECT_EQ(refusal(tx, 1, 30'000), "nonce too high: next nonce 5, tx nonce 6");
    tx.nonce = 5;
    EXPECT_TRUE(refusal(tx, 11, 30'000).starts_with("max fee per gas less than block base fee: address 0x"));
    EXPECT_EQ(refusal(tx, 1, 20'999), "exceeds block gas limit");
    tx.value = 1'000'000;
    EXPECT_EQ(refusal(tx, 1, 30'000),
              "insufficient funds for gas * price + value: balance 1000000, tx cost 1210000, overshot 210000");
}

}  // namespace
}  // namespace retrace::ledger
