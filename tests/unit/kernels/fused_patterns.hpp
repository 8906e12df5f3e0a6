// SPDX-License-Identifier: MIT
// One layer at a time as a program: what the executor fuses, for the tests of fusion and its benchmark.
// Inputs are state tensors that never change, results state tensors that nobody reads.
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

/// All of them, small, with extents that divide nothing: rows and classes of 1, primes, more than one level
/// of 256.
std::vector<FusedPattern> fused_patterns();

}  // namespace retrace::kernels::testing
