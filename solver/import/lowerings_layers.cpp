// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/tensor_ops.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowerings.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using kernels::OpCode;
using kernels::Precision;
using kernels::Value;

/// The head is finer where the layers are i8x2.
Precision precision_of(Call& call) {
    return call.is_head() && call.precision() == Precision::i8x2 ? Precision::i8x3 : call.precision();
}

Value as_rows(Call& call, Value x) {
    const kernels::Geometry shape = kernels::geometry(call.dims(x));
    return view_as(call.tape(), x, {shape.rows, shape.cols});
}

Call::Values apply_linear(Call& call) {
    const std::optional<Value> bias = call.maybe(2);
    const Value weight = call.tensor(1), rows = as_rows(call, call.tensor(0));
    const Value y = linear(call.tape(), rows, weight, bias, precision_of(call));
    return {view_as(call.tape(), y, call.result_dims())};
}

/// A vector on the left is a row, on the right a column.
Call::Values apply_matmul(Call& call) {
    Value a = call.tensor(0), b = call.tensor(1);
    if (call.dtype(a) != DType::f32 || call.dtype(b) != DType::f32) return call.refuse("a product of whole numbers");
    if (call.dims(a).empty() || call.dims(b).empty()) return call.refuse("a product with a single number");
    if (call.dims(a).size() == 1) a = view_as(call.tape(), a, {1, call.dims(a)[0]});
    if (call.dims(b).size() == 1) b = view_as(call.tape(), b, {call.dims(b)[0], 1});
    return {view_as(call.tape(), matrix_product(call.tape(), a, b, precision_of(call)), call.result_dims())};
}

/// beta · self + alpha · a·b.
Call::Values apply_addmm(Call& call) {
    const auto times = [&](Value x, std::size_t factor) {
        if (call.number(factor, 1) == 1) return x;
        return binary(call.tape(), OpCode::mul, x, call.graph().scalar(static_cast<float>(call.number(factor, 1))));
    };
    const Value product = matrix_product(call.tape(), call.tensor(1), call.tensor(2), precision_of(call));
    return {binary(call.tape(), OpCode::add, times(product, 4), times(call.tensor(0), 3))};
}

// ---- norms
// ----------------------------------------------------------------------------------------------------------

Value gain_of(Call& call, std::size_t i, float otherwise, const Dims& dims) {
    const std::optional<Value> given = call.maybe(i);
    return given ? view_as(call.tape(), *given, dims) : kernels::fill(call.graph(), otherwise, dims);
}

/// (x - mean) · 1/√(variance + ε) · gain + shift with given statistics, channel by channel.
Value with_statistics(Call& call, Value x, Value gain, Value shift, Value mean, Value variance, float epsilon) {
    kernels::Tape& tape = call.tape();
    const Dims column{call.dims(x)[1], 1, 1};
    const auto turned = [&](Value v) { return view_as(tape, v, column); };
    const Value level = binary(tape, OpCode::add, variance, call.graph().scalar(epsilon));
    const Value root = turned(unary(tape, OpCode::rsqrt, level));
    const Value normal = binary(tape, OpCode::mul, binary(tape, OpCode::sub, x, turned(mean)), root);
    return binary(tape, OpCode::add, binary(tape, OpCode::mul, normal, turned(gain)), turned(shift));
}

/// (input, weight, bias, running_mean, running_var, training, momentum, eps, …)
Call::Values apply_batch_norm(Call& call) {
    kernels::Graph& g = call.graph();
    Dims dims = call.dims(call.tensor(0));
    if (dims.size() < 2) return call.refuse("a norm of samples without batch");
    while (dims.size() < 4) dims.push_back(1);
    if (dims.size() > 4) return call.refuse("a norm of volumes");
    const Value x = view_as(call.tape(), call.tensor(0), dims);
    const Dims width{dims[1]};
    const Value gain = gain_of(call, 1, 1.0f, width), shift = gain_of(call, 2, 0.0f, width);
    const auto epsilon = static_cast<float>(call.number(7, 1e-5));
    const std::optional<Value> mean = call.maybe(3), variance = call.maybe(4);
    if (!call.flag(5)) {
        if (!mean || !variance) return call.refuse("a norm without statistics");
        const Value y = with_statistics(call, x, gain, shift, *mean, *variance, epsilon);
        return {view_as(call.tape(), y, call.result_dims())};
    }
    const kernels::BatchNorm norm = batch_norm2d(call.tape(), x, gain, shift, epsilon);
    if (mean && variance) {
        const auto momentum = static_cast<float>(call.number(6, 0.1));
        const Value estimate = kernels::unbiased(g, norm.variance, dims[0] * dims[2] * dims[3]);
        call.update(3, kernels::running_average(g, *mean, norm.mean, momentum));
        call.update(4, kernels::running_average(g, *variance, estimate, momentum));
    }
    return {view_as(call.tape(), norm.y, call.result_dims())};
}

/// (input, normalized_shape, weight, bias, eps, …)
Call::Values apply_layer_norm(Call& call) {
    std::uint64_t width = 1;
    for (const std::int64_t extent : call.integers(1)) width *= static_cast<std::uint64_t>(extent);
    const std::uint64_t all = kernels::geometry(call.dims(call.tensor(0))).elements();
    const Value x = view_as(call.tape(), call.tensor(0), {all / width, width});
    const Value shift = gain_of(call, 3, 0.0f, {width}), gain = gain_of(call, 2, 1.0f, {width});
    const Value y = layer_norm(call.tape(), x, gain, shift, static_cast<float>(call.number(4, 1e-5)));
    return {view_as(call.tape(), y, call.result_dims())};
}

/// (input, groups, weight, bias, eps, …)
Call::Values apply_group_norm(Call& call) {
    const Dims dims = call.dims(call.tensor(0));
    const auto groups = static_cast<std::uint64_t>(call.integer(1, 1));
    const std::uint64_t rows = dims[0] * groups, width = kernels::geometry(dims).elements() / rows;
    const Value one = kernels::fill(call.graph(), 1.0f, {width}), zero = kernels::fill(call.graph(), 0.0f, {width});
    const Value x = view_as(call.tape(), call.tensor(0), {rows, width});
    Value y =
        view_as(call.tape(), layer_norm(call.tape(), x, one, zero, static_cast<float>(call.number(4, 1e-5))), dims);
    Dims column(dims.size() - 1, 1);
    column[0] = dims[1];
    if (call.maybe(2)) y = binary(call.tape(), OpCode::mul, y, view_as(call.tape(), call.tensor(2), column));
    if (call.maybe(3)) y = binary(call.tape(), OpCode::add, y, view_as(call.tape(), call.tensor(3), column));
    return {y};
}

// ---- tokens and attention
// -------------------------------------------------------------------------------------------

/// (weight, indices, padding_idx, …). The row of padding is read and gets no gradient.
Call::Values apply_embedding(Call& call) {
    kernels::Graph& g = call.graph();
    const Value table = call.tensor(0), index = call.tensor(1);
    if (call.dtype(table) != DType::f32) return call.refuse("a table of whole numbers");
    if (call.dtype(index) != DType::i32) return call.refuse("an index that is no whole number");
    if (call.flag(3)) return call.refuse("gradients scaled by frequency; use scale_grad_by_freq=False");
    const Value flat = kernels::reshape(g, index, {g.matrix(index).elements()});
    const std::int64_t padding = call.integer(2, -1);
    Value found;
    if (padding < 0) {
        found = embedding(call.tape(), table, flat);
    } else {
        const Value is_padding = g.op(OpCode::equal, {flat, g.scalar_i32(static_cast<std::int32_t>(padding))});
        const Value counted = g.op(OpCode::select, {is_padding, g.scalar_i32(-1), flat});
        const std::uint64_t rows = g.dims(table)[0];
        found = call.tape().note(
            {table}, g.op(OpCode::gather_rows, {table, flat}), [&g, counted, rows](Value dy, const std::vector<bool>&) {
                return std::vector<std::optional<Value>>{g.op(OpCode::scatter_add_rows, {dy, counted}, {rows})};
            });
    }
    return {view_as(call.tape(), found, call.result_dims())};
}

Call::Values apply_dropout(Call& call) {
    const Value x = call.tensor(0);
    const auto rate = static_cast<float>(call.number(1, 0.5));
    if (!call.flag(2) || rate == 0.0f) return {x};
    if (rate >= 1.0f) return call.refuse("a dropout of everything");
    return {dropout(call.tape(), x, rate, "dropout." + std::to_string(call.op().results.at(0)))};
}

/// Dropout of whole channels: one draw for each sample and channel.
Call::Values apply_channel_dropout(Call& call) {
    const Value x = call.tensor(0);
    const auto rate = static_cast<float>(call.number(1, 0.5));
    if (!call.flag(2) || rate == 0.0f) return {x};
    if (rate >= 1.0f || call.dims(x).size() < 3) return call.refuse("a dropout of everything, or of no channels");
    Dims dims(call.dims(x).size(), 1);
    dims[0] = call.dims(x)[0];
    dims[1] = call.dims(x)[1];
    const Value kept = dropout(call.tape(), kernels::fill(call.graph(), 1.0f, dims), rate,
                               "dropout." + std::to_string(call.op().results.at(0)));
    return {binary(call.tape(), OpCode::mul, x, kept)};
}

/// (query, key, value, mask, dropout, is_causal, scale, …): [batch, heads, tokens, depth] each.
Call::Values apply_attention(Call& call) {
    kernels::Tape& tape = call.tape();
    const Value q = call.tensor(0), k = call.tensor(1), v = call.tensor(2);
    const std::size_t rank = call.dims(q).size();
    if (rank < 3) return call.refuse("attention without batch");
    for (const Value x : {q, k, v}) {
        if (call.dtype(x) != DType::f32) return call.refuse(kIntegers);
    }
    if (call.number(4, 0) != 0) return call.refuse("dropout inside attention; use dropout_p=0");
    const Dims dims = call.dims(q);
    const bool causal = call.flag(5);
    const auto factor = static_cast<float>(call.number(6, 1 / std::sqrt(static_cast<double>(dims.back()))));
    const bool alike = call.dims(k) == dims && call.dims(v) == dims;
    if (!call.maybe(3) && alike && call.kind(6) == Argument::Kind::none) {
        const std::uint64_t heads = kernels::geometry(dims).rows / dims[rank - 2];
        const auto flat = [&](Value x) { return view_as(tape, x, {heads, dims[rank - 2], dims.back()}); };
        const Value y = attention(tape, flat(q), flat(k), flat(v), causal, call.precision());
        return {view_as(tape, y, call.result_dims())};
    }
    if (causal) return call.refuse("causal attention of several lengths; give a mask");
    std::vector<std::uint64_t> axes(rank);
    for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
    std::swap(axes[rank - 1], axes[rank - 2]);
    Value scores = matrix_product(tape, q, kernels::permuted(tape, k, axes), call.precision());
    scores = binary(tape, OpCode::mul, scores, call.graph().scalar(factor));
    if (const std::optional<Value> mask = call.maybe(3)) {
        if (call.dtype(*mask) == DType::i32) return call.refuse("a mask of whole numbers");
        const Value lowest = call.graph().scalar(-std::numeric_limits<float>::infinity());
        scores = call.dtype(*mask) == DType::boolean ? choose(tape, *mask, scores, lowest)
                                                     : binary(tape, OpCode::add, scores, *mask);
    }
    return {matrix_product(tape, softmax(tape, scores, rank - 1), v, call.precision())};
}

}  // namespace

std::vector<ImportedOp> layer_ops() {
    using enum TensorTypes;
    return {
        {"aten::linear", f32, "TTt", 1, signature::linear, apply_linear},
        {"aten::matmul", f32, "TT", 1, signature::matmul, apply_matmul},
        {"aten::mm", f32, "TT", 1, signature::matmul, apply_matmul},
        {"aten::bmm", f32, "TT", 1, signature::matmul, apply_matmul},
        {"aten::mv", f32, "TT", 1, signature::matmul, apply_matmul},
        {"aten::dot", f32, "TT", 1, signature::matmul, apply_matmul},
        {"aten::addmm", f32, "TTT", 1, signature::added_product, apply_addmm},
        {"aten::baddbmm", f32, "TTT", 1, signature::added_product, apply_addmm},
        {"aten::batch_norm", f32, "Ttttt", 1, signature::batch_norm, apply_batch_norm},
        {"aten::layer_norm", f32, "T.tt", 1, signature::layer_norm, apply_layer_norm},
        {"aten::group_norm", f32, "T.tt", 1, signature::group_norm, apply_group_norm},
        {"aten::embedding", any, "TT", 1, signature::embedding, apply_embedding},
        {"aten::dropout", f32, "T", 1, signature::dropout, apply_dropout},
        {"aten::feature_dropout", f32, "T", 1, signature::dropout, apply_channel_dropout},
        {"aten::scaled_dot_product_attention", any, "TTTt", 1, signature::attention, apply_attention},
    };
}

}  // namespace retrace::solver
