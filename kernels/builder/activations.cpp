// SPDX-License-Identifier: MIT
#include "kernels/builder/transformer_layers.hpp"

namespace retrace::kernels {

using Gradients = std::vector<std::optional<Value>>;
using Needed = std::vector<bool>;

Value sum(Tape& tape, Value a, Value b) {
    return tape.note({a, b}, add(tape.graph(), a, b), [](Value dy, const Needed&) { return Gradients{dy, dy}; });
}

Value product(Tape& tape, Value a, Value b) {
    Graph& g = tape.graph();
    return tape.note({a, b}, mul(g, a, b), [&g, a, b](Value dy, const Needed& needed) {
        Gradients out(2);
        if (needed[0]) out[0] = mul(g, dy, b);
        if (needed[1]) out[1] = mul(g, dy, a);
        return out;
    });
}

Value add_row(Tape& tape, Value x, Value v) {
    Graph& g = tape.graph();
    const Value row = reshape(g, v, {g.matrix(v).elements()});
    return tape.note({x, v}, add(g, x, row), [&g, v](Value dy, const Needed& needed) {
        Gradients out{dy, std::nullopt};
        if (needed[1]) out[1] = reshape(g, sum_columns(g, dy), g.dims(v));
        return out;
    });
}

Value permuted(Tape& tape, Value x, std::vector<std::uint64_t> axes) {
    Graph& g = tape.graph();
    std::vector<std::uint64_t> back(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) back[axes[i]] = i;
    return tape.note({x}, permute(g, x, axes),
                     [&g, back](Value dy, const Needed&) { return Gradients{permute(g, dy, back)}; });
}

Value gelu(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value half = g.scalar(0.5f);
    const Value below = fma(g, g.op(OpCode::erf, {scale(g, x, 0.70710678f)}), half, half);  // Φ(x)
    return tape.note({x}, mul(g, x, below), [&g, x, below](Value dy, const Needed&) {
        const Value density = scale(g, g.op(OpCode::exp, {scale(g, mul(g, x, x), -0.5f)}), 0.39894228f);
        return Gradients{mul(g, dy, fma(g, x, density, below))};
    });
}

Value silu(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value gate = g.op(OpCode::sigmoid, {x});
    const Value y = mul(g, x, gate);
    return tape.note({x}, y, [&g, gate, y](Value dy, const Needed&) {
        return Gradients{mul(g, dy, fma(g, y, sub(g, g.scalar(1.0f), gate), gate))};
    });
}

Value dropout(Tape& tape, Value x, float rate, std::string stream) {
    Graph& g = tape.graph();
    const Value draw = g.op(OpCode::philox_uniform, {}, {}, g.shape(x), std::move(stream));
    const Value kept = g.op(OpCode::greater_equal, {draw, g.scalar(rate)});
    const float factor = 1.0f / (1.0f - rate);
    const auto drop = [&g, kept, factor](Value v) {
        const Value zero = g.scalar(0.0f);
        return select(g, kept, scale(g, v, factor), zero);
    };
    return tape.note({x}, drop(x), [drop](Value dy, const Needed&) { return Gradients{drop(dy)}; });
}

Value embedding(Tape& tape, Value table, Value index) {
    Graph& g = tape.graph();
    return tape.note({table}, g.op(OpCode::gather_rows, {table, index}), [&g, table, index](Value dy, const Needed&) {
        return Gradients{g.op(OpCode::scatter_add_rows, {dy, index}, {g.dims(table)[0]})};
    });
}

Value mean_tokens(Tape& tape, Value x, std::uint64_t batch) {
    Graph& g = tape.graph();
    const std::uint64_t width = g.dims(x)[1], tokens = g.dims(x)[0] / batch;
    const Value turned = permute(g, reshape(g, x, {batch, tokens, width}), {0, 2, 1});
    const Value count = g.scalar(static_cast<float>(tokens));
    const Value y = reshape(g, div(g, sum_rows(g, turned), count), {batch, width});
    return tape.note({x}, y, [=, &g](Value dy, const Needed&) {
        const Value share = reshape(g, div(g, dy, count), {batch * width, 1});
        const Value spread = reshape(g, broadcast(g, share, {batch * width, tokens}), {batch, width, tokens});
        return Gradients{reshape(g, permute(g, spread, {0, 2, 1}), {batch * tokens, width})};
    });
}

}  // namespace retrace::kernels
