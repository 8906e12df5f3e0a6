// SPDX-License-Identifier: MIT
#include "kernels/builder/layers.hpp"

namespace retrace::kernels {
namespace {

/// Converts x[n, c, h, w] to [c, n·h·w], so that a channel is a row, and back.
Value to_channels(Graph& g, Value x) {
    const Dims dims = g.dims(x);
    return reshape(g, permute(g, x, {1, 0, 2, 3}), {dims[1], dims[0] * dims[2] * dims[3]});
}

Value from_channels(Graph& g, Value rows, const Dims& dims) {
    return permute(g, reshape(g, rows, {dims[1], dims[0], dims[2], dims[3]}), {1, 0, 2, 3});
}

Value as_column(Graph& g, Value vector) { return reshape(g, vector, {g.dims(vector)[0], 1}); }

}  // namespace

BatchNorm batch_norm2d(Tape& tape, Value x, Value gain, Value shift, float epsilon) {
    Graph& g = tape.graph();
    const Dims dims = g.dims(x);
    const Value rows = to_channels(g, x), mean = row_mean(g, rows), centred = sub(g, rows, mean);
    const Value variance = row_mean(g, mul(g, centred, centred));
    const Value root = g.op(OpCode::rsqrt, {add(g, variance, g.scalar(epsilon))});
    const Value normal = mul(g, centred, root), factor = as_column(g, gain);
    BatchNorm out;
    out.mean = reshape(g, mean, g.dims(gain));
    out.variance = reshape(g, variance, g.dims(gain));
    const Value y = from_channels(g, fma(g, normal, factor, as_column(g, shift)), dims);
    out.y = tape.note({x, gain, shift}, y, [=, &g](Value dy, const std::vector<bool>& needed) {
        const Value d_rows = to_channels(g, dy);
        std::vector<std::optional<Value>> found(3);
        if (needed[0]) {
            const Value d = mul(g, d_rows, factor);
            const Value along = mul(g, normal, row_mean(g, mul(g, d, normal)));
            found[0] = from_channels(g, mul(g, root, sub(g, sub(g, d, row_mean(g, d)), along)), dims);
        }
        if (needed[1]) found[1] = reshape(g, sum_rows(g, mul(g, d_rows, normal)), g.dims(gain));
        if (needed[2]) found[2] = reshape(g, sum_rows(g, d_rows), g.dims(shift));
        return found;
    });
    return out;
}

Value batch_norm2d_frozen(Graph& g, Value x, Value gain, Value shift, Value mean, Value variance, float epsilon) {
    const Value root = g.op(OpCode::rsqrt, {add(g, variance, g.scalar(epsilon))});
    const Value roots = as_column(g, root), means = as_column(g, mean);
    const Value normal = mul(g, sub(g, to_channels(g, x), means), roots);
    const Value shifts = as_column(g, shift), gains = as_column(g, gain);
    return from_channels(g, fma(g, normal, gains, shifts), g.dims(x));
}

Value unbiased(Graph& g, Value variance, std::uint64_t count) {
    if (count < 2) return variance;
    return scale(g, variance, static_cast<float>(count) / static_cast<float>(count - 1));
}

Value running_average(Graph& g, Value buffer, Value current, float momentum) {
    const Value kept = scale(g, buffer, 1.0f - momentum);
    return fma(g, g.scalar(momentum), current, kept);
}

}  // namespace retrace::kernels
