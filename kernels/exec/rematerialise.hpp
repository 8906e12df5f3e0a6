// SPDX-License-Identifier: MIT
// Trades time for memory: values that a step would keep from its forward pass for the backward pass are recomputed,
// element by element, from values that it keeps anyway.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

struct RematerialiseLimits {
    std::uint64_t bytes = 4 << 20;  ///< Minimum bytes of an output that is recomputed.
    std::uint32_t gap = 32;         ///< Minimum distance in ops of two readers for the later one to recompute.
    /// A product with at most this many terms per element may be recomputed on the way to such an output, for example
    /// attention's weights from queries and keys. 0: no products.
    std::uint64_t product_terms = 0;
    /// Maximum cost of the recomputed ops, in percent of step_cost, because deadlines are computed from the program
    /// alone.
    std::uint64_t cost_percent = 25;
};

/// Returns a program with the same states, constants, data sets and metrics, to the bit, in which some ops occur twice.
/// The executor runs it instead of the program; traces, roots and op numbers are always those of the program itself.
Program rematerialise(const Program& program, const RematerialiseLimits& limits = {});

}  // namespace retrace::kernels
