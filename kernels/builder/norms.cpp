// SPDX-License-Identifier: MIT
#include "kernels/builder/transformer_layers.hpp"

namespace retrace::kernels {
namespace {

using Gradients = std::vector<std::optional<Value>>;
using Needed = std::vector<bool>;

Value reciprocal_root(Graph& g, Value mean_square, float epsilon) {
    return g.op(OpCode::rsqrt, {add(g, mean_square, g.scalar(epsilon))});
}

}  // namespace

Value layer_norm(Tape& tape, Value x, Value gain, Value shift, float epsilon) {
    Graph& g = tape.graph();
    const Value centred = sub(g, x, row_mean(g, x));
    const Value root = reciprocal_root(g, row_mean(g, mul(g, centred, centred)), epsilon);
    const Value normal = mul(g, centred, root);
    return tape.note({x, gain, shift}, fma(g, normal, gain, shift), [=, &g](Value dy, const Needed& needed) {
        Gradients out(3);
        if (needed[0]) {
            const Value d = mul(g, dy, gain);
            const Value level = sub(g, d, row_mean(g, d));
            const Value along = mul(g, normal, row_mean(g, mul(g, d, normal)));
            out[0] = mul(g, root, sub(g, level, along));
        }
        if (needed[1]) out[1] = reshape(g, sum_columns(g, mul(g, dy, normal)), g.dims(gain));
        if (needed[2]) out[2] = reshape(g, sum_columns(g, dy), g.dims(shift));
        return out;
    });
}

Value rms_norm(Tape& tape, Value x, Value gain, float epsilon) {
    Graph& g = tape.graph();
    const Value root = reciprocal_root(g, row_mean(g, mul(g, x, x)), epsilon);
    const Value normal = mul(g, x, root);
    return tape.note({x, gain}, mul(g, normal, gain), [=, &g](Value dy, const Needed& needed) {
        Gradients out(2);
        if (needed[0]) {
            const Value d = mul(g, dy, gain);
            const Value along = mul(g, normal, row_mean(g, mul(g, d, normal)));
            out[0] = mul(g, root, sub(g, d, along));
        }
        if (needed[1]) out[1] = reshape(g, sum_columns(g, mul(g, dy, normal)), g.dims(gain));
        return out;
    });
}

}  // namespace retrace::kernels
