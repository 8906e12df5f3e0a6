// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels::testing {

/// A program of elementwise runs, reductions and reshapes over one matrix, with states that are read and overwritten in
/// every order, to find errors of memory plans.
Program random_program(std::uint64_t seed);
/// A state for `program`.
State random_state(const Program& program, std::uint64_t seed);

}  // namespace retrace::kernels::testing
