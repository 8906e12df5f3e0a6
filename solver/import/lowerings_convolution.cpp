// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::Graph;
using kernels::OpCode;
using kernels::Tape;
using kernels::Value;
using kernels::Window;
using Pair = std::array<std::uint64_t, 2>;

/// One number for both ways, or one each.
Pair pair_of(const std::vector<std::int64_t>& list, std::uint64_t otherwise) {
    if (list.empty()) return {otherwise, otherwise};
    return {static_cast<std::uint64_t>(list.front()), static_cast<std::uint64_t>(list.back())};
}

// ---- convolution
// ----------------------------------------------------------------------------------------------------

struct ConvolutionPlan {
    Pair stride{1, 1}, padding{0, 0}, dilation{1, 1}, extra{0, 0};  ///< extra: output_padding.
    std::uint64_t groups = 1;
    bool transposed = false;
};

/// Only the last number counts in a convolution along one axis.
ConvolutionPlan with_one_row(ConvolutionPlan how) {
    how.stride[0] = how.dilation[0] = 1;
    how.padding[0] = how.extra[0] = 0;
    return how;
}

/// Zeros between the elements of the kernel.
Value dilated(Tape& tape, Value weight, const Pair& dilation) {
    return stretched(tape, stretched(tape, weight, 2, dilation[0]), 3, dilation[1]);
}

/// Windows of every channel for itself: [n·c, windows, kernel] times the channel's weights, summed.
Value by_channel(Call& call, Value x, Value weight, const std::optional<Value>& bias, const ConvolutionPlan& how) {
    Tape& tape = call.tape();
    Graph& g = call.graph();
    const Dims in = call.dims(x), w = call.dims(weight);
    const std::uint64_t oh = (in[2] + 2 * how.padding[0] - w[2]) / how.stride[0] + 1;
    const std::uint64_t ow = (in[3] + 2 * how.padding[1] - w[3]) / how.stride[1] + 1;
    const std::vector<std::uint64_t> window{w[2], w[3], how.stride[0], how.stride[1], how.padding[0], how.padding[1]};
    std::vector<std::uint64_t> gather = window, scatter{in[0] * in[1], 1, in[2], in[3]};
    gather.push_back(0);
    scatter.insert(scatter.end(), window.begin(), window.end());
    const Value planes = view_as(tape, x, {in[0] * in[1], 1, in[2], in[3]});
    const Value windows = tape.note(
        {planes}, g.op(OpCode::window_gather, {planes}, gather), [&g, scatter](Value dy, const std::vector<bool>&) {
            return std::vector<std::optional<Value>>{g.op(OpCode::window_scatter, {dy}, scatter)};
        });
    const Value each = view_as(tape, windows, {in[0], in[1], oh * ow, w[2] * w[3]});
    const Value product = binary(tape, OpCode::mul, each, view_as(tape, weight, {in[1], 1, w[2] * w[3]}));
    Value y = view_as(tape, sum_axes(tape, product, {3}, false), {in[0], in[1], oh, ow});
    if (bias) y = binary(tape, OpCode::add, y, view_as(tape, *bias, {in[1], 1, 1}));
    return y;
}

Value convolved(Call& call, Value x, Value weight, const std::optional<Value>& bias, const ConvolutionPlan& how) {
    Tape& tape = call.tape();
    const Dims in = call.dims(x), w = call.dims(weight);
    const Window window{w[2], w[3], how.stride[0], how.padding[0], how.stride[1], how.padding[1]};
    if (how.groups == 1) return conv2d(tape, x, weight, bias, window, call.precision());
    if (how.groups == in[1] && w[0] == in[1]) return by_channel(call, x, weight, bias, how);
    const std::uint64_t channels = in[1] / how.groups, outputs = w[0] / how.groups;
    std::vector<Value> parts;
    for (std::uint64_t i = 0; i < how.groups; ++i) {
        std::optional<Value> shift;
        if (bias) shift = part_of(tape, *bias, 0, i * outputs, outputs);
        const Value kernels = part_of(tape, weight, 0, i * outputs, outputs);
        const Value images = part_of(tape, x, 1, i * channels, channels);
        parts.push_back(conv2d(tape, images, kernels, shift, window, call.precision()));
    }
    return joined_all(tape, parts, 1);
}

Value flipped(Tape& tape, Value x, std::size_t axis) {
    std::vector<std::int64_t> order(tape.graph().dims(x)[axis]);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
    return picked(tape, x, axis, order);
}

/// [in, out / groups, kh, kw] as the weights of the convolution that it is the transpose of, kernel reversed.
Value reversed_weight(Tape& tape, Value weight, std::uint64_t groups) {
    const Dims w = tape.graph().dims(weight);
    Value y = view_as(tape, weight, {groups, w[0] / groups, w[1], w[2], w[3]});
    y = view_as(tape, kernels::permuted(tape, y, {0, 2, 1, 3, 4}), {groups * w[1], w[0] / groups, w[2], w[3]});
    return flipped(tape, flipped(tape, y, 2), 3);
}

/// A convolution of the image with zeros between its pixels.
Value transposed(Call& call, Value x, Value weight, const std::optional<Value>& bias, ConvolutionPlan how) {
    Tape& tape = call.tape();
    const Value kernel = dilated(tape, reversed_weight(tape, weight, how.groups), how.dilation);
    x = stretched(tape, stretched(tape, x, 2, how.stride[0]), 3, how.stride[1]);
    Dims before(4, 0), after(4, 0);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::uint64_t reach = call.dims(kernel)[2 + i] - 1, cut = how.padding[i];
        before[2 + i] = reach - std::min(reach, cut);
        after[2 + i] = before[2 + i] + how.extra[i];
    }
    x = padded(tape, x, before, after, 0.0f);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::uint64_t reach = call.dims(kernel)[2 + i] - 1,
                            cut = how.padding[i] - std::min(how.padding[i], reach);
        if (cut > 0) x = part_of(tape, x, 2 + i, cut, call.dims(x)[2 + i] - 2 * cut);
        how.stride[i] = 1;
        how.padding[i] = 0;
    }
    return convolved(call, x, kernel, bias, how);
}

Call::Values convolve(Call& call, ConvolutionPlan how) {
    Tape& tape = call.tape();
    Value x = call.tensor(0), weight = call.tensor(1);
    const std::optional<Value> bias = call.maybe(2);
    Dims dx = call.dims(x), dw = call.dims(weight);
    if (dx.size() != dw.size()) return call.refuse("a convolution of a sample without batch; use unsqueeze(0)");
    if (dx.size() == 3) {  // An image of one row.
        how = with_one_row(how);
        dx.insert(dx.begin() + 2, 1);
        dw.insert(dw.begin() + 2, 1);
        x = view_as(tape, x, dx);
        weight = view_as(tape, weight, dw);
    }
    if (dx.size() != 4) return call.refuse("a convolution of volumes; use Conv1d or Conv2d");
    const bool alone = !how.transposed && how.groups == dx[1] && dw[0] == dx[1];
    if (how.groups > 64 && !alone) return call.refuse("more than 64 groups; use fewer, or one for each channel");
    const Value y = how.transposed ? transposed(call, x, weight, bias, how)
                                   : convolved(call, x, dilated(tape, weight, how.dilation), bias, how);
    return {view_as(tape, y, call.result_dims())};
}

/// (input, weight, bias, stride, padding, dilation, groups).
Call::Values apply_conv(Call& call) {
    ConvolutionPlan how{pair_of(call.integers(3), 1), pair_of(call.integers(4), 0), pair_of(call.integers(5), 1)};
    how.groups = static_cast<std::uint64_t>(call.integer(6, 1));
    if (call.text(4) == "same") {
        const Dims w = call.dims(call.tensor(1));
        for (std::size_t i = 2; i < w.size(); ++i) {
            const std::uint64_t reach = how.dilation[i + 2 - w.size()] * (w[i] - 1);
            if (reach % 2 != 0) return call.refuse("padding \"same\" of an even kernel; give the padding");
            how.padding[i + 2 - w.size()] = reach / 2;
        }
    }
    return convolve(call, how);
}

/// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, …).
Call::Values apply_convolution(Call& call) {
    return convolve(call, {pair_of(call.integers(3), 1), pair_of(call.integers(4), 0), pair_of(call.integers(5), 1),
                           pair_of(call.integers(7), 0), static_cast<std::uint64_t>(call.integer(8, 1)), call.flag(6)});
}

// ---- pooling
// --------------------------------------------------------------------------------------------------------

struct Pool {
    Value image;  ///< [n, c, h, w], with the rows and columns that ceil_mode adds below and on the right.
    Window window;
    Pair extra{0, 0};
};

/// (x, kernel, stride (that of the kernel where empty), padding, …) on images, or on lines as images of one
/// row.
Pool pool_of(Call& call, float filler) {
    Tape& tape = call.tape();
    Pool out;
    out.image = call.tensor(0);
    Dims in = call.dims(out.image), wanted = call.result_dims();
    Pair kernel = pair_of(call.integers(1), 1), padding = pair_of(call.integers(3), 0);
    Pair stride = call.integers(2).empty() ? kernel : pair_of(call.integers(2), 1);
    if (in.size() == 3) {
        kernel[0] = stride[0] = 1;
        padding[0] = 0;
        in.insert(in.begin() + 2, 1);
        wanted.insert(wanted.begin() + 2, 1);
        out.image = view_as(tape, out.image, in);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const std::uint64_t used = (wanted[2 + i] - 1) * stride[i] + kernel[i], there = in[2 + i] + 2 * padding[i];
        out.extra[i] = used > there ? used - there : 0;
    }
    if (out.extra[0] + out.extra[1] > 0) {
        const Dims edge{0, 0, padding[0], padding[1]};
        out.image = padded(tape, out.image, edge, {0, 0, padding[0] + out.extra[0], padding[1] + out.extra[1]}, filler);
        padding = {0, 0};
    }
    out.window = {kernel[0], kernel[1], stride[0], padding[0], stride[1], padding[1]};
    return out;
}

bool is_batch_of(Call& call, std::size_t rank) { return call.dims(call.tensor(0)).size() == rank; }

template <std::size_t rank>
Call::Values apply_max_pool(Call& call) {
    for (const std::int64_t dilation : call.integers(4)) {
        if (dilation != 1) return call.refuse("dilation; use dilation=1");
    }
    if (!is_batch_of(call, rank)) return call.refuse("pooling of samples without batch");
    if (call.op().results.size() > 1 && call.is_used(1)) return call.refuse("places of maxima; use the maxima alone");
    const Pool pool = pool_of(call, -std::numeric_limits<float>::infinity());
    Call::Values out{view_as(call.tape(), max_pool2d(call.tape(), pool.image, pool.window, true), call.result_dims())};
    if (call.op().results.size() > 1) out.push_back(call.nothing(1));
    return out;
}

/// Divisor of each window of a mean, as PyTorch counts: padding counts if `padding_counts`, and the rows and columns
/// that ceil_mode adds never count.
std::vector<float> counts_of(Call& call, const Pool& pool, bool padding_counts) {
    const Dims in = call.dims(call.tensor(0));
    const Pair inner{in.size() == 3 ? 1 : in[2], in.back()};
    const std::array<std::int64_t, 2> kernel{static_cast<std::int64_t>(pool.window.height),
                                             static_cast<std::int64_t>(pool.window.width)};
    const std::array<std::int64_t, 2> stride{static_cast<std::int64_t>(pool.window.stride),
                                             static_cast<std::int64_t>(*pool.window.stride_across)};
    const Pair padding = in.size() == 3 ? Pair{0, pair_of(call.integers(3), 0)[1]} : pair_of(call.integers(3), 0);
    std::array<std::vector<std::int64_t>, 2> each;
    for (std::size_t i = 0; i < 2; ++i) {
        const auto pad = static_cast<std::int64_t>(padding[i]), extent = static_cast<std::int64_t>(inner[i]);
        const std::size_t at = call.result_dims().size() - 2 + i;
        const std::uint64_t windows = in.size() == 3 && i == 0 ? 1 : call.result_dims()[at];
        for (std::int64_t w = 0; w < static_cast<std::int64_t>(windows); ++w) {
            const std::int64_t first = w * stride[i] - pad, last = std::min(first + kernel[i], extent + pad);
            const std::int64_t counted = std::min(last, extent) - std::max<std::int64_t>(first, 0);
            each[i].push_back(padding_counts ? last - first : counted);
        }
    }
    std::vector<float> factors;
    for (const std::int64_t down : each[0]) {
        for (const std::int64_t across : each[1])
            factors.push_back(static_cast<float>(kernel[0] * kernel[1]) / static_cast<float>(down * across));
    }
    return factors;
}

/// (x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override).
template <std::size_t rank>
Call::Values apply_average_pool(Call& call) {
    if (!is_batch_of(call, rank)) return call.refuse("pooling of samples without batch");
    if (call.kind(6) == Argument::Kind::integer) return call.refuse("divisor_override; multiply the result");
    const Pool pool = pool_of(call, 0.0f);
    Value y = average_pool2d(call.tape(), pool.image, pool.window);
    const std::vector<float> factors = counts_of(call, pool, call.flag(5));
    if (std::any_of(factors.begin(), factors.end(), [](float f) { return f != 1.0f; })) {
        const Dims dims = call.dims(y);
        y = binary(call.tape(), OpCode::mul, y, constant_of(call.graph(), {dims[2], dims[3]}, factors));
    }
    return {view_as(call.tape(), y, call.result_dims())};
}

/// Windows of PyTorch's adaptive pooling: from ⌊i·in/out⌋ to ⌈(i+1)·in/out⌉, each a row of the matrix.
std::vector<float> shares(std::uint64_t in, std::uint64_t out) {
    std::vector<float> matrix(in * out, 0.0f);
    for (std::uint64_t i = 0; i < out; ++i) {
        const std::uint64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
        for (std::uint64_t j = first; j < last; ++j) matrix[i * in + j] = 1.0f / static_cast<float>(last - first);
    }
    return matrix;
}

Call::Values apply_adaptive_pool(Call& call) {
    const Value x = call.tensor(0);
    const Dims in = call.dims(x), out = call.result_dims();
    if (in.size() != 4) return call.refuse("pooling of samples without batch");
    if (out[2] == 1 && out[3] == 1) return {mean_axes(call.tape(), x, {2, 3}, true)};
    if (in[2] % out[2] != 0 || in[3] % out[3] != 0) {
        const Value down = mapped_along(call.tape(), x, 2, out[2], shares(in[2], out[2]));
        return {mapped_along(call.tape(), down, 3, out[3], shares(in[3], out[3]))};
    }
    const std::uint64_t height = in[2] / out[2], width = in[3] / out[3];
    return {average_pool2d(call.tape(), x, {height, width, height, 0, width, 0})};
}

Call::Values apply_adaptive_max_pool(Call& call) {
    const Value x = call.tensor(0);
    const Dims in = call.dims(x), out = call.result_dims();
    if (in.size() != 4) return call.refuse("pooling of samples without batch");
    if (in[2] % out[2] != 0 || in[3] % out[3] != 0) return call.refuse("windows of several sizes; use MaxPool2d");
    if (call.is_used(1)) return call.refuse("places of maxima; use the maxima alone");
    const std::uint64_t height = in[2] / out[2], width = in[3] / out[3];
    return {max_pool2d(call.tape(), x, {height, width, height, 0, width, 0}, true), call.nothing(1)};
}

}  // namespace

std::vector<ImportedOp> convolution_ops() {
    using enum TensorTypes;
    return {
        {"aten::conv1d", f32, "TTt", 1, signature::plain_convolution, apply_conv},
        {"aten::conv2d", f32, "TTt", 1, signature::plain_convolution, apply_conv},
        {"aten::convolution", f32, "TTt", 1, signature::any_convolution, apply_convolution},
        {"aten::_convolution", f32, "TTt", 1, signature::any_convolution, apply_convolution},
        {"aten::max_pool1d", f32, "T", 1, signature::max_pooling_1d, apply_max_pool<3>},
        {"aten::max_pool2d", f32, "T", 1, signature::max_pooling_2d, apply_max_pool<4>},
        {"aten::max_pool2d_with_indices", f32, "T", 2, signature::max_pooling_2d, apply_max_pool<4>},
        {"aten::avg_pool1d", f32, "T", 1, signature::average_pooling_1d, apply_average_pool<3>},
        {"aten::avg_pool2d", f32, "T", 1, signature::average_pooling_2d, apply_average_pool<4>},
        {"aten::adaptive_avg_pool2d", f32, "T", 1, signature::adaptive_average_pooling, apply_adaptive_pool},
        {"aten::adaptive_max_pool2d", f32, "T", 2, signature::adaptive_max_pooling, apply_adaptive_max_pool},
    };
}

}  // namespace retrace::solver
