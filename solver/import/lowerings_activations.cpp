// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Graph;
using kernels::OpCode;
using kernels::Tape;
using kernels::Value;

Value scaled(Call& call, Value x, double factor) {
    return binary(call.tape(), OpCode::mul, x, call.graph().scalar(static_cast<float>(factor)));
}
Value shifted(Call& call, Value x, double by) {
    return binary(call.tape(), OpCode::add, x, call.graph().scalar(static_cast<float>(by)));
}
Value times(Call& call, Value a, Value b) { return binary(call.tape(), OpCode::mul, a, b); }
Value above(Call& call, Value x, double limit) {
    return elementwise(call.graph(), OpCode::greater, {x, call.graph().scalar(static_cast<float>(limit))});
}

/// Within [low, high]; PyTorch's hardtanh passes no gradient on the edges.
Value between(Call& call, Value x, double low, double high) {
    Graph& g = call.graph();
    const Value least = g.scalar(static_cast<float>(low)), most = g.scalar(static_cast<float>(high));
    const Value y = g.op(OpCode::min, {g.op(OpCode::max, {x, least}), most});
    return with_slope(call.tape(), x, y, [&g, x, least, most] {
        const Value inside =
            g.op(OpCode::logical_and, {g.op(OpCode::greater, {x, least}), g.op(OpCode::less, {x, most})});
        const Value zero = g.scalar(0.0f), one = g.scalar(1.0f);
        return select(g, inside, one, zero);
    });
}

Call::Values apply_relu(Call& call) { return {relu(call.tape(), call.tensor(0))}; }
Call::Values apply_silu(Call& call) { return {silu(call.tape(), call.tensor(0))}; }

Value leaky(Call& call, Value x, double slope) {
    const Value below = scaled(call, x, slope), positive = above(call, x, 0);
    return choose(call.tape(), positive, x, below);
}

Call::Values leaky_relu(Call& call) { return {leaky(call, call.tensor(0), call.number(1, 0.01))}; }

/// (x, lower, upper, training, generator): without training the mean slope.
Call::Values rrelu(Call& call) {
    if (call.flag(3)) return call.refuse("a random slope; use nn.LeakyReLU");
    return {leaky(call, call.tensor(0), (call.number(1, 1.0 / 8) + call.number(2, 1.0 / 3)) / 2)};
}

/// A slope for each channel (axis 1), or one for all.
Call::Values prelu(Call& call) {
    const Value x = call.tensor(0), weight = call.tensor(1);
    kernels::Dims dims(call.dims(x).size(), 1);
    const std::uint64_t slopes = kernels::geometry(call.dims(weight)).elements();
    if (slopes > 1) dims.at(1) = slopes;
    const Value sloped = times(call, x, view_as(call.tape(), weight, dims));
    return {choose(call.tape(), above(call, x, 0), x, sloped)};
}

/// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).
Value gelu_by_tanh(Call& call, Value x) {
    const Value cube = times(call, times(call, x, x), x);
    const Value inner = scaled(call, binary(call.tape(), OpCode::add, x, scaled(call, cube, 0.044715)), 0.79788456);
    const Value gate = shifted(call, unary(call.tape(), OpCode::tanh, inner), 1), half = scaled(call, x, 0.5);
    return times(call, half, gate);
}

Call::Values apply_gelu(Call& call) {
    if (call.text(1) == "tanh") return {gelu_by_tanh(call, call.tensor(0))};
    return {gelu(call.tape(), call.tensor(0))};
}

Call::Values hardtanh(Call& call) { return {between(call, call.tensor(0), call.number(1, -1), call.number(2, 1))}; }

/// scale · (x above 0, α·(exp(x·s) - 1) below); no power of a positive number is taken, as it might be
/// infinite.
Value elu_of(Call& call, Value x, double alpha, double scale, double inner) {
    Tape& tape = call.tape();
    const Value zero = call.graph().scalar(0.0f), positive = above(call, x, 0);
    const Value below = choose(tape, positive, zero, x);
    const Value power = shifted(call, unary(tape, OpCode::exp, scaled(call, below, inner)), -1);
    const Value curve = scaled(call, power, alpha * scale), line = scaled(call, x, scale);
    return choose(tape, positive, line, curve);
}

Call::Values elu(Call& call) {
    return {elu_of(call, call.tensor(0), call.number(1, 1), call.number(2, 1), call.number(3, 1))};
}
Call::Values celu(Call& call) {
    const double alpha = call.number(1, 1);
    return {elu_of(call, call.tensor(0), alpha, 1, 1 / alpha)};
}
Call::Values selu(Call& call) { return {elu_of(call, call.tensor(0), 1.6732632423543772, 1.0507009873554805, 1)}; }

/// log(1 + exp(βx)) / β; x itself where βx is over the threshold.
Call::Values apply_softplus(Call& call) {
    const double beta = call.number(1, 1);
    const Value x = call.tensor(0), stretched = scaled(call, x, beta);
    const Value smooth = scaled(call, softplus(call.tape(), stretched), 1 / beta);
    return {choose(call.tape(), above(call, stretched, call.number(2, 20)), x, smooth)};
}

Call::Values log_sigmoid(Call& call) {
    return {scaled(call, softplus(call.tape(), scaled(call, call.tensor(0), -1)), -1)};
}

Call::Values mish(Call& call) {
    const Value x = call.tensor(0);
    return {times(call, x, unary(call.tape(), OpCode::tanh, softplus(call.tape(), x)))};
}

Value hard_gate(Call& call, Value x) { return scaled(call, between(call, shifted(call, x, 3), 0, 6), 1.0 / 6); }

Call::Values hardsigmoid(Call& call) { return {hard_gate(call, call.tensor(0))}; }
Call::Values hardswish(Call& call) {
    const Value x = call.tensor(0);
    return {times(call, x, hard_gate(call, x))};
}

Call::Values hardshrink(Call& call) {
    const Value x = call.tensor(0), size = call.graph().op(OpCode::abs, {x});
    const Value zero = call.graph().scalar(0.0f), far = above(call, size, call.number(1, 0.5));
    return {choose(call.tape(), far, x, zero)};
}

Call::Values softshrink(Call& call) {
    const Value x = call.tensor(0), zero = call.graph().scalar(0.0f);
    const double width = call.number(1, 0.5);
    const Value below = elementwise(call.graph(), OpCode::less, {x, call.graph().scalar(static_cast<float>(-width))});
    const Value raised = shifted(call, x, width), low = choose(call.tape(), below, raised, zero);
    const Value lowered = shifted(call, x, -width), high = above(call, x, width);
    return {choose(call.tape(), high, lowered, low)};
}

Call::Values threshold(Call& call) {
    const Value x = call.tensor(0), otherwise = call.graph().scalar(static_cast<float>(call.number(2, 0)));
    return {choose(call.tape(), above(call, x, call.number(1, 0)), x, otherwise)};
}

/// The first half of an axis, gated by the second.
Call::Values glu(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t axis = call.axis(1, -1, call.dims(x).size());
    const std::uint64_t half = call.dims(x)[axis] / 2;
    const Value gate = part_of(call.tape(), x, axis, half, half);
    const Value opened = unary(call.tape(), OpCode::sigmoid, gate), gated = part_of(call.tape(), x, axis, 0, half);
    return {times(call, gated, opened)};
}

// ---- functions of one number
// ----------------------------------------------------------------------------------------

constexpr double kTurn = 6.283185307179586;

template <OpCode code>
Call::Values of_angle(Call& call) {
    Graph& g = call.graph();
    const Value x = call.tensor(0), turns = scale(g, x, static_cast<float>(1 / kTurn));
    const Value y = g.op(code, {turns});
    return {with_slope(call.tape(), x, y, [&g, turns] {
        if (code == OpCode::sin_turns) return g.op(OpCode::cos_turns, {turns});
        return neg(g, g.op(OpCode::sin_turns, {turns}));
    })};
}

Call::Values log1p(Call& call) {
    Graph& g = call.graph();
    const Value x = call.tensor(0);
    return {with_slope(call.tape(), x, log_of_one_more(g, x), [&g, x] {
        const Value one = g.scalar(1.0f);
        return div(g, one, add(g, x, one));
    })};
}

/// exp(x) - 1 = 2t / (1 - t) with t = tanh(x/2), which loses nothing near 0.
Call::Values expm1(Call& call) {
    Graph& g = call.graph();
    const Value x = call.tensor(0), one = g.scalar(1.0f);
    const Value t = g.op(OpCode::tanh, {scale(g, x, 0.5f)});
    const Value below = sub(g, one, t), above = scale(g, t, 2.0f), near = div(g, above, below);
    const Value power = g.op(OpCode::exp, {x});
    const Value is_near = g.op(OpCode::less, {g.op(OpCode::abs, {x}), one});
    return {with_slope(call.tape(), x, select(g, is_near, near, sub(g, power, one)), [power] { return power; })};
}

/// log(x) times a factor: other bases.
template <int base>
Call::Values log_to_base(Call& call) {
    return {scaled(call, unary(call.tape(), OpCode::log, call.tensor(0)), 1 / std::log(static_cast<double>(base)))};
}
Call::Values exp2(Call& call) {
    return {unary(call.tape(), OpCode::exp, scaled(call, call.tensor(0), 0.6931471805599453))};
}
Call::Values erfc(Call& call) {
    const Value erf = unary(call.tape(), OpCode::erf, call.tensor(0)), one = call.graph().scalar(1.0f);
    return {binary(call.tape(), OpCode::sub, one, erf)};
}

/// -1, 0 or 1; no gradient passes.
Call::Values sign(Call& call) {
    Graph& g = call.graph();
    const Value x = call.tensor(0), zero = g.scalar(0.0f);
    const Value minus = g.scalar(-1.0f), below = select(g, g.op(OpCode::less, {x, zero}), minus, zero);
    const Value one = g.scalar(1.0f);
    return {select(g, g.op(OpCode::greater, {x, zero}), one, below)};
}

}  // namespace

std::vector<ImportedOp> activation_ops() {
    using enum TensorTypes;
    return {
        {"aten::relu", f32, "T", 1, nullptr, apply_relu},
        {"aten::leaky_relu", f32, "T", 1, nullptr, leaky_relu},
        {"aten::rrelu", f32, "T", 1, nullptr, rrelu},
        {"aten::prelu", f32, "TT", 1, signature::prelu, prelu},
        {"aten::silu", f32, "T", 1, nullptr, apply_silu},
        {"aten::gelu", f32, "T", 1, nullptr, apply_gelu},
        {"aten::hardtanh", f32, "T", 1, nullptr, hardtanh},
        {"aten::elu", f32, "T", 1, nullptr, elu},
        {"aten::celu", f32, "T", 1, nullptr, celu},
        {"aten::selu", f32, "T", 1, nullptr, selu},
        {"aten::softplus", f32, "T", 1, nullptr, apply_softplus},
        {"aten::log_sigmoid", f32, "T", 1, nullptr, log_sigmoid},
        {"aten::mish", f32, "T", 1, nullptr, mish},
        {"aten::hardsigmoid", f32, "T", 1, nullptr, hardsigmoid},
        {"aten::hardswish", f32, "T", 1, nullptr, hardswish},
        {"aten::hardshrink", f32, "T", 1, nullptr, hardshrink},
        {"aten::softshrink", f32, "T", 1, nullptr, softshrink},
        {"aten::threshold", f32, "T", 1, nullptr, threshold},
        {"aten::glu", f32, "T", 1, signature::glu, glu},
        {"aten::sin", f32, "T", 1, nullptr, of_angle<OpCode::sin_turns>},
        {"aten::cos", f32, "T", 1, nullptr, of_angle<OpCode::cos_turns>},
        {"aten::log1p", f32, "T", 1, nullptr, log1p},
        {"aten::expm1", f32, "T", 1, nullptr, expm1},
        {"aten::log2", f32, "T", 1, nullptr, log_to_base<2>},
        {"aten::log10", f32, "T", 1, nullptr, log_to_base<10>},
        {"aten::exp2", f32, "T", 1, nullptr, exp2},
        {"aten::erfc", f32, "T", 1, nullptr, erfc},
        {"aten::sign", f32, "T", 1, nullptr, sign},
    };
}

}  // namespace retrace::solver
