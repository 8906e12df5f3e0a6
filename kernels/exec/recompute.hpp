// SPDX-License-Identifier: MIT
// Time for memory: what a step keeps from its forward pass for the backward pass, but could compute again
// element by element from what it keeps anyway.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

struct RecomputeLimits {
    std::uint64_t bytes = 4 << 20;  ///< Of an output that is worth it.
    std::uint32_t gap = 32;         ///< Ops between two readers from which on the later one computes it anew.
    /// A product of at most so many terms an element may be computed anew on the way to such an output: attention's
    /// weights, from queries and keys. 0: none.
    std::uint64_t product_terms = 0;
    /// What is computed again may cost so much of the step (step_cost), for clocks are set by the program alone.
    std::uint64_t cost_percent = 25;
};

/// The same states, constants, data sets and metrics, to the bit; some ops are there twice. The
/// executor runs it in place of the program; traces, roots and op numbers are always those of the program
/// itself.
Program rematerialise(const Program& program, const RecomputeLimits& limits = {});

}  // namespace retrace::kernels
