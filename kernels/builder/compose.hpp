// SPDX-License-Identifier: MIT
// Short names for primitives and the compositions that need no gradient of their own.
#pragma once

#include "kernels/builder/graph.hpp"
#include "kernels/matmul/matmul.hpp"

namespace retrace::kernels {

inline Value neg(Graph& g, Value x) { return g.op(OpCode::neg, {x}); }
inline Value add(Graph& g, Value a, Value b) { return g.op(OpCode::add, {a, b}); }
inline Value sub(Graph& g, Value a, Value b) { return g.op(OpCode::sub, {a, b}); }
inline Value mul(Graph& g, Value a, Value b) { return g.op(OpCode::mul, {a, b}); }
inline Value div(Graph& g, Value a, Value b) { return g.op(OpCode::div, {a, b}); }
inline Value fma(Graph& g, Value a, Value b, Value c) { return g.op(OpCode::fma, {a, b, c}); }
inline Value scale(Graph& g, Value x, float factor) { return mul(g, x, g.scalar(factor)); }
inline Value select(Graph& g, Value condition, Value a, Value b) { return g.op(OpCode::select, {condition, a, b}); }
inline Value convert(Graph& g, Value x, DType to) {
    return g.op(OpCode::convert, {x}, {static_cast<std::uint64_t>(to)});
}
/// Returns the value itself if it has these extents already.
Value reshape(Graph& g, Value x, Dims dims);
Value permute(Graph& g, Value x, std::vector<std::uint64_t> axes);
/// `starts` and `extents` for every axis.
Value slice(Graph& g, Value x, std::vector<std::uint64_t> starts, const Dims& extents);
Value fill(Graph& g, float value, Dims dims);
/// Spreads x over `dims` by the elementwise rule without changing a bit.
Value broadcast(Graph& g, Value x, Dims dims);

/// All levels of a reduction: [..., cols] to [..., 1] for rows, [rows, cols] to [1, cols] for columns.
Value sum_rows(Graph& g, Value x);
Value max_rows(Graph& g, Value x);
Value row_mean(Graph& g, Value x);
Value sum_columns(Graph& g, Value x);
/// Returns the sum of all elements, rank 0; rows are summed first.
Value sum_all(Graph& g, Value x);
/// Returns int32 [..., 1]: the first greatest column of each row.
Value argmax_rows(Graph& g, Value x);

/// Multiplies in precision `wanted`, but in f32 if this product's K is below 64 (the importer's policy).
Value matmul(Graph& g, Value a, Value b, Precision wanted, bool transposed_a = false, bool transposed_b = false);

/// Returns bool [rows, classes] for int32 [rows, 1].
Value one_hot(Graph& g, Value labels, std::uint64_t classes);

}  // namespace retrace::kernels
