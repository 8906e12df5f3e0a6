// SPDX-License-Identifier: MIT
// The ABI codec: data that decodes is the encoding of its value byte for byte, a naive reader accepts the same data and
// finds the same values, and type names are parsed strictly.
#include "contracts/abi/codec.hpp"
#include "tests/fuzz/contracts/naive_abi.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

constexpr std::string_view kSignatures[] = {
    "f()",
    "f(uint64)",
    "f(uint8,int16,bool,address,bytes4,bytes32)",
    "f(bytes,string)",
    "f(uint256[],bytes[])",
    "f((uint64,string),uint8[3])",
    "f((bytes,(address,bytes32)[])[],string[2])",
    "f(uint64,uint32,uint64,bytes32[],bytes32[])",
    "f((string,bytes32[],uint256)[2][],int256,(bool,uint16)[2])",
};

/// A sample value of the type: small numbers, two elements in every array.
abi::Value sample(const abi::Type& type) {
    using Kind = abi::Type::Kind;
    switch (type.kind) {
        case Kind::bytes:
        case Kind::string: return {Bytes(33, 'a')};
        case Kind::array: return {abi::List{sample(type.parts[0]), sample(type.parts[0])}};
        case Kind::fixed_array: return {abi::List(type.length, sample(type.parts[0]))};
        case Kind::tuple: {
            abi::List members;
            for (const abi::Type& part : type.parts) members.push_back(sample(part));
            return {std::move(members)};
        }
        default: break;
    }
    abi::Word word;
    word.bytes[type.kind == Kind::fixed_bytes ? 0 : 31] = 1;
    return {word};
}

/// Formats a value as the naive reader does.
std::string shown(const abi::Value& value) {
    if (const auto* word = std::get_if<abi::Word>(&value.data)) return to_hex(view(*word)) + ",";
    if (const auto* bytes = std::get_if<Bytes>(&value.data)) return to_hex(*bytes) + ".";
    std::string out = "[";
    for (const abi::Value& part : std::get<abi::List>(value.data)) out += shown(part);
    return out + "]";
}

void parse_name(View bytes) {
    const std::string text(bytes.begin(), bytes.end());
    const auto type = abi::parse_type(text);
    if (!type) return;
    require(type->name() == text, "a type has one name");
    (void)type->head_size();
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    std::uint8_t number = 0;
    for (const std::string_view signature : kSignatures) {
        const auto type = abi::parse_signature(signature);
        require(type.has_value(), "the signatures of this file are right");
        out.push_back(with_kind(number++, abi::encode(*type, sample(*type))));
        out.push_back(with_kind(static_cast<std::uint8_t>(std::size(kSignatures)), view(type->name())));
    }
    return out;
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(std::size(kSignatures) + 1);
    const View bytes = choices.rest();
    if (kind == std::size(kSignatures)) return parse_name(bytes);
    const auto type = abi::parse_signature(kSignatures[kind]);
    const auto value = abi::decode(*type, bytes);
    const auto naive = NaiveAbi::read(std::string(kSignatures[kind].substr(1)), to_bytes(bytes));
    require(value.has_value() == naive.has_value(), "the codec takes what the naive reader takes");
    if (!value) return;
    require(shown(*value) == *naive, "and finds the same values in it");
    require(equal(abi::encode(*type, *value), bytes), "one value has one encoding");
}

}  // namespace retrace::fuzz
