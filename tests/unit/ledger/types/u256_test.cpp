// SPDX-License-Identifier: MIT
// Compares with boost::multiprecision::cpp_int, an independent implementation.
#include "ledger/types/u256.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <random>

namespace retrace::ledger {
namespace {

using boost::multiprecision::cpp_int;

const cpp_int kModulus = cpp_int(1) << 256;

cpp_int big(const U256& v) {
    cpp_int out = 0;
    for (int i = 3; i >= 0; --i) out = (out << 64) | v.limbs()[static_cast<std::size_t>(i)];
    return out;
}

U256 random_u256(std::mt19937_64& random) {
    // Many values near limb boundaries: runs of zero and one bits of random length.
    std::array<std::uint8_t, 32> be{};
    for (std::size_t at = 0; at < 32;) {
        const std::size_t run = 1 + random() % 9;
        const auto kind = random() % 3;
        for (std::size_t i = 0; i < run && at < 32; ++i, ++at) {
            be[at] = static_cast<std::uint8_t>(kind == 0 ? 0x00 : kind == 1 ? 0xff : random());
        }
    }
    const std::size_t size = random() % 33;
    return U256::from_be(View(be).subspan(32 - size));
}

TEST(U256, AgreesWithItsTwin) {
    std::mt19937_64 random(20260801);
    for (int i = 0; i < 20'000; ++i) {
        SCOPED_TRACE("case " + std::to_string(i));
        const U256 a = random_u256(random);
        const U256 b = random_u256(random);
        const cpp_int x = big(a);
        const cpp_int y = big(b);
        ASSERT_EQ(a < b, x < y);
        ASSERT_EQ(a == b, x == y);
        const auto sum = checked_add(a, b);
        ASSERT_EQ(sum.has_value(), x + y < kModulus);
        if (sum) {
            ASSERT_EQ(big(*sum), x + y);
        }
        const auto difference = checked_sub(a, b);
        ASSERT_EQ(difference.has_value(), x >= y);
        if (difference) {
            ASSERT_EQ(big(*difference), x - y);
        }
        const auto product = checked_mul(a, b);
        ASSERT_EQ(product.has_value(), x * y < kModulus);
        if (product) {
            ASSERT_EQ(big(*product), x * y);
        }
        if (!b.is_zero()) {
            ASSERT_EQ(big(a / b), x / y);
            ASSERT_EQ(big(a % b), x % y);
        }
        const U256 c = random_u256(random);
        if (!c.is_zero() && x * y / big(c) < kModulus) {
            ASSERT_EQ(big(mul_div(a, b, c)), x * y / big(c));
        }
        ASSERT_EQ(a.to_decimal(), x.str());
        ASSERT_EQ(U256::from_decimal(x.str()), a);
        const auto be = a.to_be();
        ASSERT_EQ(U256::from_be(be), a);
    }
}

TEST(U256, DecimalRefusesWhatIsNoNumber) {
    EXPECT_FALSE(U256::from_decimal(""));
    EXPECT_FALSE(U256::from_decimal("-1"));
    EXPECT_FALSE(U256::from_decimal("+1"));
    EXPECT_FALSE(U256::from_decimal("1e3"));
    EXPECT_FALSE(U256::from_decimal(" 1"));
    EXPECT_FALSE(U256::from_decimal(kModulus.str()));
    EXPECT_EQ(U256::from_decimal(cpp_int(kModulus - 1).str()), U256::max());
    EXPECT_EQ(U256::from_decimal("000"), U256{});
}

TEST(U256, QuantityHasNoLeadingZeros) {
    EXPECT_EQ(U256{}.to_quantity(), "0x0");
    EXPECT_EQ(U256{255}.to_quantity(), "0xff");
    EXPECT_EQ(U256{0x1000}.to_quantity(), "0x1000");
    EXPECT_EQ(U256::max().to_quantity(), "0x" + std::string(64, 'f'));
}

TEST(U256, DecimalKeepsZerosBetweenChunks) {
    const U256 power = *U256::from_decimal("100000000000000000000000000000000000000000001");
    EXPECT_EQ(power.to_decimal(), "100000000000000000000000000000000000000000001");
    EXPECT_EQ(U256{}.to_decimal(), "0");
}

TEST(U256DeathTest, BrokenBoundsAbort) {
    EXPECT_DEATH((void)(U256::max() + 1), "overflow");
    EXPECT_DEATH((void)(U256{} - 1), "below zero");
    EXPECT_DEATH((void)(U256::max() * 2), "overflow");
    EXPECT_DEATH((void)(U256{1} / 0), "division by zero");
    EXPECT_DEATH((void)mul_div(U256::max(), 2, 1), "overflow");
    EXPECT_DEATH((void)U256::from_be(Bytes(33)), "32 bytes");
}

}  // namespace
}  // namespace retrace::ledger
