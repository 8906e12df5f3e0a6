// SPDX-License-Identifier: MIT
#include "ledger/crypto/vrf.hpp"

#include <gtest/gtest.h>

namespace retrace::ledger {
namespace {

/// RFC 9381 B.1, examples 10 to 12.
struct Example {
    const char *secret, *key, *alpha, *proof, *beta;
};
constexpr Example kExamples[] = {
    {"c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
     "0360fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6", "73616d706c65",
     "035b5c726e8c0e2c488a107c600578ee75cb702343c153cb1eb8dec77f4b5071b4"
     "a53f0a46f018bc2c56e58d383f2305e0975972c26feea0eb122fe7893c15af376b33edf7de17c6ea056d4d82de6bc02f",
     "a3ad7b0ef73d8fc6655053ea22f9bede8c743f08bbed3d38821f0e16474b505e"},
    {"c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
     "0360fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6", "74657374",
     "034dac60aba508ba0c01aa9be80377ebd7562c4a52d74722e0abae7dc3080ddb56"
     "c19e067b15a8a8174905b13617804534214f935b94c2287f797e393eb0816969d864f37625b443f30f1a5a33f2b3c854",
     "a284f94ceec2ff4b3794629da7cbafa49121972671b466cab4ce170aa365f26d"},
    {"2ca1411a41b17b24cc8c3b089cfd033f1920202a6c0de8abb97df1498d50d2c8",
     "03596375e6ce57e0f20294fc46bdfcfd19a39f8161b58695b3ec5b3d16427c274d",
     "4578616d706c65207573696e67204543445341206b65792066726f6d20417070656e646978204c2e342e32206f6620414e53492e58392d"
     "36322d32303035",
     "03d03398bf53aa23831d7d1b2937e005fb0062cbefa06796579f2a1fc7e7b8c667"
     "d091c00b0f5c3619d10ecea44363b5a599cadc5b2957e223fec62e81f7b4825fc799a771a3d7334b9186bdbee87316b1",
     "90871e06da5caa39a3c61578ebb844de8635e27ac0b13e829997d0d95dd98c19"},
};

Bytes hex(const char* text) { return from_hex(text).value(); }

VrfKey key_of(const char* text) {
    VrfKey key;
    const Bytes bytes = hex(text);
    std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
    return key;
}

TEST(Vrf, ProvesAsTheRfcSays) {
    for (const Example& example : kExamples) {
        const auto secret = VrfSecret::from_bytes(hex(example.secret));
        ASSERT_TRUE(secret);
        EXPECT_EQ(to_hex(secret->key().bytes), example.key);
        EXPECT_EQ(to_hex(secret->prove(hex(example.alpha))), example.proof);
    }
}

TEST(Vrf, VerifiesAsTheRfcSays) {
    for (const Example& example : kExamples) {
        const auto beta = vrf_verify(key_of(example.key), hex(example.alpha), hex(example.proof));
        ASSERT_TRUE(beta);
        EXPECT_EQ(to_hex(view(*beta)), example.beta);
    }
}

TEST(Vrf, RefusesEveryChangedByte) {
    const Example& example = kExamples[0];
    const VrfKey key = key_of(example.key);
    const Bytes alpha = hex(example.alpha), proof = hex(example.proof);
    for (std::size_t i = 0; i < proof.size(); ++i) {
        Bytes changed = proof;
        changed[i] ^= 1;
        EXPECT_FALSE(vrf_verify(key, alpha, changed)) << i;
    }
    EXPECT_FALSE(vrf_verify(key, hex("73616d706c66"), proof));
    EXPECT_FALSE(vrf_verify(key_of(kExamples[2].key), alpha, proof));
}

TEST(Vrf, RefusesOtherSizes) {
    const Example& example = kExamples[0];
    const Bytes proof = hex(example.proof);
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, proof.size() - 1})
        EXPECT_FALSE(vrf_verify(key_of(example.key), hex(example.alpha), View(proof).first(size)));
    Bytes longer = proof;
    longer.push_back(0);
    EXPECT_FALSE(vrf_verify(key_of(example.key), hex(example.alpha), longer));
}

TEST(Vrf, RefusesTheSameScalarWrittenAnotherWay) {
    // s + order is the same scalar; a second proof of one value would let its owner choose between two extensions.
    const Example& example = kExamples[2];
    Bytes proof = hex(example.proof);
    const Bytes order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    unsigned carry = 0;
    for (std::size_t i = 32; i-- > 0;) {
        const unsigned sum = proof[49 + i] + order[i] + carry;
        proof[49 + i] = static_cast<std::uint8_t>(sum);
        carry = sum >> 8;
    }
    EXPECT_FALSE(vrf_verify(key_of(example.key), hex(example.alpha), proof));
}

TEST(Vrf, RefusesKeysThatAreNoPoint) {
    const Example& example = kExamples[0];
    VrfKey key = key_of(example.key);
    key.bytes[0] = 4;
    EXPECT_FALSE(vrf_verify(key, hex(example.alpha), hex(example.proof)));
    EXPECT_FALSE(vrf_verify(VrfKey{}, hex(example.alpha), hex(example.proof)));
}

TEST(Vrf, RefusesSecretsOutOfRange) {
    EXPECT_FALSE(VrfSecret::from_bytes(Bytes(32, 0)));
    EXPECT_FALSE(VrfSecret::from_bytes(hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")));
    EXPECT_TRUE(VrfSecret::from_bytes(hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550")));
    EXPECT_FALSE(VrfSecret::from_bytes(Bytes(31, 1)));
}

TEST(Vrf, RandomSecretsProve) {
    const VrfSecret secret = VrfSecret::random();
    const Bytes alpha{1, 2, 3};
    EXPECT_TRUE(vrf_verify(secret.key(), alpha, secret.prove(alpha)));
}

}  // namespace
}  // namespace retrace::ledger
