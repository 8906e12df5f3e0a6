// SPDX-License-Identifier: MIT
// Solidity ABI types, parsed from their canonical names. SPEC 3 (source: docs.soliditylang.org, "Contract ABI
// Specification").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::abi {

struct Type {
    enum class Kind : std::uint8_t {
        uint,
        sint,
        boolean,
        address,
        fixed_bytes,
        bytes,
        string,
        array,
        fixed_array,
        tuple,
    };
    Kind kind = Kind::uint;
    std::uint16_t size = 256;  ///< Bits of uint and sint; bytes of fixed_bytes.
    std::uint32_t length = 0;  ///< Elements of a fixed array.
    std::vector<Type> parts;   ///< Element of an array, members of a tuple.

    bool operator==(const Type&) const = default;
    bool is_dynamic() const;
    /// Bytes of this type in the head of an enclosing tuple: 32 for a dynamic type.
    std::size_t head_size() const;
    std::string name() const;
};

inline constexpr std::size_t kTypeDepthMax = 8;
inline constexpr std::uint32_t kFixedArrayMax = 1024;

/// Parses a type such as "uint64" or "(address,bytes4[])[]". Aliases ("uint"), blanks and sizes that Solidity lacks are
/// errors.
Result<Type> parse_type(std::string_view text);
/// Parses the parameter types of "name(type,…)" into a tuple.
Result<Type> parse_signature(std::string_view text);

}  // namespace retrace::abi
