// SPDX-License-Identifier: MIT
// Functions that several lowerings share: choices along an axis, linear maps of an axis, functions with their slopes.
#pragma once

#include <functional>

#include "kernels/builder/tape.hpp"
#include "kernels/builder/tensor_ops.hpp"
#include "solver/import/lowerings.hpp"

namespace retrace::solver {

/// Gives `function` x with one axis moved to the end, and moves it back.
kernels::Value along(kernels::Tape& tape, kernels::Value x, std::size_t axis,
                     const std::function<kernels::Value(kernels::Value)>& function);
/// Elements of one axis by number (int32 [m]), in that order; a number may occur again. The gradient is a
/// scatter-add.
kernels::Value picked(kernels::Tape& tape, kernels::Value x, std::size_t axis, kernels::Value index);
kernels::Value picked(kernels::Tape& tape, kernels::Value x, std::size_t axis, const std::vector<std::int64_t>& index);
/// A constant matrix [out][in], row by row, times the elements along an axis, in f32.
kernels::Value mapped_along(kernels::Tape& tape, kernels::Value x, std::size_t axis, std::uint64_t out,
                            const std::vector<float>& matrix);
/// `gap - 1` zeros between the elements of an axis.
kernels::Value stretched(kernels::Tape& tape, kernels::Value x, std::size_t axis, std::uint64_t gap);
/// The last axis repeats `times` as a whole: [a, b] becomes [a, b, a, b].
kernels::Value repeated(kernels::Tape& tape, kernels::Value x, std::size_t axis, std::uint64_t times);
/// Any number of values (an op joins at most 64).
kernels::Value joined_all(kernels::Tape& tape, std::vector<kernels::Value> values, std::size_t axis);

/// y, a function of x alone, with its gradient dy · slope().
kernels::Value with_slope(kernels::Tape& tape, kernels::Value x, kernels::Value y,
                          std::function<kernels::Value()> slope);
/// √x with a gradient of 0 where it is 0 (as torch.std and torch.norm have it).
kernels::Value root_of(kernels::Tape& tape, kernels::Value x);
/// log(1 + x) for x ≥ 0 to the last bits, without gradient.
kernels::Value log_of_one_more(kernels::Graph& g, kernels::Value x);
/// log(1 + eˣ).
kernels::Value softplus(kernels::Tape& tape, kernels::Value x);

/// fp32 or int32 constants from numbers.
kernels::Value constant_of(kernels::Graph& g, const kernels::Dims& dims, const std::vector<float>& values);
kernels::Value constant_of(kernels::Graph& g, const std::vector<std::int64_t>& values);

/// Extents before an axis, of it, and after it.
struct Around {
    std::uint64_t before = 1, extent = 1, after = 1;
};
Around around(const kernels::Dims& dims, std::size_t axis);

}  // namespace retrace::solver
