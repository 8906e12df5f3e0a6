// SPDX-License-Identifier: MIT
// Checks gradients of layers against finite differences of the loss.
#pragma once

#include <functional>
#include <vector>

#include "kernels/builder/tape.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels::testing {

/// Builds logits [rows, classes] from parameters (state tensors).
using Forward = std::function<Value(Tape&, const std::vector<Value>& parameters)>;

struct GradientProgram {
    Program program;  ///< The next state is the gradients, and the metric "loss" is a cross entropy with labels 0, 1,
                      ///< 2, …
    State state;      ///< Irregular parameters in [-1, 1).
};
GradientProgram gradient_program(const std::vector<Dims>& shapes, const Forward& forward);

/// Expects the gradients of a sample of parameter elements to equal the slope of the loss.
void expect_gradients(const std::vector<Dims>& shapes, const Forward& forward);

/// The irregular values of the parameters.
Tensor noise(Dims dims, std::uint32_t seed);

}  // namespace retrace::kernels::testing
