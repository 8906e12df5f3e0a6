// SPDX-License-Identifier: MIT
// Compares the ABI codec with encodings made by ethers and viem (tests/vectors/ethereum).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "contracts/abi/codec.hpp"
#include "contracts/abi/typed.hpp"
#include "contracts/calls/encode.hpp"
#include "ledger/types/u256.hpp"

namespace retrace::abi {
namespace {

namespace json = boost::json;
using ledger::U256;

json::object read_vectors() {
    std::ifstream file(std::string(RETRACE_VECTORS) + "/ethereum/abi.json");
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_object();
}

const json::object& vectors() {
    static const json::object all = read_vectors();
    return all;
}

Bytes hex(const json::value& value) { return from_hex(std::string(value.as_string())).value(); }

Word integer(const json::value& value) {
    if (value.is_bool()) return word_from(U256(value.as_bool() ? 1 : 0));
    const std::string text =
        value.is_string() ? std::string(value.as_string()) : std::to_string(value.to_number<long long>());
    if (text.starts_with("0x")) return word_from(U256::from_be(from_hex(text).value()));
    const bool negative = text.starts_with('-');
    const U256 magnitude = U256::from_decimal(negative ? text.substr(1) : text).value();
    // Two's complement: ~(m - 1).
    Word word = word_from(negative ? magnitude - U256(1) : magnitude);
    if (negative)
        for (auto& byte : word.bytes) byte = static_cast<std::uint8_t>(~byte);
    return word;
}

Value value_of(const Type& type, const json::value& value) {
    using Kind = Type::Kind;
    switch (type.kind) {
        case Kind::uint:
        case Kind::sint:
        case Kind::boolean: return {integer(value)};
        case Kind::address:
        case Kind::fixed_bytes: {
            const Bytes bytes = hex(value);
            Word word;
            std::copy(bytes.begin(), bytes.end(), word.bytes.begin() + (type.kind == Kind::address ? 12 : 0));
            return {word};
        }
        case Kind::bytes: return {hex(value)};
        case Kind::string: return {to_bytes(view(std::string_view(value.as_string())))};
        default: break;
    }
    List list;
    std::size_t i = 0;
    const auto add = [&](const json::value& item) {
        list.push_back(value_of(type.kind == Kind::tuple ? type.parts[i] : type.parts[0], item));
        ++i;
    };
    if (value.is_object())
        for (const auto& member : value.as_object()) add(member.value());
    else
        for (const auto& item : value.as_array()) add(item);
    return {list};
}

TEST(Abi, EncodesAndDecodesAsEthers) {
    for (const auto& vector : vectors().at("functions").as_array()) {
        const std::string signature(vector.at("signature").as_string());
        const Type type = parse_signature(signature).value();
        const Value value = value_of(type, vector.at("args"));
        const Bytes calldata = hex(vector.at("calldata"));
        const Bytes arguments(calldata.begin() + 4, calldata.end());
        EXPECT_EQ(to_0x(View(calldata).first(4)), std::string(vector.at("selector").as_string())) << signature;
        std::uint32_t number = 0;
        for (int i = 0; i < 4; ++i) number = number << 8 | calldata[static_cast<std::size_t>(i)];
        EXPECT_EQ(selector(signature), number) << signature;
        EXPECT_EQ(to_hex(encode(type, value)), to_hex(arguments)) << signature;
        const auto back = decode(type, arguments);
        ASSERT_TRUE(back.has_value()) << signature << " " << slug(back.error());
        EXPECT_EQ(*back, value) << signature;
    }
}

TEST(Abi, RefusesWhatStrictDecodersRefuse) {
    for (const auto& vector : vectors().at("decode_errors_strict").as_array()) {
        const Type type = parse_signature("f(" + std::string(vector.at("type").as_string()) + ")").value();
        EXPECT_FALSE(decode(type, hex(vector.at("data"))).has_value()) << vector.at("why").as_string();
    }
}

TEST(Abi, NamesTheErrors) {
    const auto error_of = [](std::string_view signature, std::string_view data) {
        return decode(parse_signature(signature).value(), from_hex(data).value()).error();
    };
    const std::string zero(64, '0'), one = std::string(63, '0') + "1", offset = std::string(62, '0') + "20";
    EXPECT_EQ(error_of("f(uint256)", "00"), AbiError::too_short);
    EXPECT_EQ(error_of("f(uint8)", std::string(61, '0') + "100"), AbiError::out_of_range);
    EXPECT_EQ(error_of("f(bytes)", std::string(64, 'f')), AbiError::bad_offset);
    EXPECT_EQ(error_of("f(uint8[])", offset + std::string(56, '0') + "ffffffff"), AbiError::too_long);
    EXPECT_EQ(error_of("f(string)", offset + one + "ff" + std::string(62, '0')), AbiError::bad_utf8);
    EXPECT_EQ(error_of("f(uint256)", one + zero), AbiError::not_canonical) << "bytes at the end";
    EXPECT_EQ(error_of("f(bytes)", offset + one + "ff" + std::string(61, '0') + "1"), AbiError::not_canonical);
    EXPECT_EQ(error_of("f(uint8[][])", offset + std::string(63, '0') + "2" + zero + zero), AbiError::not_canonical)
        << "aliased tails";
}

TEST(Abi, EveryTruncationIsRefused) {
    for (const auto& vector : vectors().at("functions").as_array()) {
        const Type type = parse_signature(std::string(vector.at("signature").as_string())).value();
        const Bytes calldata = hex(vector.at("calldata"));
        for (std::size_t size = 4; size < calldata.size(); ++size)
            EXPECT_FALSE(decode(type, View(calldata).first(size).subspan(4)).has_value());
    }
}

TEST(Abi, AFlippedByteDecodesToAnotherValueOrNotAtAll) {
    std::mt19937 random(7);
    for (const auto& vector : vectors().at("functions").as_array()) {
        const Type type = parse_signature(std::string(vector.at("signature").as_string())).value();
        const Bytes calldata = hex(vector.at("calldata"));
        if (calldata.size() == 4) continue;
        for (int i = 0; i < 300; ++i) {
            Bytes bad(calldata.begin() + 4, calldata.end());
            bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
            const auto value = decode(type, bad);
            if (value) {
                EXPECT_EQ(encode(type, *value), bad);
            }
        }
    }
}

TEST(Abi, AliasedListsCannotDescribeMuchWithLittle) {
    // Every element of each level points at the same tail: 64^4 values in a few kilobytes.
    const Type type = parse_signature("f(uint256[][][][])").value();
    Bytes data;
    const auto word = [&](std::uint64_t v) {
        const Word w = word_from(U256(v));
        data.insert(data.end(), w.bytes.begin(), w.bytes.end());
    };
    word(32);
    for (int level = 0; level < 3; ++level) {
        word(64);
        for (int i = 0; i < 64; ++i) word(64 * 32);
    }
    word(64);
    for (int i = 0; i < 64; ++i) word(1);
    EXPECT_EQ(decode(type, data).error(), AbiError::too_long);
}

TEST(Abi, EventsHaveTheTopicsOfEthers) {
    for (const auto& vector : vectors().at("events").as_array()) {
        const std::string signature(vector.at("signature").as_string());
        EXPECT_EQ(to_0x(view(topic(signature))), std::string(vector.at("topic0").as_string()));
        const Type type = parse_signature(signature).value();
        const Value all = value_of(type, vector.at("args"));
        const auto& values = std::get<List>(all.data);
        const auto& topics = vector.at("topics").as_array();
        // In the vectors, the first arguments are the indexed ones.
        Type rest = type;
        List plain = values;
        for (std::size_t i = 1; i < topics.size(); ++i) {
            EXPECT_EQ(to_0x(view(indexed_topic(values[i - 1]))), std::string(topics[i].as_string())) << signature;
            rest.parts.erase(rest.parts.begin());
            plain.erase(plain.begin());
        }
        EXPECT_EQ(to_0x(encode(rest, {plain})), std::string(vector.at("data").as_string())) << signature;
    }
}

TEST(Abi, ErrorsAreEncodedAsCalls) {
    for (const auto& vector : vectors().at("errors").as_array()) {
        const std::string signature(vector.at("signature").as_string());
        const Type type = parse_signature(signature).value();
        const Bytes data = hex(vector.at("data"));
        EXPECT_EQ(to_hex(encode(type, value_of(type, vector.at("args")))), to_hex(View(data).subspan(4))) << signature;
    }
}

TEST(Abi, TypesAreParsedStrictly) {
    for (const char* good : {"uint8", "int256", "bytes32", "bytes", "(uint8,(bool)[2])[]", "address[3][]", "()"})
        EXPECT_EQ(parse_type(good).value().name(), good);
    for (const char* bad : {"", "uint", "uint7", "uint0", "uint264", "uint08", "bytes0", "bytes33", "bytes032", "foo",
                            "(uint8", "uint8]", "uint8[", "uint8[0]", "uint8[99999999999]", " uint8", "uint8,",
                            "uint8[][][][][][][][][]", "((((((((((uint8))))))))))"})
        EXPECT_FALSE(parse_type(bad).has_value()) << bad;
}

TEST(Abi, CallsAndEventsComeBackAsTheyWere) {
    using namespace contracts;
    const CommitBid bid{7, to_hash32(Bytes(32, 3))};
    const Bytes data = calldata(bid);
    const auto back = decode_struct<CommitBid>(View(data).subspan(4)).value();
    EXPECT_EQ(back.task, bid.task);
    EXPECT_EQ(back.commitment, bid.commitment);
    EXPECT_EQ(signature_of<CommitBid>(), "commitBid(uint64,bytes32)");
    EXPECT_EQ(signature_of<PlayMove>(), "move(uint64,bytes)");

    DisputeDecided event;
    event.dispute = 3;
    event.loser.bytes[0] = 9;
    event.evidence_bytes = 1234;
    const ledger::Log log = to_log(event);
    EXPECT_EQ(log.topics.size(), 3u);
    EXPECT_EQ(decode_event<DisputeDecided>(log)->evidence_bytes, 1234u);
    EXPECT_TRUE(std::holds_alternative<DisputeDecided>(decode_any_event(log).value()));
    EXPECT_FALSE(decode_event<DisputeMoved>(log).has_value());
    ledger::Log cut = log;
    cut.data.pop_back();
    EXPECT_FALSE(decode_event<DisputeDecided>(cut).has_value());
    EXPECT_FALSE(decode_refusal(Bytes{1, 2, 3}).has_value());
}

}  // namespace
}  // namespace retrace::abi
