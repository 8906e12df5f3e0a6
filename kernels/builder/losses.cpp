// SPDX-License-Identifier: MIT
#include "kernels/builder/layers.hpp"

namespace retrace::kernels {
namespace {

/// Returns the mean over all elements, and its gradient, of elementwise losses.
Loss mean_of(Graph& g, Value losses, Value gradients, std::optional<Value> valid) {
    const Value count = g.scalar(static_cast<float>(g.matrix(losses).elements()));
    if (valid) losses = select(g, *valid, losses, g.scalar(0.0f));
    Value gradient = div(g, gradients, count);
    if (valid) gradient = select(g, *valid, gradient, g.scalar(0.0f));
    return {div(g, sum_all(g, losses), count), gradient};
}

}  // namespace

Loss softmax_cross_entropy(Graph& g, Value logits, Value labels, std::optional<Value> valid) {
    const Geometry shape = g.matrix(logits);
    const Value rows = g.scalar(static_cast<float>(shape.rows));
    const Value chosen = one_hot(g, labels, shape.cols);
    const Value shifted = sub(g, logits, max_rows(g, logits));
    const Value powers = g.op(OpCode::exp, {shifted});
    const Value total = sum_rows(g, powers);
    const Value own = sum_rows(g, select(g, chosen, shifted, g.scalar(0.0f)));
    Value losses = sub(g, g.op(OpCode::log, {total}), own);
    if (valid) losses = select(g, *valid, losses, g.scalar(0.0f));
    const Value target = convert(g, chosen, DType::f32);
    Value gradient = div(g, sub(g, div(g, powers, total), target), rows);
    if (valid) gradient = select(g, *valid, gradient, g.scalar(0.0f));
    return {div(g, sum_all(g, losses), rows), gradient};
}

Loss mean_squared_error(Graph& g, Value output, Value target, std::optional<Value> valid) {
    const Value difference = sub(g, output, target);
    const Value gradient = scale(g, difference, 2.0f);
    return mean_of(g, mul(g, difference, difference), gradient, valid);
}

// log(1 + e^-|z|) + max(z, 0) - z·t, in which no exponential exceeds 1.
Loss binary_cross_entropy(Graph& g, Value logits, Value target, std::optional<Value> valid) {
    const Value small = g.op(OpCode::exp, {neg(g, g.op(OpCode::abs, {logits}))});
    const Value rest = g.op(OpCode::log, {add(g, small, g.scalar(1.0f))});
    const Value product = mul(g, logits, target);
    const Value losses = add(g, rest, sub(g, g.op(OpCode::relu, {logits}), product));
    return mean_of(g, losses, sub(g, g.op(OpCode::sigmoid, {logits}), target), valid);
}

}  // namespace retrace::kernels
