// SPDX-License-Identifier: MIT
#include "kernels/builder/compose.hpp"

#include "kernels/ops/matmul_shape.hpp"
#include "kernels/reduce/reduce.hpp"

namespace retrace::kernels {
namespace {

Value all_levels(Graph& g, OpCode code, Value x) {
    Value level = g.op(code, {x});
    while (g.dims(level).back() > 1) level = g.op(code, {level});
    return level;
}

}  // namespace

Value reshape(Graph& g, Value x, Dims dims) {
    if (g.dims(x) == dims) return x;
    return g.op(OpCode::reshape, {x}, {}, {g.shape(x).dtype, std::move(dims)});
}

Value permute(Graph& g, Value x, std::vector<std::uint64_t> axes) {
    return g.op(OpCode::permute, {x}, std::move(axes));
}

Value slice(Graph& g, Value x, std::vector<std::uint64_t> starts, const Dims& extents) {
    starts.insert(starts.end(), extents.begin(), extents.end());
    return g.op(OpCode::slice, {x}, std::move(starts));
}

Value fill(Graph& g, float value, Dims dims) {
    return g.op(OpCode::fill, {}, {to_bits(value)}, {DType::f32, std::move(dims)});
}

// Adds -0: x + (-0) is x, bit for bit, for either zero.
Value broadcast(Graph& g, Value x, Dims dims) {
    if (g.dims(x) == dims) return x;
    return g.op(OpCode::add, {x, g.scalar(-0.0f)}, {}, {DType::f32, std::move(dims)});
}

Value sum_rows(Graph& g, Value x) { return all_levels(g, OpCode::row_sum, x); }
Value max_rows(Graph& g, Value x) { return all_levels(g, OpCode::row_max, x); }
Value row_mean(Graph& g, Value x) {
    const Value columns = g.scalar(static_cast<float>(g.dims(x).back()));
    return div(g, sum_rows(g, x), columns);
}

Value sum_columns(Graph& g, Value x) {
    Value level = g.op(OpCode::col_sum, {x});
    while (g.matrix(level).rows > 1) level = g.op(OpCode::col_sum, {level});
    return level;
}

Value sum_all(Graph& g, Value x) {
    const Value rows = sum_rows(g, x);
    return reshape(g, sum_rows(g, reshape(g, rows, {1, g.matrix(rows).rows})), {});
}

Value argmax_rows(Graph& g, Value x) {
    Value index = g.op(OpCode::row_argmax, {x});
    Value values = x;
    while (g.dims(index).back() > 1) {
        values = g.op(OpCode::row_max, {values});
        index = g.op(OpCode::row_argmax_pick, {values, index});
    }
    return index;
}

Value matmul(Graph& g, Value a, Value b, Precision wanted, bool transposed_a, bool transposed_b) {
    const Dims& dims = g.dims(a);
    const std::uint64_t k = dims[dims.size() - (transposed_a ? 2 : 1)];
    const Precision precision = k < 64 ? Precision::f32 : wanted;
    return g.op(OpCode::matmul, {a, b}, {static_cast<std::uint64_t>(precision), transposed_a, transposed_b});
}

Value one_hot(Graph& g, Value labels, std::uint64_t classes) {
    const Value positions = g.op(OpCode::iota, {}, {1}, {DType::i32, {1, classes}});
    return g.op(OpCode::equal, {labels, positions});
}

}  // namespace retrace::kernels
