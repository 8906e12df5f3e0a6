// SPDX-License-Identifier: MIT
// Recurrent layers are written out step by step: a sequence has as many steps as its shape says.
#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::OpCode;
using kernels::Tape;
using kernels::Value;
using Kind = Argument::Kind;

enum class Cell { lstm, gru, tanh, relu };

constexpr std::size_t kRecurrentStepsMax = 512;

/// Weights of one layer in one direction; the gates lie below each other, as PyTorch has them.
struct Weights {
    Value of_input, of_hidden;
    std::optional<Value> input_bias, hidden_bias;
};

struct Memory {
    Value hidden, cell;  ///< [batch, width]; cell: of an LSTM.
};

Value gate(Tape& tape, Value gates, std::size_t i, std::uint64_t width, OpCode function) {
    return unary(tape, function, part_of(tape, gates, 1, i * width, width));
}

Value plus(Tape& tape, Value a, Value b) { return binary(tape, OpCode::add, a, b); }
Value times(Tape& tape, Value a, Value b) { return binary(tape, OpCode::mul, a, b); }

/// `from_input`: [batch, gates · width].
Memory next(Tape& tape, Cell kind, const Weights& weights, Value from_input, const Memory& now,
            kernels::Precision precision) {
    const std::uint64_t width = tape.graph().dims(now.hidden)[1];
    const Value from_hidden = linear(tape, now.hidden, weights.of_hidden, weights.hidden_bias, precision);
    if (kind == Cell::gru) {
        const auto part = [&](Value all, std::size_t i) { return part_of(tape, all, 1, i * width, width); };
        const Value reset = unary(tape, OpCode::sigmoid, plus(tape, part(from_input, 0), part(from_hidden, 0)));
        const Value keep = unary(tape, OpCode::sigmoid, plus(tape, part(from_input, 1), part(from_hidden, 1)));
        const Value fresh =
            unary(tape, OpCode::tanh, plus(tape, part(from_input, 2), times(tape, reset, part(from_hidden, 2))));
        const Value change = binary(tape, OpCode::sub, now.hidden, fresh);
        return {plus(tape, fresh, times(tape, keep, change)), {}};
    }
    const Value gates = plus(tape, from_input, from_hidden);
    if (kind == Cell::tanh) return {unary(tape, OpCode::tanh, gates), {}};
    if (kind == Cell::relu) return {relu(tape, gates), {}};
    const Value in = gate(tape, gates, 0, width, OpCode::sigmoid),
                forget = gate(tape, gates, 1, width, OpCode::sigmoid);
    const Value fresh = gate(tape, gates, 2, width, OpCode::tanh), out = gate(tape, gates, 3, width, OpCode::sigmoid);
    const Value added = times(tape, in, fresh), kept = times(tape, forget, now.cell), cell = plus(tape, kept, added);
    return {times(tape, out, unary(tape, OpCode::tanh, cell)), cell};
}

/// One layer in one direction over x [steps, batch, features]; the result is [steps, batch, width].
Value run(Call& call, Cell kind, const Weights& weights, Value x, bool backwards, Memory& memory) {
    Tape& tape = call.tape();
    const Dims dims = call.dims(x);
    const std::uint64_t gates = call.dims(weights.of_input)[0], width = call.dims(memory.hidden)[1];
    // The part of the gates that comes from the input is one product for all steps.
    const Value all = linear(tape, view_as(tape, x, {dims[0] * dims[1], dims[2]}), weights.of_input, weights.input_bias,
                             call.precision());
    std::vector<Value> outputs(dims[0]);
    for (std::uint64_t i = 0; i < dims[0]; ++i) {
        const std::uint64_t step = backwards ? dims[0] - 1 - i : i;
        const Value now = view_as(tape, part_of(tape, all, 0, step * dims[1], dims[1]), {dims[1], gates});
        memory = next(tape, kind, weights, now, memory, call.precision());
        outputs[step] = view_as(tape, memory.hidden, {1, dims[1], width});
    }
    return joined_all(tape, outputs, 0);
}

/// Number `at` of [layers · directions, batch, width].
Value state_at(Tape& tape, Value states, std::uint64_t at) {
    const Dims dims = tape.graph().dims(states);
    return view_as(tape, part_of(tape, states, 0, at, 1), {dims[1], dims[2]});
}

Value stacked(Tape& tape, const std::vector<Value>& values) {
    std::vector<Value> out;
    for (const Value value : values) {
        Dims dims = tape.graph().dims(value);
        dims.insert(dims.begin(), 1);
        out.push_back(view_as(tape, value, dims));
    }
    return joined_all(tape, out, 0);
}

/// (x, state or [state, cell], weights, has_biases, layers, dropout, training, bidirectional, batch_first).
template <Cell kind>
Call::Values recurrent(Call& call) {
    constexpr bool has_cell = kind == Cell::lstm;
    Tape& tape = call.tape();
    if (call.kind(2) != Kind::values || call.kind(1) != (has_cell ? Kind::values : Kind::value))
        return call.refuse("a packed sequence; pad the samples to one length");
    Value x = call.tensor(0);
    if (call.dims(x).size() != 3) return call.refuse("a recurrent net without batch; use unsqueeze");
    if (call.flag(8)) x = kernels::permuted(tape, x, {1, 0, 2});
    if (call.dims(x)[0] > kRecurrentStepsMax) return call.refuse("more than 512 steps; use attention or convolutions");
    const Call::Values states = has_cell ? call.tensors(1) : Call::Values{call.tensor(1)}, given = call.tensors(2);
    const auto layers = static_cast<std::uint64_t>(call.integer(4, 1));
    const std::uint64_t ways = call.flag(7) ? 2 : 1, each = call.flag(3) ? 4 : 2;
    if (given.size() != layers * ways * each || states.size() != (has_cell ? 2u : 1u))
        return call.refuse("weights in another arrangement (proj_size); use proj_size=0");
    const auto rate = static_cast<float>(call.number(5, 0));
    std::vector<Value> hidden, cells;
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        std::vector<Value> sides;
        for (std::uint64_t way = 0; way < ways; ++way) {
            const std::uint64_t at = layer * ways + way;
            const Value* const w = given.data() + at * each;
            const Weights weights{w[0], w[1], each == 4 ? std::optional(w[2]) : std::nullopt,
                                  each == 4 ? std::optional(w[3]) : std::nullopt};
            Memory memory{state_at(tape, states[0], at), has_cell ? state_at(tape, states.back(), at) : Value{}};
            sides.push_back(run(call, kind, weights, x, way == 1, memory));
            hidden.push_back(memory.hidden);
            cells.push_back(memory.cell);
        }
        x = ways == 1 ? sides[0] : joined(tape, sides, 2);
        const std::string stream = "dropout." + std::to_string(call.op().results.at(0)) + "." + std::to_string(layer);
        if (call.flag(6) && rate > 0 && layer + 1 < layers) x = dropout(tape, x, rate, stream);
    }
    Call::Values out{call.flag(8) ? kernels::permuted(tape, x, {1, 0, 2}) : x, stacked(tape, hidden)};
    if (has_cell) out.push_back(stacked(tape, cells));
    return out;
}

/// One step: (x, state or [state, cell], weight of input, of state, bias of input, of state).
template <Cell kind>
Call::Values one_step(Call& call) {
    constexpr bool has_cell = kind == Cell::lstm;
    Tape& tape = call.tape();
    const Call::Values states = has_cell ? call.tensors(1) : Call::Values{call.tensor(1)};
    if (states.size() != (has_cell ? 2u : 1u) || call.dims(states[0]).size() != 2)
        return call.refuse("a recurrent cell without batch; use unsqueeze");
    const Weights weights{call.tensor(2), call.tensor(3), call.maybe(4), call.maybe(5)};
    const Value from_input = linear(tape, call.tensor(0), weights.of_input, weights.input_bias, call.precision());
    const Memory memory = next(tape, kind, weights, from_input, {states[0], states.back()}, call.precision());
    return has_cell ? Call::Values{memory.hidden, memory.cell} : Call::Values{memory.hidden};
}

}  // namespace

std::vector<ImportedOp> recurrent_ops() {
    using enum TensorTypes;
    return {
        {"aten::lstm_cell", f32, "TLTTtt", 2, signature::lstm_cell, one_step<Cell::lstm>},
        {"aten::gru_cell", f32, "TTTTtt", 1, signature::gru_cell, one_step<Cell::gru>},
        {"aten::rnn_tanh_cell", f32, "TTTTtt", 1, signature::rnn_cell, one_step<Cell::tanh>},
        {"aten::rnn_relu_cell", f32, "TTTTtt", 1, signature::rnn_cell, one_step<Cell::relu>},
        {"aten::lstm", f32, "T", 2, signature::lstm, recurrent<Cell::lstm>},
        {"aten::gru", f32, "T", 2, signature::gru, recurrent<Cell::gru>},
        {"aten::rnn_tanh", f32, "T", 2, signature::rnn, recurrent<Cell::tanh>},
        {"aten::rnn_relu", f32, "T", 2, signature::rnn, recurrent<Cell::relu>},
    };
}

}  // namespace retrace::solver
