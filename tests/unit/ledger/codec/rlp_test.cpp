// SPDX-License-Identifier: MIT
#include "ledger/codec/rlp.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/ledger/vectors.hpp"

namespace retrace::ledger::rlp {
namespace {

using test::hex;
using test::text;

void write(Encoder& out, const test::json::value& value) {
    if (value.is_string()) {
        out.bytes(hex(value));
        return;
    }
    Encoder inner;
    for (const auto& item : value.as_array()) write(inner, item);
    out.list(inner);
}

/// Decodes item by item and encodes again, which gives the same bytes for a canonical input.
void copy(Encoder& out, const Item& item) {
    if (!item.is_list) {
        out.bytes(item.payload);
        return;
    }
    Encoder inner;
    for (View rest = item.payload; !rest.empty();) copy(inner, take_item(rest).value());
    out.list(inner);
}

TEST(Rlp, AgreesWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/rlp.json");
    for (const auto& v : vectors.at("valid").as_array()) {
        SCOPED_TRACE(text(v.at("rlp")));
        Encoder out;
        write(out, v.at("value"));
        EXPECT_EQ(out.items(), hex(v.at("rlp")));
        const auto item = decode(out.items());
        ASSERT_TRUE(item);
        Encoder again;
        copy(again, *item);
        EXPECT_EQ(again.items(), out.items());
    }
}

TEST(Rlp, RefusesEveryBadEncoding) {
    const auto vectors = test::load_vectors("ethereum/rlp.json");
    for (const auto& v : vectors.at("invalid").as_array()) EXPECT_FALSE(decode(hex(v.at("rlp")))) << text(v.at("why"));
    for (const auto& v : vectors.at("invalid_as_integer").as_array()) {
        Encoder list;
        list.raw(hex(v.at("rlp")));
        const Bytes encoded = list.to_list();
        const auto item = decode(encoded);
        if (!item) continue;
        ListReader in(*item);
        in.u256();
        EXPECT_FALSE(in.ok()) << text(v.at("why"));
    }
}

TEST(Rlp, NestingIsBounded) {
    Bytes value{0xc0};
    for (int depth = 1; depth < kDepthMax; ++depth) {
        Encoder out;
        out.raw(value);
        value = out.to_list();
    }
    EXPECT_TRUE(decode(value));
    Encoder out;
    out.raw(value);
    EXPECT_EQ(decode(out.to_list()).error(), Error::too_deep);
}

TEST(Rlp, ListReaderNamesWhatIsWrong) {
    const auto error_of = [](const Encoder& fields, const auto& read) {
        const Bytes encoded = fields.to_list();
        ListReader in(decode(encoded).value());
        read(in);
        const auto end = in.finish();
        return end ? std::optional<Error>() : end.error();
    };
    const auto u64 = [](ListReader& in) { in.u64(); };
    EXPECT_EQ(error_of(Encoder().u64(7), u64), std::nullopt);
    EXPECT_EQ(error_of(Encoder(), u64), Error::missing);
    EXPECT_EQ(error_of(Encoder().u64(7).u64(8), u64), Error::trailing);
    EXPECT_EQ(error_of(Encoder().u256(U256{1} * U256::from_be(Bytes{1, 0, 0, 0, 0, 0, 0, 0, 0})), u64),
              Error::too_large);
    EXPECT_EQ(error_of(Encoder().bytes(Bytes{0}), u64), Error::leading_zero);
    EXPECT_EQ(error_of(Encoder().bytes(Bytes(33, 1)), u64), Error::too_large);
    EXPECT_EQ(error_of(Encoder().list(Encoder()), u64), Error::not_a_string);
    EXPECT_EQ(error_of(Encoder().u64(1), [](ListReader& in) { in.adopt(in.list()); }), Error::not_a_list);
    EXPECT_EQ(error_of(Encoder().bytes(Bytes(19)), [](ListReader& in) { in.fixed(20); }), Error::wrong_size);
    EXPECT_EQ(error_of(Encoder().bytes(Bytes(9)), [](ListReader& in) { in.bytes_up_to(8); }), Error::too_large);
}

TEST(Rlp, DecoderNeverLeavesItsInput) {
    // Random and damaged bytes: accepted inputs are canonical, and the sanitizers check the rest.
    std::mt19937_64 random(11);
    for (int i = 0; i < 50'000; ++i) {
        Bytes input(random() % 80);
        for (auto& b : input) b = static_cast<std::uint8_t>(random() % 4 == 0 ? 0xb7 + random() % 0x48 : random());
        const auto item = decode(input);
        if (!item) continue;
        Encoder again;
        copy(again, *item);
        ASSERT_EQ(again.items(), input) << "case " << i;
    }
}

}  // namespace
}  // namespace retrace::ledger::rlp
