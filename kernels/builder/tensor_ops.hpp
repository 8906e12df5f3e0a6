// SPDX-License-Identifier: MIT
// Operations on tensors of any rank with PyTorch's broadcasting, and their gradients, from which imported models are
// built.
#pragma once

#include "kernels/builder/tape.hpp"

namespace retrace::kernels {

/// Returns the extents to which all of these broadcast (aligned at the last axis, 1 stretches); nothing if they do not.
std::optional<Dims> broadcast_shape(const std::vector<Dims>& shapes);
/// Broadcasts x of any type to `dims`. No gradient.
Value spread(Graph& g, Value x, const Dims& dims);
/// Returns the sum over the axes along which `dims` was stretched: the gradient of `spread`.
Value sum_to(Graph& g, Value x, const Dims& dims);
/// Applies an elementwise op to operands that broadcast, without gradient (comparisons, logic).
Value elementwise(Graph& g, OpCode code, std::vector<Value> operands);

Value broadcast_to(Tape& tape, Value x, const Dims& dims);
/// add, sub, mul, div.
Value binary(Tape& tape, OpCode code, Value a, Value b);
/// neg, abs, exp, log, tanh, sigmoid, erf, sqrt, rsqrt.
Value unary(Tape& tape, OpCode code, Value x);
/// x to a constant power.
Value power(Tape& tape, Value x, float exponent);
/// Selects a where the condition (bool) holds, else b; all three broadcast.
Value choose(Tape& tape, Value condition, Value a, Value b);
/// Clamps x to [low, high]; the gradient passes inside and at the bounds.
Value clamp(Tape& tape, Value x, float low, float high);

/// Softmax over one axis.
Value softmax(Tape& tape, Value x, std::size_t axis);
Value log_softmax(Tape& tape, Value x, std::size_t axis);
/// Reductions over some axes (ascending), which are removed or, with `keep`, stay with extent 1.
Value sum_axes(Tape& tape, Value x, const std::vector<std::size_t>& axes, bool keep);
Value mean_axes(Tape& tape, Value x, const std::vector<std::size_t>& axes, bool keep);

/// Returns elements [start, start + extent) of one axis.
Value part_of(Tape& tape, Value x, std::size_t axis, std::uint64_t start, std::uint64_t extent);
/// Concatenates at most 64 values.
Value joined(Tape& tape, const std::vector<Value>& values, std::size_t axis);
/// Pads every axis with `before` and `after` elements of `value`.
Value padded(Tape& tape, Value x, const Dims& before, const Dims& after, float value);

/// a[..., m, k] · b[..., k, n]; leading axes broadcast. Both of rank 2 or more.
Value matrix_product(Tape& tape, Value a, Value b, Precision precision);

}  // namespace retrace::kernels
