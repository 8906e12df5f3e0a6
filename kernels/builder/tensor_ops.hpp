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

/// Additions and subtractions of int32 modulo 2^32, and the and of their bits; operands broadcast. No gradient.
inline Value add_wrap(Graph& g, Value a, Value b) { return elementwise(g, OpCode::add_wrap, {a, b}); }
inline Value sub_wrap(Graph& g, Value a, Value b) { return elementwise(g, OpCode::sub_wrap, {a, b}); }
inline Value and_bits(Graph& g, Value a, Value b) { return elementwise(g, OpCode::and_bits, {a, b}); }

// Places within rows and rows of tables (kernels/ops/SPEC.md 5 and 9), without gradient. Operands that the op's shape
// rule refuses are a misuse, as in Graph::op.
/// Returns int32 [..., count]: the places of the `count` elements of the greatest magnitude in each row of x [..., n],
/// ascending. 1 <= count <= n <= 512.
inline Value row_top(Graph& g, Value x, std::uint64_t count) { return g.op(OpCode::row_top, {x}, {count}); }
/// Returns the elements of x [..., n] at int32 places [..., k]; zero bits where a place is out of range.
inline Value row_pick(Graph& g, Value x, Value places) { return g.op(OpCode::row_pick, {x, places}); }
/// Adds `values` [..., k] to `base` [..., n] at `places` [..., k], k <= 512: of equal places in a row, the first only.
inline Value row_add_at(Graph& g, Value base, Value places, Value values) {
    return g.op(OpCode::row_add_at, {base, places, values});
}
/// Replaces row index[i] of `table` by row i of `rows`, at most 480; of equal indices the last holds.
inline Value put_rows(Graph& g, Value table, Value rows, Value index) {
    return g.op(OpCode::put_rows, {table, rows, index});
}
/// Returns int32 words of ChaCha20 under `key` (int32 [8]). `number` < 2^16 differs from that of every other such op of
/// the program.
inline Value chacha_bits(Graph& g, Value key, std::uint64_t number, Dims dims) {
    return g.op(OpCode::chacha_bits, {key}, {number}, {DType::i32, std::move(dims)});
}

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
