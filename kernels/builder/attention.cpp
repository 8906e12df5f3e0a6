// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"

namespace retrace::kernels {
namespace {

using Gradients = std::vector<std::optional<Value>>;
using Needed = std::vector<bool>;

Value iota(Graph& g, Dims dims, std::uint64_t axis) {
    return g.op(OpCode::iota, {}, {axis}, {DType::i32, std::move(dims)});
}

/// Sets scores[heads, tokens, tokens] to -Inf where the second token comes after the first. The mask is the same for
/// every head, so it is a row vector of the scores viewed as [heads, tokens²].
Value mask_future(Graph& g, Value scores) {
    const Dims dims = g.dims(scores);
    const std::uint64_t tokens = dims[1];
    const Value past = g.op(OpCode::less_equal, {iota(g, {1, tokens}, 1), iota(g, {tokens, 1}, 0)});
    const Value row = reshape(g, past, {tokens * tokens});
    const Value flat = reshape(g, scores, {dims[0], tokens * tokens});
    const Value lowest = g.scalar(-std::numeric_limits<float>::infinity());
    return reshape(g, select(g, row, flat, lowest), dims);
}

Value softmax_rows(Graph& g, Value x) {
    const Value powers = g.op(OpCode::exp, {sub(g, x, max_rows(g, x))});
    return div(g, powers, sum_rows(g, powers));
}

}  // namespace

Value attention(Tape& tape, Value q, Value k, Value v, bool causal, Precision precision) {
    Graph& g = tape.graph();
    const float factor = 1.0f / std::sqrt(static_cast<float>(g.dims(q)[2]));
    Value scores = scale(g, matmul(g, q, k, precision, false, true), factor);
    if (causal) scores = mask_future(g, scores);
    const Value weights = softmax_rows(g, scores);
    return tape.note({q, k, v}, matmul(g, weights, v, precision), [=, &g](Value dy, const Needed& needed) {
        Gradients out(3);
        // Masked weights are 0, and so are these gradients.
        const Value d = matmul(g, dy, v, precision, false, true);
        const Value level = sum_rows(g, mul(g, d, weights));
        const Value d_scores = scale(g, mul(g, weights, sub(g, d, level)), factor);
        if (needed[0]) out[0] = matmul(g, d_scores, k, precision);
        if (needed[1]) out[1] = matmul(g, d_scores, q, precision, true, false);
        if (needed[2]) out[2] = matmul(g, weights, dy, precision, true, false);
        return out;
    });
}

namespace {

/// Rotates the planes of x by the angles whose cosine and sine are given; `back` rotates in the opposite direction.
Value turn(Graph& g, Value x, Value cosine, Value sine, bool back) {
    const Dims dims = g.dims(x);
    const std::uint64_t half = dims[2] / 2;
    const Dims part{dims[0], dims[1], half}, flat{dims[0], dims[1] * half};
    const Value a = reshape(g, slice(g, x, {0, 0, 0}, part), flat);
    const Value b = reshape(g, slice(g, x, {0, 0, half}, part), flat);
    const Value ac = mul(g, a, cosine), bc = mul(g, b, cosine), as = mul(g, a, sine), bs = mul(g, b, sine);
    const Value first = back ? add(g, ac, bs) : sub(g, ac, bs);
    const Value second = back ? sub(g, bc, as) : add(g, bc, as);
    return g.op(OpCode::concat, {reshape(g, first, part), reshape(g, second, part)}, {2});
}

}  // namespace

Value rotary(Tape& tape, Value x, float base) {
    Graph& g = tape.graph();
    const std::uint64_t tokens = g.dims(x)[1], half = g.dims(x)[2] / 2;
    const Value plane = convert(g, iota(g, {1, half}, 1), DType::f32);
    const Value exponent = scale(g, plane, -1.0f / static_cast<float>(half));
    const Value speed = g.op(OpCode::pow, {g.scalar(base), exponent});  // radians per position
    const Value position = convert(g, iota(g, {tokens, 1}, 0), DType::f32);
    const Value turns = scale(g, mul(g, position, speed), 0.15915494f);
    const Value cosine = reshape(g, g.op(OpCode::cos_turns, {turns}), {tokens * half});
    const Value sine = reshape(g, g.op(OpCode::sin_turns, {turns}), {tokens * half});
    return tape.note({x}, turn(g, x, cosine, sine, false),
                     [=, &g](Value dy, const Needed&) { return Gradients{turn(g, dy, cosine, sine, true)}; });
}

Value split_heads(Tape& tape, Value x, std::uint64_t batch, std::uint64_t heads) {
    const Dims dims = tape.graph().dims(x);
    const std::uint64_t tokens = dims[0] / batch, depth = dims[1] / heads;
    const Value apart = permuted(tape, view_as(tape, x, {batch, tokens, heads, depth}), {0, 2, 1, 3});
    return view_as(tape, apart, {batch * heads, tokens, depth});
}

Value merge_heads(Tape& tape, Value x, std::uint64_t batch, std::uint64_t heads) {
    const Dims dims = tape.graph().dims(x);
    const Value apart = view_as(tape, x, {batch, heads, dims[1], dims[2]});
    return view_as(tape, permuted(tape, apart, {0, 2, 1, 3}), {batch * dims[1], heads * dims[2]});
}

}  // namespace retrace::kernels
