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

using kernels::DType;
using kernels::OpCode;
using kernels::Value;

bool is_float(Call& call, Value value) { return call.dtype(value) == DType::f32; }

template <OpCode code>
Call::Values apply_binary(Call& call) {
    const Value a = call.operand(0);
    Value b = call.operand(1);
    if (!is_float(call, a) || !is_float(call, b)) return call.refuse(kIntegers);
    if (code == OpCode::div && call.kind(2) == Argument::Kind::text) return call.refuse("a rounding mode");
    if ((code == OpCode::add || code == OpCode::sub) && call.number(2, 1) != 1) {
        b = binary(call.tape(), OpCode::mul, b, call.graph().scalar(static_cast<float>(call.number(2, 1))));
    }
    return {binary(call.tape(), code, a, b)};
}

Call::Values reversed_sub(Call& call) {
    const Value a = call.operand(0), b = call.operand(1);
    if (!is_float(call, a) || !is_float(call, b)) return call.refuse(kIntegers);
    if (call.number(2, 1) != 1) return call.refuse("alpha other than 1");
    return {binary(call.tape(), OpCode::sub, b, a)};
}

template <OpCode code>
Call::Values apply_unary(Call& call) {
    const Value x = call.tensor(0);
    if (!is_float(call, x)) return call.refuse(kIntegers);
    return {unary(call.tape(), code, x)};
}

Call::Values apply_clamp(Call& call) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Value x = call.tensor(0);
    if (!is_float(call, x)) return call.refuse(kIntegers);
    for (const std::size_t bound : {1, 2}) {
        if (call.kind(bound) == Argument::Kind::value)
            return call.refuse("bounds that are tensors; use torch.maximum and torch.minimum");
    }
    const double low = call.number(1, -kInfinity), high = call.number(2, kInfinity);
    return {clamp(call.tape(), x, static_cast<float>(low), static_cast<float>(high))};
}

Call::Values clamp_min(Call& call) {
    if (call.kind(1) == Argument::Kind::value) return call.refuse("a bound that is a tensor; use torch.maximum");
    return {clamp(call.tape(), call.tensor(0), static_cast<float>(call.number(1, 0)),
                  std::numeric_limits<float>::infinity())};
}
Call::Values clamp_max(Call& call) {
    if (call.kind(1) == Argument::Kind::value) return call.refuse("a bound that is a tensor; use torch.minimum");
    return {clamp(call.tape(), call.tensor(0), -std::numeric_limits<float>::infinity(),
                  static_cast<float>(call.number(1, 0)))};
}

/// (self, a, b, value): self + value · a·b, or self + value · a/b.
template <OpCode code>
Call::Values add_scaled(Call& call) {
    kernels::Tape& tape = call.tape();
    Value part = binary(tape, code, call.tensor(1), call.tensor(2));
    if (call.number(3, 1) != 1)
        part = binary(tape, OpCode::mul, part, call.graph().scalar(static_cast<float>(call.number(3, 1))));
    return {binary(tape, OpCode::add, call.tensor(0), part)};
}

/// a + weight · (b - a).
Call::Values lerp(Call& call) {
    kernels::Tape& tape = call.tape();
    const Value a = call.tensor(0), way = binary(tape, OpCode::sub, call.tensor(1), a);
    return {binary(tape, OpCode::add, a, binary(tape, OpCode::mul, call.operand(2), way))};
}

Call::Values apply_power(Call& call) {
    if (call.kind(1) == Argument::Kind::value) return call.refuse("an exponent that is a tensor; use a number");
    const Value x = call.tensor(0);
    if (!is_float(call, x)) return call.refuse(kIntegers);
    return {power(call.tape(), x, static_cast<float>(call.number(1, 1)))};
}

Call::Values reciprocal(Call& call) {
    return {binary(call.tape(), OpCode::div, call.graph().scalar(1.0f), call.tensor(0))};
}

bool is_int32(double x) { return x >= -2147483648.0 && x <= 2147483647.0 && std::floor(x) == x; }

template <OpCode code, bool negated = false>
Call::Values compare(Call& call) {
    const Value a = call.tensor(0);
    const bool whole = call.dtype(a) == DType::i32 && call.kind(1) != Argument::Kind::value;
    // PyTorch compares whole numbers with a fraction in float32, and with large ones in 64 bits.
    if (whole && !is_int32(call.number(1, 0)))
        return call.refuse(
            "a comparison of whole numbers with a fraction, or with one of more than 32 bits; "
            "convert to float32 first");
    const Value b = whole ? call.graph().scalar_i32(static_cast<std::int32_t>(call.number(1, 0))) : call.operand(1);
    if (call.dtype(a) != call.dtype(b) || call.dtype(a) == DType::boolean) {
        return call.refuse("a comparison of these types");
    }
    const Value found = elementwise(call.graph(), code, {a, b});
    return {negated ? call.graph().op(OpCode::logical_not, {found}) : found};
}

template <OpCode code>
Call::Values logic(Call& call) {
    std::vector<Value> operands{call.tensor(0)};
    if (code != OpCode::logical_not) operands.push_back(call.tensor(1));
    for (const Value operand : operands) {
        if (call.dtype(operand) != DType::boolean) return call.refuse("logic on what is no bool");
    }
    return {elementwise(call.graph(), code, operands)};
}

Call::Values masked_fill(Call& call) {
    const Value x = call.tensor(0), mask = call.tensor(1), filling = call.operand(2);
    if (!is_float(call, x) || !is_float(call, filling)) return call.refuse("a choice of whole numbers");
    if (call.dtype(mask) != DType::boolean) return call.refuse("a mask that is no bool");
    return {choose(call.tape(), mask, filling, x)};
}

Call::Values where(Call& call) {
    if (call.count() < 3) return call.refuse("where with a condition alone gives shapes that depend on data");
    const Value a = call.operand(1), b = call.operand(2);
    if (!is_float(call, a) || !is_float(call, b)) return call.refuse("a choice of whole numbers");
    if (call.dtype(call.tensor(0)) != DType::boolean) return call.refuse("a condition that is no bool");
    return {choose(call.tape(), call.tensor(0), a, b)};
}

template <auto function>
Call::Values along_axis(Call& call) {
    const Value x = call.tensor(0);
    if (call.dims(x).empty()) return call.refuse("a softmax of one number");
    return {function(call.tape(), x, call.axis(1, -1, call.dims(x).size()))};
}

}  // namespace

std::vector<ImportedOp> arithmetic_ops() {
    using enum TensorTypes;
    return {
        {"aten::add", f32, "", 1, signature::broadcasting_2, apply_binary<OpCode::add>},
        {"aten::sub", f32, "", 1, signature::broadcasting_2, apply_binary<OpCode::sub>},
        {"aten::mul", f32, "", 1, signature::broadcasting_2, apply_binary<OpCode::mul>},
        {"aten::div", f32, "", 1, signature::broadcasting_2, apply_binary<OpCode::div>},
        {"aten::rsub", f32, "", 1, signature::broadcasting_2, reversed_sub},
        {"aten::neg", f32, "T", 1, nullptr, apply_unary<OpCode::neg>},
        {"aten::abs", f32, "T", 1, nullptr, apply_unary<OpCode::abs>},
        {"aten::exp", f32, "T", 1, nullptr, apply_unary<OpCode::exp>},
        {"aten::log", f32, "T", 1, nullptr, apply_unary<OpCode::log>},
        {"aten::tanh", f32, "T", 1, nullptr, apply_unary<OpCode::tanh>},
        {"aten::sigmoid", f32, "T", 1, nullptr, apply_unary<OpCode::sigmoid>},
        {"aten::erf", f32, "T", 1, nullptr, apply_unary<OpCode::erf>},
        {"aten::sqrt", f32, "T", 1, nullptr, apply_unary<OpCode::sqrt>},
        {"aten::rsqrt", f32, "T", 1, nullptr, apply_unary<OpCode::rsqrt>},
        {"aten::reciprocal", f32, "T", 1, nullptr, reciprocal},
        {"aten::pow", f32, "T", 1, nullptr, apply_power},
        {"aten::clamp", f32, "T", 1, nullptr, apply_clamp},
        {"aten::clamp_min", f32, "T", 1, nullptr, clamp_min},
        {"aten::clamp_max", f32, "T", 1, nullptr, clamp_max},
        {"aten::addcmul", f32, "TTT", 1, signature::broadcasting_3, add_scaled<OpCode::mul>},
        {"aten::addcdiv", f32, "TTT", 1, signature::broadcasting_3, add_scaled<OpCode::div>},
        {"aten::lerp", f32, "TT", 1, signature::broadcasting_3, lerp},
        {"aten::eq", any, "T", 1, signature::broadcasting_2, compare<OpCode::equal>},
        {"aten::ne", any, "T", 1, signature::broadcasting_2, compare<OpCode::equal, true>},
        {"aten::lt", any, "T", 1, signature::broadcasting_2, compare<OpCode::less>},
        {"aten::le", any, "T", 1, signature::broadcasting_2, compare<OpCode::less_equal>},
        {"aten::gt", any, "T", 1, signature::broadcasting_2, compare<OpCode::greater>},
        {"aten::ge", any, "T", 1, signature::broadcasting_2, compare<OpCode::greater_equal>},
        {"aten::logical_and", any, "T", 1, signature::broadcasting_2, logic<OpCode::logical_and>},
        {"aten::logical_or", any, "T", 1, signature::broadcasting_2, logic<OpCode::logical_or>},
        {"aten::logical_not", any, "T", 1, nullptr, logic<OpCode::logical_not>},
        {"aten::bitwise_not", any, "T", 1, nullptr, logic<OpCode::logical_not>},
        {"aten::bitwise_and", any, "T", 1, signature::broadcasting_2, logic<OpCode::logical_and>},
        {"aten::bitwise_or", any, "T", 1, signature::broadcasting_2, logic<OpCode::logical_or>},
        {"aten::masked_fill", any, "TT", 1, signature::broadcasting_3, masked_fill},
        {"aten::where", any, "T", 1, signature::where, where},
        {"aten::softmax", f32, "T", 1, nullptr, along_axis<kernels::softmax>},
        {"aten::_softmax", f32, "T", 1, nullptr, along_axis<kernels::softmax>},
        {"aten::log_softmax", f32, "T", 1, nullptr, along_axis<kernels::log_softmax>},
        {"aten::_log_softmax", f32, "T", 1, nullptr, along_axis<kernels::log_softmax>},
    };
}

}  // namespace retrace::solver
