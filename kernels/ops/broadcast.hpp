// SPDX-License-Identifier: MIT
// Broadcasting along one axis: viewed as matrices, an operand of an output [rows, cols] is full, a row vector [1,
// cols], a column vector [rows, 1] or a scalar [1, 1].
#pragma once

#include <optional>

#include "kernels/ops/spread.hpp"
#include "kernels/program/program.hpp"

namespace retrace::kernels {

inline std::optional<Spread> spread_of(const Geometry& output, const Geometry& operand) noexcept {
    if (operand.rows == output.rows && operand.cols == output.cols) return Spread::full;
    if (operand.rows == 1 && operand.cols == 1) return Spread::scalar;
    if (operand.rows == 1 && operand.cols == output.cols) return Spread::row;
    if (operand.cols == 1 && operand.rows == output.rows) return Spread::column;
    return std::nullopt;
}

/// Returns the operand's element that belongs to an element of the output.
inline std::uint64_t spread_index(Spread spread, const Geometry& output, std::uint64_t element) noexcept {
    switch (spread) {
        case Spread::full: return element;
        case Spread::row: return element % output.cols;
        case Spread::column: return element / output.cols;
        case Spread::scalar: break;
    }
    return 0;
}

}  // namespace retrace::kernels
