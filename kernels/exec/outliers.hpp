// SPDX-License-Identifier: MIT
// Where the digits of products may not suffice. All values of a block of 256 terms share one scale (contract 4.2), that
// of the largest, so a block with an outlier leaves fewer digits to the others: a channel that is 256 times the rest
// costs `i8x2` two decimal digits. Nothing is computed otherwise for it: a product that needs more is asked for in
// `i8x3`.
#pragma once

#include <vector>

#include "kernels/exec/executor.hpp"

namespace retrace::kernels {

/// The crest factor of a block: its peak divided by the root mean square of its other values, zeros left out, for they
/// need no digits. 1 where there is one value; about 3 for normal data.
inline constexpr float kOutlierCrest = 8;  ///< Beyond, one value is an outlier.

struct ProductOutliers {
    std::uint32_t op = 0, input = 0;  ///< Of the program; 0 or 1.
    std::uint32_t slices = 0;         ///< 1, 2, 3 for i8x1, i8x2, i8x3.
    std::uint64_t blocks = 0;         ///< Those looked at: finite, not all zero, spread evenly, at most kOutlierBlocks.
    double outliers = 0;              ///< Share of them with a crest factor over kOutlierCrest.
    float median = 0, worst = 0;      ///< Outliers.
};

inline constexpr std::uint64_t kOutlierBlocks = 4096;  ///< Of an operand, looked at.

/// For both operands of every product by digits, in the step from `state`. Takes time and memory of a trace.
std::vector<ProductOutliers> product_outliers(Executor& executor, const Program& program, const State& state,
                                         const Inputs& inputs);

/// All of them together, for people.
struct OutlierSummary {
    std::uint64_t blocks = 0;
    double outliers = 0;              ///< Share of all blocks that were looked at.
    float median = 0;                 ///< Of the operands' medians.
    /// The operand with the largest share of outliers, then the worst crest factor; of i8x3, which has digits enough
    /// for a factor of 256, only where nothing else is there.
    ProductOutliers most;
};
/// Nothing where no block was looked at.
std::optional<OutlierSummary> summary_of(const std::vector<ProductOutliers>& products);

}  // namespace retrace::kernels
