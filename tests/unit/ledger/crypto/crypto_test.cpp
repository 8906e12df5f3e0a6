// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/kdf.hpp"
#include "ledger/crypto/keccak.hpp"
#include "ledger/crypto/scrypt.hpp"
#include "ledger/crypto/secp256k1.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/unit/ledger/vectors.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::hex;
using test::text;

TEST(Keccak, AgreesWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/keccak256.json");
    for (const auto& v : vectors.as_array()) {
        const Bytes input = hex(v.at("hex"));
        EXPECT_EQ(keccak256(input), test::hash(v.at("keccak256")));
        const std::size_t half = input.size() / 2;
        EXPECT_EQ(keccak256({View(input).first(half), View(input).subspan(half)}), keccak256(input));
    }
}

TEST(Address, AgreesWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/address.json");
    for (const auto& v : vectors.at("keys").as_array()) {
        const auto key = SecretKey::from_bytes(hex(v.at("privateKey")));
        ASSERT_TRUE(key);
        EXPECT_EQ("0x04" + to_hex(key->public_key().bytes), text(v.at("publicKeyUncompressed")));
        EXPECT_EQ(to_0x(View(key->public_key().compressed())), text(v.at("publicKeyCompressed")));
        EXPECT_EQ(to_0x(key->address()), text(v.at("address")));
        EXPECT_EQ(to_checksum(key->address()), text(v.at("checksummed")));
    }
    for (const auto& v : vectors.at("invalid_private_keys").as_array()) {
        EXPECT_FALSE(SecretKey::from_bytes(hex(v))) << text(v);
    }
    for (const auto& v : vectors.at("eip55").as_array()) {
        EXPECT_TRUE(checksum_holds(text(v))) << text(v);
        EXPECT_EQ(to_checksum(*parse_address(text(v))), text(v));
    }
    for (const auto& v : vectors.at("eip55_bad").as_array()) EXPECT_FALSE(checksum_holds(text(v))) << text(v);
}

TEST(Address, TextOfAnotherFormIsRefused) {
    EXPECT_FALSE(parse_address(""));
    EXPECT_FALSE(parse_address("0x"));
    EXPECT_FALSE(parse_address(std::string(40, '1')));
    EXPECT_FALSE(parse_address("0x" + std::string(39, '1')));
    EXPECT_FALSE(parse_address("0x" + std::string(41, '1')));
    EXPECT_FALSE(parse_address("0x" + std::string(39, '1') + "g"));
    EXPECT_TRUE(parse_address("0x" + std::string(40, 'F')));
    EXPECT_FALSE(checksum_holds("0xabc"));
}

TEST(Secp256k1, SignaturesRecoverToTheSigner) {
    const auto vectors = test::load_vectors("ethereum/eip191.json");
    for (const auto& v : vectors.as_array()) {
        const auto key = SecretKey::from_bytes(hex(v.at("privateKey")));
        const Hash32 digest = test::hash(v.at("digest"));
        const Signature signature = key->sign(digest);
        const Bytes expected = hex(v.at("signature"));  // r ‖ s ‖ 27 + parity
        EXPECT_EQ(to_hex(view(signature.r)) + to_hex(view(signature.s)), to_hex(View(expected).first(64)));
        EXPECT_EQ(27 + signature.y_parity, expected[64]);
        const auto recovered = recover(digest, signature);
        ASSERT_TRUE(recovered);
        EXPECT_EQ(to_checksum(address_of(*recovered)), text(v.at("address")));
    }
}

TEST(Secp256k1, SignaturesOutOfRangeRecoverToNothing) {
    const SecretKey key = SecretKey::random();
    const Hash32 digest = merkle::sha256(bytes("digest"));
    const Signature good = key.sign(digest);
    ASSERT_EQ(recover(digest, good), key.public_key());
    Signature bad = good;
    bad.y_parity = 2;
    EXPECT_FALSE(recover(digest, bad));
    bad = good;
    bad.r = Hash32{};
    EXPECT_FALSE(recover(digest, bad));
    bad = good;
    bad.s = Hash32{};
    EXPECT_FALSE(recover(digest, bad));
    bad = good;
    bad.r.bytes.fill(0xff);  // above n
    EXPECT_FALSE(recover(digest, bad));
    bad = good;
    bad.s.bytes.fill(0xff);
    EXPECT_FALSE(recover(digest, bad));
    // n - s with the other parity is the mirrored signature, which EIP-2 forbids.
    const Bytes order = *from_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    bad = good;
    int borrow = 0;
    for (std::size_t i = 32; i-- > 0;) {
        const int digit = order[i] - good.s.bytes[i] - borrow;
        borrow = digit < 0 ? 1 : 0;
        bad.s.bytes[i] = static_cast<std::uint8_t>(digit + 256 * borrow);
    }
    bad.y_parity ^= 1;
    EXPECT_FALSE(recover(digest, bad));
    bad = good;
    bad.y_parity ^= 1;
    EXPECT_NE(recover(digest, bad), key.public_key());
}

TEST(Secp256k1, TweakAddsToTheKey) {
    Bytes one(32), two(32), three(32), order_less_one;
    one[31] = 1;
    two[31] = 2;
    three[31] = 3;
    order_less_one = *from_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140");
    const auto key = SecretKey::from_bytes(one);
    EXPECT_EQ(to_hex(key->add_tweak(two)->bytes()), to_hex(three));
    EXPECT_FALSE(key->add_tweak(order_less_one)) << "the sum is zero";
    EXPECT_FALSE(key->add_tweak(Bytes(31)));
}

TEST(Secp256k1, MovedFromKeysAreWiped) {
    SecretKey key = SecretKey::random();
    const SecretKey moved = std::move(key);
    EXPECT_EQ(to_hex(key.bytes()), std::string(64, '0'));  // NOLINT: reading after the move is the point
    EXPECT_NE(to_hex(moved.bytes()), std::string(64, '0'));
}

Bytes derive(const test::json::object& crypto, View password) {
    const auto& params = crypto.at("kdfparams").as_object();
    const Bytes salt = *from_hex(text(params.at("salt")));
    const auto size = static_cast<std::size_t>(params.at("dklen").as_int64());
    const auto get = [&](const char* name) { return params.at(name).to_number<std::uint32_t>(); };
    const auto key = text(crypto.at("kdf")) == "scrypt" ? scrypt(password, salt, {get("n"), get("r"), get("p")}, size)
                                                        : pbkdf2_hmac_sha256(password, salt, get("c"), size);
    return key.value();
}

TEST(Keystore, PrimitivesAgreeWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/keystore_v3.json");
    for (const auto& v : vectors.at("decrypt").as_array()) {
        SCOPED_TRACE(text(v.at("note")));
        const auto& store = v.at("json").as_object();
        const auto& crypto = store.at(store.contains("crypto") ? "crypto" : "Crypto").as_object();
        const Bytes key = derive(crypto, bytes(text(v.at("password"))));
        EXPECT_EQ(to_0x(View(key)), text(v.at("derivedKey")));
        const Bytes cipher = *from_hex(text(crypto.at("ciphertext")));
        EXPECT_EQ(to_hex(view(keccak256({View(key).subspan(16), cipher}))), text(crypto.at("mac")));
        const Bytes iv = *from_hex(text(crypto.at("cipherparams").at("iv")));
        EXPECT_EQ(to_0x(View(aes_128_ctr(View(key).first(16), iv, cipher))), text(v.at("privateKey")));
    }
}

TEST(Keystore, WildParametersAreRefusedByName) {
    const Bytes p = bytes("password");
    EXPECT_FALSE(scrypt(p, p, {0, 8, 1}, 32));
    EXPECT_FALSE(scrypt(p, p, {1000, 8, 1}, 32)) << "n is no power of two";
    EXPECT_FALSE(scrypt(p, p, {1024, 0, 1}, 32));
    EXPECT_FALSE(scrypt(p, p, {1024, 8, 0}, 32));
    EXPECT_FALSE(scrypt(p, p, {std::uint64_t{1} << 62, 8, 1}, 32));
    EXPECT_FALSE(scrypt(p, p, {1 << 20, 8, 1 << 19}, 32)) << "hours of work";
    EXPECT_FALSE(scrypt(p, p, {1024, 8, 1}, 0));
    EXPECT_FALSE(pbkdf2_hmac_sha256(p, p, 0, 32));
    EXPECT_FALSE(pbkdf2_hmac_sha256(p, p, kPbkdf2RoundsMax + 1, 32));
    EXPECT_FALSE(pbkdf2_hmac_sha512(p, p, 1, 2000));
    EXPECT_NE(scrypt(p, p, {1024, 8, 0}, 32).error().message.find("p is out of range"), std::string::npos);
}

TEST(Hmac, AgreesWithRfc4231) {
    const Bytes key = bytes("Jefe");
    const Bytes message = bytes("what do ya want for nothing?");
    EXPECT_EQ(to_hex(hmac_sha256(key, message)), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac_sha512(key, message)),
              "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
              "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
}

TEST(Mnemonic, SeedAgreesWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/bip39_44.json");
    for (const auto& v : vectors.at("mnemonics").as_array()) {
        const std::string words = text(v.at("mnemonic"));
        const std::string salt = "mnemonic" + text(v.at("passphrase"));
        const bool ascii = std::all_of(salt.begin(), salt.end(), [](char c) { return c > 0; });
        if (!ascii) continue;  // Unicode normalisation is done by the wallet
        EXPECT_EQ(to_0x(View(pbkdf2_hmac_sha512(bytes(words), bytes(salt), 2048, 64).value())), text(v.at("seed")));
    }
}

TEST(Secrets, WipeLeavesZeros) {
    Bytes secret(100, 7);
    wipe(secret);
    EXPECT_EQ(secret, Bytes(100, 0));
    Bytes a(300), b(300);
    random_bytes(a);
    random_bytes(b);
    EXPECT_NE(a, b);
}

TEST(SecretText, HoldsWhatFitsAndDoesNotMove) {
    SecretText text(3);
    for (const char c : {'a', 'b', 'c'}) EXPECT_TRUE(text.push_back(c));
    EXPECT_FALSE(text.push_back('d'));
    const char* const place = text.view().data();
    text.pop_back();
    const SecretText moved = std::move(text);
    EXPECT_EQ(moved.view(), "ab");
    EXPECT_EQ(moved.view().data(), place);
}

}  // namespace
}  // namespace retrace::ledger
