// SPDX-License-Identifier: MIT
// One small program for each op kind: the op's inputs are state tensors that never change, and its output is the next
// value of another one, so a dispute about that state goes straight to the op.
#pragma once

#include <string>
#include <vector>

#include "kernels/program/codec.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::test {

struct OpCase {
    std::string name;
    kernels::Program program;
    kernels::State start;
};

/// Contains every op code of the kernel library at least once, and several shapes for chains.
std::vector<OpCase> op_cases();

/// y = x·w (f32 and i8x2 by case), bias, relu and a second product, updating both weights: several ops and
/// tensors.
OpCase small_training();

}  // namespace retrace::test
