// SPDX-License-Identifier: MIT
// Operations on tensors of any rank with PyTorch's broadcasting, and their gradients: what imported models
// are made of.
#pragma once

#include "kernels/builder/tape.hpp"

namespace retrace::kernels {

/// The extents to which all of these broadcast (aligned at the last axis, 1 stretches); nothing where they do
/// not.
std::optional<Dims> broadcast_shape(const std::vector<Dims>& shapes);
/// Every element of x where it goes in `dims`; x of any type. No gradient.
Value spread(Graph& g, Value x, const Dims& dims);
/// The sum over the axes along which `dims` was stretched: the gradient of `spread`.
Value sum_to(Graph& g, Value x, const Dims& dims);
/// An elementwise op on operands that broadcast, without gradient (comparisons, logic).
Value elementwise(Graph& g, OpCode code, std::vector<Value> operands);

Value broadcast_to(Tape& tape, Value x, const Dims& dims);
/// add, sub, mul, div.
Value binary(Tape& tape, OpCode code, Value a, Value b);
/// neg, abs, exp, log, tanh, sigmoid, erf, sqrt, rsqrt.
Value unary(Tape& tape, OpCode code, Value x);
/// x to a constant power.
Value power(Tape& tape, Value x, float exponent);
/// a where the condition (bool) holds, else b; all three broadcast.
Value choose(Tape& tape, Value condition, Value a, Value b);
/// x within [low, high]; the gradient passes inside and on the edges.
Value clamp(Tape& tape, Value x, float low, float high);

/// Over one axis.
Value softmax(Tape& tape, Value x, std::size_t axis);
Value log_softmax(Tape& tape, Value x, std::size_t axis);
/// Over some axes (ascending), which disappear or stay with extent 1.
Value sum_axes(Tape& tape, Value x, const std::vector<std::size_t>& axes, bool keep);
Value mean_axes(Tape& tape, Value x, const std::vector<std::size_t>& axes, bool keep);

/// Elements [start, start + extent) of one axis.
Value part_of(Tape& tape, Value x, std::size_t axis, std::uint64_t start, std::uint64_t extent);
/// At most 64 values.
Value joined(Tape& tape, const std::vector<Value>& values, std::size_t axis);
/// `before` and `after` elements of `value` around every axis.
Value padded(Tape& tape, Value x, const Dims& before, const Dims& after, float value);

/// a[..., m, k] · b[..., k, n]; leading axes broadcast. Both of rank 2 or more.
Value matrix_product(Tape& tape, Value a, Value b, Precision precision);

}  // namespace retrace::kernels
