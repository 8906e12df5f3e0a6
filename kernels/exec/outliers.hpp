// SPDX-License-Identifier: MIT
// Finds products whose digits may not suffice. All values of a block of 256 terms share one scale (contract 4.2), that
// of the largest, so an outlier leaves fewer digits for the others: a channel 256 times larger than the rest costs
// `i8x2` two decimal digits. The results of this analysis do not change any computation; a product that needs more
// digits must be requested in `i8x3`.
#pragma once

#include <vector>

#include "kernels/exec/executor.hpp"

namespace retrace::kernels {

/// The crest factor of a block is its peak divided by the root mean square of its other values; zeros are left out
/// because they need no digits. It is 1 where there is one value and about 3 for normal data.
inline constexpr float kOutlierCrest = 8;  ///< A block with a crest factor above this has an outlier.

struct ProductOutliers {
    std::uint32_t op = 0, input = 0;  ///< Op number in the program; operand 0 or 1.
    std::uint32_t slices = 0;         ///< 1, 2, 3 for i8x1, i8x2, i8x3.
    std::uint64_t blocks = 0;         ///< Blocks examined: finite, not all zero, evenly spread, at most kOutlierBlocks.
    double outliers = 0;              ///< Share of these blocks with a crest factor above kOutlierCrest.
    float median = 0, worst = 0;      ///< Median and maximum of their crest factors.
};

inline constexpr std::uint64_t kOutlierBlocks = 4096;  ///< Maximum number of blocks that are examined per operand.

/// Examines both operands of every product by digits in the step from `state`. Takes the time and memory of a trace.
std::vector<ProductOutliers> product_outliers(Executor& executor, const Program& program, const State& state,
                                              const Inputs& inputs);

/// A summary of all operands, for display.
struct OutlierSummary {
    std::uint64_t blocks = 0;
    double outliers = 0;  ///< Share of outliers among all examined blocks.
    float median = 0;     ///< Median of the operands' medians.
    /// The operand with the largest share of outliers, then the largest crest factor. An operand of an i8x3 product,
    /// which has enough digits for a factor of 256, is chosen only if there is no other.
    ProductOutliers most;
};
/// Returns nothing if no block was examined.
std::optional<OutlierSummary> summary_of(const std::vector<ProductOutliers>& products);

}  // namespace retrace::kernels
