// SPDX-License-Identifier: MIT
// Programs of a single layer with patterns that the executor fuses, for the tests of fusion and its benchmark. Inputs
// are state tensors that never change; results are state tensors that no op reads.
#pragma once

#include <string>
#include <vector>

#include "kernels/program/program.hpp"

namespace retrace::kernels::testing {

struct FusedPattern {
    std::string name;
    Program program;
};

Program layer_norm_program(std::uint64_t rows, std::uint64_t width);
Program rms_norm_program(std::uint64_t rows, std::uint64_t width);
Program softmax_cross_entropy_program(std::uint64_t rows, std::uint64_t classes);
Program bias_gelu_program(std::uint64_t rows, std::uint64_t width);
Program attention_program(std::uint64_t heads, std::uint64_t tokens, std::uint64_t depth, bool causal);
Program adamw_program(std::uint64_t rows, std::uint64_t width);

/// All patterns at small size, with awkward extents: rows and classes of 1, primes, more than one level of 256.
std::vector<FusedPattern> fused_patterns();

}  // namespace retrace::kernels::testing
