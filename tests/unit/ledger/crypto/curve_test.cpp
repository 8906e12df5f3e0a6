// SPDX-License-Identifier: MIT
// The field of scalars and the group of points: their laws, the values at which libsecp256k1 refuses, and known multiples
// of the generator.
#include "ledger/crypto/curve.hpp"

#include <gtest/gtest.h>

#include <array>

#include "ledger/crypto/secret.hpp"

namespace retrace::ledger {
namespace {

Scalar any_scalar() { return Scalar::random(random_bytes); }
Scalar from_hex_scalar(std::string_view hex) { return *Scalar::from_bytes(*from_hex(hex)); }
constexpr std::string_view kMinusOne = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140";
constexpr std::string_view kOrderHex = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

TEST(CurveScalars, ObeyTheLawsOfAField) {
    for (int i = 0; i < 20; ++i) {
        const Scalar a = any_scalar(), b = any_scalar(), c = any_scalar();
        EXPECT_EQ(a + b, b + a);
        EXPECT_EQ((a + b) * c, a * c + b * c);
        EXPECT_EQ(a + a.negated(), Scalar());
        EXPECT_EQ(a * a.inverse(), Scalar(1));
    }
}

TEST(CurveScalars, ZeroIsAValueAsOthers) {
    const Scalar a = any_scalar(), zero;
    EXPECT_TRUE(zero.is_zero());
    EXPECT_EQ(a + zero, a);
    EXPECT_EQ(zero + a, a);
    EXPECT_EQ(a * zero, zero);
    EXPECT_EQ(zero * a, zero);
    EXPECT_EQ(zero.negated(), zero);
    EXPECT_EQ(Scalar(0x01020304) + Scalar(1), Scalar(0x01020305));
    EXPECT_EQ(from_hex_scalar(kMinusOne) + Scalar(1), zero);
}

TEST(CurveScalars, AreBelowTheOrder) {
    EXPECT_FALSE(Scalar::from_bytes(*from_hex(kOrderHex)).has_value());
    EXPECT_FALSE(Scalar::from_bytes(Bytes(31)).has_value());
    EXPECT_FALSE(Scalar::from_bytes(Bytes(33)).has_value());
    EXPECT_TRUE(Scalar::from_bytes(Bytes(32))->is_zero());
    EXPECT_TRUE(Scalar::from_hash(to_hash32(*from_hex(kOrderHex))).is_zero());
    EXPECT_EQ(Scalar::from_hash(to_hash32(*from_hex(kMinusOne))).negated(), Scalar(1));
    // 2^256 - 1 - n, in hex from Python.
    EXPECT_EQ(Scalar::from_hash(to_hash32(Bytes(32, 0xff))),
              from_hex_scalar("000000000000000000000000000000014551231950b75fc4402da1732fc9bebe"));
}

TEST(CurvePoints, MultiplesOfTheGenerator) {
    // From SEC 2 and, for 2 and 3, from the list of test vectors of Bitcoin's libraries.
    EXPECT_EQ(public_point(Scalar(1)), generator());
    EXPECT_EQ(to_hex(public_point(Scalar(2)).bytes()),
              "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5");
    EXPECT_EQ(to_hex(public_point(Scalar(3)).bytes()),
              "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9");
}

TEST(CurvePoints, AllWaysToMultiplyAgree) {
    const Scalar a = any_scalar(), b = any_scalar();
    EXPECT_EQ(*times(a, generator()), public_point(a));
    EXPECT_EQ(shared_point(a, public_point(b)), shared_point(b, public_point(a)));
    EXPECT_EQ(shared_point(a, public_point(b)), public_point(a * b));
    EXPECT_EQ(*times(a, public_point(b)), public_point(a * b));
    EXPECT_EQ(*sum(std::array{public_point(a), public_point(b)}), public_point(a + b));
}

TEST(CurvePoints, InfinityIsNoPoint) {
    const Scalar a = any_scalar();
    EXPECT_FALSE(times(Scalar(), generator()).has_value());
    EXPECT_FALSE(sum(std::array{public_point(a), public_point(a.negated())}).has_value());
    EXPECT_FALSE(sum({}).has_value());
}

TEST(CurvePoints, OfTheCurveAndCompressed) {
    const CurvePoint one = generator();
    const Bytes good(one.bytes().begin(), one.bytes().end());
    EXPECT_TRUE(CurvePoint::decode(good).has_value());
    for (const std::uint8_t first : {0, 1, 4, 6}) {
        Bytes bad = good;
        bad[0] = first;
        EXPECT_FALSE(CurvePoint::decode(bad).has_value());
    }
    EXPECT_FALSE(CurvePoint::decode(View(good).first(32)).has_value());
    EXPECT_FALSE(CurvePoint::decode(Bytes(33)).has_value());
    EXPECT_FALSE(CurvePoint::decode(*from_hex("020000000000000000000000000000000000000000000000000000000000000005"))
                     .has_value());  // No y has this x.
    EXPECT_FALSE(CurvePoint::decode(*from_hex("02fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f"))
                     .has_value());  // x is the prime of the field.
}

}  // namespace
}  // namespace retrace::ledger
