// SPDX-License-Identifier: MIT
// Strict ABI encoding and decoding of values by type. SPEC 3.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "contracts/abi/type.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::abi {

struct Value;
using Word = Hash32;              ///< The 32 encoded bytes of an elementary static type.
using List = std::vector<Value>;  ///< Arrays and tuples.
struct Value {
    std::variant<Word, Bytes, List> data;  ///< Bytes: `bytes` and `string`.
    bool operator==(const Value&) const = default;
};

enum class AbiError : std::uint8_t {
    too_short = 1,     ///< A value reaches past the end.
    bad_offset = 2,    ///< An offset points outside the data.
    out_of_range = 3,  ///< An integer, bool, address or bytesN with bits outside its type.
    too_long = 4,      ///< More elements than the limit or the data allow.
    bad_utf8 = 5,
    not_canonical = 6,  ///< Gaps, aliased or reordered tails, nonzero padding, bytes at the end.
};
std::string_view slug(AbiError error) noexcept;

/// Encodes `value` as `type`, which is a tuple for arguments. `value` must have the shape of `type` (asserted).
Bytes encode(const Type& type, const Value& value);
/// Decodes arguments: `type` is a tuple. Accepts only bytes that `encode` produces.
Result<Value, AbiError> decode(const Type& type, View data);

/// First four bytes of keccak256(signature).
std::uint32_t selector(std::string_view signature);
/// keccak256(signature): topic 0 of an event.
Hash32 topic(std::string_view signature);
/// Topic of an indexed argument: the word itself, keccak256 of the contents for bytes and string (SPEC 3.6).
Hash32 indexed_topic(const Value& value);

}  // namespace retrace::abi
