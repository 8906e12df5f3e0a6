// SPDX-License-Identifier: MIT
#include "kernels/builder/layers.hpp"

#include <limits>

#include "kernels/builder/transformer_layers.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

Value linear(Tape& tape, Value x, Value weight, std::optional<Value> bias, Precision precision) {
    Graph& g = tape.graph();
    Value y = matmul(g, x, weight, precision, false, true);
    std::vector<Value> inputs{x, weight};
    if (bias) {
        y = add(g, y, *bias);
        inputs.push_back(*bias);
    }
    return tape.note(inputs, y, [&g, x, weight, bias, precision](Value dy, const std::vector<bool>& needed) {
        std::vector<std::optional<Value>> out(needed.size());
        if (needed[0]) out[0] = matmul(g, dy, weight, precision);
        if (needed[1]) out[1] = matmul(g, dy, x, precision, true, false);
        if (bias && needed[2]) out[2] = reshape(g, sum_columns(g, dy), g.dims(*bias));
        return out;
    });
}

Value lora_linear(Tape& tape, Value x, Value weight, std::optional<Value> bias, const LowRank& correction,
                  Precision precision) {
    Graph& g = tape.graph();
    const float factor = correction.alpha / static_cast<float>(g.dims(correction.down)[0]);
    const Value narrow = linear(tape, x, correction.down, std::nullopt, precision);
    const Value wide = linear(tape, narrow, correction.up, std::nullopt, precision);
    const Value scaled = tape.note({wide}, scale(g, wide, factor), [&g, factor](Value dy, const std::vector<bool>&) {
        return std::vector<std::optional<Value>>{scale(g, dy, factor)};
    });
    return sum(tape, linear(tape, x, weight, bias, precision), scaled);
}

Value relu(Tape& tape, Value x) {
    Graph& g = tape.graph();
    return tape.note({x}, g.op(OpCode::relu, {x}), [&g, x](Value dy, const std::vector<bool>&) {
        const Value positive = g.op(OpCode::greater, {x, g.scalar(0.0f)});
        return std::vector<std::optional<Value>>{select(g, positive, dy, g.scalar(0.0f))};
    });
}

Value view_as(Tape& tape, Value x, Dims dims) {
    Graph& g = tape.graph();
    if (g.dims(x) == dims) return x;
    return tape.note({x}, reshape(g, x, std::move(dims)), [&g, x](Value dy, const std::vector<bool>&) {
        return std::vector<std::optional<Value>>{reshape(g, dy, g.dims(x))};
    });
}

namespace {

std::vector<std::uint64_t> window_attributes(const Window& w) {
    return {w.height,  w.width,
            w.stride,  w.stride_across.value_or(w.stride),
            w.padding, w.padding_across.value_or(w.padding)};
}

Value gather_windows(Graph& g, Value x, const Window& w, float padding) {
    std::vector<std::uint64_t> attributes = window_attributes(w);
    attributes.push_back(to_bits(padding));
    return g.op(OpCode::window_gather, {x}, std::move(attributes));
}

Value scatter_windows(Graph& g, Value windows, const Dims& image, const Window& w) {
    std::vector<std::uint64_t> attributes(image.begin(), image.end());
    const std::vector<std::uint64_t> window = window_attributes(w);
    attributes.insert(attributes.end(), window.begin(), window.end());
    return g.op(OpCode::window_scatter, {windows}, std::move(attributes));
}

std::uint64_t windows_down(std::uint64_t extent, const Window& w) {
    return (extent + 2 * w.padding - w.height) / w.stride + 1;
}

std::uint64_t windows_across(std::uint64_t extent, const Window& w) {
    return (extent + 2 * w.padding_across.value_or(w.padding) - w.width) / w.stride_across.value_or(w.stride) + 1;
}

}  // namespace

Value conv2d(Tape& tape, Value x, Value weight, std::optional<Value> bias, std::uint64_t stride, std::uint64_t padding,
             Precision precision) {
    return conv2d(tape, x, weight, bias, Window{1, 1, stride, padding}, precision);
}

Value conv2d(Tape& tape, Value x, Value weight, std::optional<Value> bias, const Window& strides, Precision precision) {
    Graph& g = tape.graph();
    const Dims in = g.dims(x), w = g.dims(weight);
    Window window = strides;
    window.height = w[2];
    window.width = w[3];
    const std::uint64_t oh = windows_down(in[2], window), ow = windows_across(in[3], window);
    const Value columns = gather_windows(g, x, window, 0.0f);  // [n·oh·ow, c·kh·kw]
    const Value flat = reshape(g, weight, {w[0], w[1] * w[2] * w[3]});
    Value rows = matmul(g, columns, flat, precision, false, true);  // [n·oh·ow, out]
    std::vector<Value> inputs{x, weight};
    if (bias) {
        rows = add(g, rows, *bias);
        inputs.push_back(*bias);
    }
    const Value y = permute(g, reshape(g, rows, {in[0], oh, ow, w[0]}), {0, 3, 1, 2});
    return tape.note(inputs, y, [=, &g](Value dy, const std::vector<bool>& needed) {
        const Value d_rows = reshape(g, permute(g, dy, {0, 2, 3, 1}), {in[0] * oh * ow, w[0]});
        std::vector<std::optional<Value>> out(needed.size());
        if (needed[0]) out[0] = scatter_windows(g, matmul(g, d_rows, flat, precision), in, window);
        if (needed[1]) out[1] = reshape(g, matmul(g, d_rows, columns, precision, true, false), w);
        if (bias && needed[2]) out[2] = reshape(g, sum_columns(g, d_rows), g.dims(*bias));
        return out;
    });
}

// Every channel of every image is treated as a separate image, so that windows are rows of height × width and pooling
// is a maximum of rows.
Value max_pool2d(Tape& tape, Value x, const Window& window, bool zeros_are_equal) {
    Graph& g = tape.graph();
    const Dims in = g.dims(x);
    const Dims planes{in[0] * in[1], 1, in[2], in[3]};
    const std::uint64_t oh = windows_down(in[2], window);
    const std::uint64_t ow = windows_across(in[3], window);
    const float lowest = -std::numeric_limits<float>::infinity();
    const Value windows = gather_windows(g, reshape(g, x, planes), window, lowest);
    const Value y = reshape(g, max_rows(g, windows), {in[0], in[1], oh, ow});
    return tape.note({x}, y, [=, &g](Value dy, const std::vector<bool>&) {
        // Adding +0 turns -0 into +0, so both zeros compare equal.
        const Value compared = zeros_are_equal ? add(g, windows, g.scalar(0.0f)) : windows;
        const Value chosen = one_hot(g, argmax_rows(g, compared), window.height * window.width);
        const Value column = reshape(g, dy, {in[0] * in[1] * oh * ow, 1});
        const Value spread = select(g, chosen, column, g.scalar(0.0f));
        return std::vector<std::optional<Value>>{reshape(g, scatter_windows(g, spread, planes, window), in)};
    });
}

Value average_pool2d(Tape& tape, Value x, const Window& window) {
    Graph& g = tape.graph();
    const Dims in = g.dims(x);
    const Dims planes{in[0] * in[1], 1, in[2], in[3]};
    const std::uint64_t oh = windows_down(in[2], window);
    const std::uint64_t ow = windows_across(in[3], window);
    const std::uint64_t size = window.height * window.width, rows = in[0] * in[1] * oh * ow;
    const Value count = g.scalar(static_cast<float>(size));
    const Value windows = gather_windows(g, reshape(g, x, planes), window, 0.0f);
    const Value y = reshape(g, div(g, sum_rows(g, windows), count), {in[0], in[1], oh, ow});
    return tape.note({x}, y, [=, &g](Value dy, const std::vector<bool>&) {
        const Value share = broadcast(g, reshape(g, div(g, dy, count), {rows, 1}), {rows, size});
        return std::vector<std::optional<Value>>{reshape(g, scatter_windows(g, share, planes, window), in)};
    });
}

}  // namespace retrace::kernels
