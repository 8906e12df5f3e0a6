// SPDX-License-Identifier: MIT
// One known-answer case of a file (format: tests/vectors/numerics/README.md): inputs generated from seeds, the output
// given by its hash and, if it is short, word by word.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "merkle/base/json.hpp"

namespace retrace::kernels::tools {

using Words = std::vector<std::uint32_t>;

inline constexpr std::uint64_t kCaseElementsMax = std::uint64_t{1} << 28;  ///< Maximum elements of one operand or
                                                                           ///< result.

/// A case with its generated inputs.
struct KnownAnswer {
    std::string name, op, precision, function;
    std::vector<std::vector<float>> inputs;
    std::uint64_t rows = 0, cols = 0,
                  depth = 0;                  ///< M, N, K of a product; rows and cols of a reduction; 1 and n.
    std::vector<std::uint32_t> counter, key;  ///< Philox only, word 0 first.
    std::string sha256;                       ///< SHA-256 of the output words, little endian.
    std::uint64_t words = 0;
    Words output;  ///< The words themselves; empty if the file has only their hash.

    bool is_matmul() const { return op == "matmul"; }
};

/// Reads a case. The error names the member that is missing or out of range, or an `out_hex` that does not have the
/// hash `sha256`.
Result<KnownAnswer> read_case(const Json& json);

/// SHA-256 of the words, little endian, in lower-case hex.
std::string digest_of(const Words& words);

}  // namespace retrace::kernels::tools
