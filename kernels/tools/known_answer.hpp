// SPDX-License-Identifier: MIT
// One known-answer case of a file (format: tests/vectors/numerics/README.md): inputs from seeds, output by
// its hash, and word by word where it is short.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tools/json.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels::tools {

using Words = std::vector<std::uint32_t>;

inline constexpr std::uint64_t kCaseElementsMax = std::uint64_t{1} << 28;  ///< Of one operand or result.

/// What a case asks for, inputs generated.
struct KnownAnswer {
    std::string name, op, precision, function;
    std::vector<std::vector<float>> inputs;
    std::uint64_t rows = 0, cols = 0,
                  depth = 0;  ///< M, N, K of a product; rows and cols of a reduction; 1 and n.
    std::vector<std::uint32_t> counter, key;  ///< Philox only, word 0 first.
    std::string sha256;                       ///< Over the output words, little endian.
    std::uint64_t words = 0;
    Words output;  ///< The words themselves; empty where the file has their hash alone.

    bool is_matmul() const { return op == "matmul"; }
};

/// Errors name the member: one that is missing or out of range, an `out_hex` that `sha256` is not the hash of.
Result<KnownAnswer> read_case(const Json& json);

/// SHA-256 of the words, little endian, in lower-case hex.
std::string digest_of(const Words& words);

}  // namespace retrace::kernels::tools
