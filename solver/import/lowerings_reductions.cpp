// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using kernels::Graph;
using kernels::OpCode;
using kernels::Tape;
using kernels::Value;
using Kind = Argument::Kind;
using Axes = std::vector<std::size_t>;
using Gradients = std::vector<std::optional<Value>>;

/// Ascending; all where argument `i` names none.
Axes axes_of(Call& call, std::size_t i, std::size_t rank) {
    std::vector<bool> chosen(rank, false);
    const std::vector<std::int64_t> named = call.integers(i);
    for (const std::int64_t axis : named) {
        const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
        if (at >= 0 && at < static_cast<std::int64_t>(rank)) chosen[static_cast<std::size_t>(at)] = true;
    }
    Axes out;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (named.empty() || chosen[axis]) out.push_back(axis);
    }
    return out;
}

std::uint64_t count_of(const Dims& dims, const Axes& axes) {
    std::uint64_t out = 1;
    for (const std::size_t axis : axes) out *= dims[axis];
    return out;
}

/// (x, dtype) or (x, axes, keep, dtype).
template <auto reduce>
Call::Values reduction(Call& call) {
    const Value x = call.tensor(0);
    if (call.dtype(x) != DType::f32) return call.refuse(kIntegers);
    const bool all = call.count() < 3;
    const std::size_t rank = call.dims(x).size();
    const Axes axes = all ? axes_of(call, call.count(), rank) : axes_of(call, 1, rank);
    return {reduce(call.tape(), x, axes, !all && call.flag(2))};
}

// ---- spread
// ---------------------------------------------------------------------------------------------------------

struct Spread {
    Value variance, mean;
};

/// (x, unbiased), (x, axes, unbiased, keep) or (x, axes, correction, keep).
std::optional<Spread> spread_of(Call& call) {
    Tape& tape = call.tape();
    const Value x = call.tensor(0);
    if (call.dtype(x) != DType::f32) return std::nullopt;
    const bool all = call.kind(1) == Kind::boolean;
    const std::size_t which = all ? 1 : 2;
    const Axes axes = axes_of(call, all ? call.count() : 1, call.dims(x).size());
    const double correction = call.kind(which) == Kind::none ? 1 : call.number(which, 1);
    const double count = static_cast<double>(count_of(call.dims(x), axes));
    if (!(count > correction)) return std::nullopt;
    const bool keep = !all && call.flag(3);
    const Value centre = mean_axes(tape, x, axes, true), off = binary(tape, OpCode::sub, x, centre);
    const Value total = sum_axes(tape, binary(tape, OpCode::mul, off, off), axes, keep);
    const Value divisor = call.graph().scalar(static_cast<float>(count - correction));
    return Spread{binary(tape, OpCode::div, total, divisor), view_as(tape, centre, call.dims(total))};
}

template <bool deviation, bool with_mean>
Call::Values apply_spread(Call& call) {
    const std::optional<Spread> spread = spread_of(call);
    if (!spread) return call.refuse("a variance of too few numbers, or of whole ones");
    Call::Values out{deviation ? root_of(call.tape(), spread->variance) : spread->variance};
    if (with_mean) out.push_back(spread->mean);
    return out;
}

/// (x, p), (x, p, axes, keep, dtype) as aten::norm and aten::linalg_vector_norm have it.
Call::Values norm(Call& call) {
    Tape& tape = call.tape();
    const Value x = call.tensor(0);
    const double p = call.number(1, 2);
    if (call.dtype(x) != DType::f32 || (p != 1 && p != 2)) return call.refuse("a norm other than 1 and 2");
    const Axes axes = axes_of(call, 2, call.dims(x).size());
    const bool keep = call.flag(3);
    if (p == 1) return {sum_axes(tape, unary(tape, OpCode::abs, x), axes, keep)};
    return {root_of(tape, sum_axes(tape, binary(tape, OpCode::mul, x, x), axes, keep))};
}

// ---- extremes
// -------------------------------------------------------------------------------------------------------

/// The axes of a reduction as one, the last: [rows, count], with the permutation undone by the gradient.
Value gathered(Call& call, Value x, const Axes& axes) {
    const Dims dims = call.dims(x);
    std::vector<std::uint64_t> order;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
    }
    order.insert(order.end(), axes.begin(), axes.end());
    const std::uint64_t count = count_of(dims, axes), all = kernels::geometry(dims).elements();
    const bool sorted = std::is_sorted(order.begin(), order.end());
    const Value turned = sorted ? x : kernels::permuted(call.tape(), x, order);
    return view_as(call.tape(), turned, {all / count, count});
}

/// The greatest of each row [rows, 1]; equal ones share the gradient.
Value greatest_shared(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value y = max_rows(g, x);
    return tape.note({x}, y, [&g, x, y](Value dy, const std::vector<bool>&) {
        const Value ones = kernels::convert(g, g.op(OpCode::equal, {x, y}), DType::f32);
        return Gradients{mul(g, ones, div(g, dy, sum_rows(g, ones)))};
    });
}

/// The greatest of each row; the first of equal ones gets the gradient.
Value greatest_first(Tape& tape, Value x, Value first) {
    Graph& g = tape.graph();
    return tape.note({x}, max_rows(g, x), [&g, x, first](Value dy, const std::vector<bool>&) {
        const Value chosen = one_hot(g, first, g.dims(x)[1]);
        return Gradients{select(g, chosen, dy, g.scalar(0.0f))};
    });
}

/// The place of the greatest of each row; of equal ones the first, as PyTorch has it. The op counts +0 as greater than
/// -0, and the sum of both is +0.
Value first_place(Graph& g, Value rows) { return argmax_rows(g, add(g, rows, g.scalar(0.0f))); }

Value turned_sign(Call& call, Value x, bool minimum) { return minimum ? unary(call.tape(), OpCode::neg, x) : x; }

/// amax, amin (x, axes, keep), and max, min of everything (x).
template <bool minimum>
Call::Values extreme_of_axes(Call& call) {
    const Value x = call.tensor(0);
    if (call.dtype(x) != DType::f32) return call.refuse(kIntegers);
    const auto axes = axes_of(call, 1, call.dims(x).size());
    const Value rows = gathered(call, turned_sign(call, x, minimum), axes);
    const Value y = turned_sign(call, greatest_shared(call.tape(), rows), minimum);
    return {view_as(call.tape(), y, call.result_dims())};
}

/// The greater (or smaller) of two; where they are equal each gets half of the gradient.
template <bool minimum>
Call::Values extreme_of_two(Call& call) {
    Tape& tape = call.tape();
    Graph& g = call.graph();
    const Value a = call.tensor(0), b = call.tensor(1);
    if (call.dtype(a) != DType::f32 || call.dtype(b) != DType::f32) return call.refuse(kIntegers);
    const Value half = g.scalar(0.5f), middle = binary(tape, OpCode::mul, binary(tape, OpCode::add, a, b), half);
    const Value first = elementwise(g, minimum ? OpCode::less : OpCode::greater, {a, b});
    const Value equal = elementwise(g, OpCode::equal, {a, b});
    return {choose(tape, equal, middle, choose(tape, first, a, b))};
}

/// (x, axis, keep) → values and their places; (x) → the extreme of everything; (x, other) → elementwise.
template <bool minimum>
Call::Values extreme(Call& call) {
    if (call.count() == 1) return extreme_of_axes<minimum>(call);
    if (call.kind(1) == Kind::value) return extreme_of_two<minimum>(call);
    const Value x = call.tensor(0);
    if (call.dtype(x) != DType::f32) return call.refuse(kIntegers);
    const Axes axes{call.axis(1, 0, call.dims(x).size())};
    const Value rows = gathered(call, turned_sign(call, x, minimum), axes);
    const Value first = first_place(call.graph(), rows);
    const Value y = turned_sign(call, greatest_first(call.tape(), rows, first), minimum);
    return {view_as(call.tape(), y, call.result_dims(0)), kernels::reshape(call.graph(), first, call.result_dims(1))};
}

/// (x, axis, keep); of everything where no axis is named.
template <bool minimum>
Call::Values place_of_extreme(Call& call) {
    const Value x = call.tensor(0);
    if (call.dtype(x) != DType::f32) return call.refuse(kIntegers);
    const std::size_t rank = call.dims(x).size();
    const Axes axes = call.kind(1) == Kind::none ? axes_of(call, call.count(), rank) : Axes{call.axis(1, 0, rank)};
    const Value rows = gathered(call, turned_sign(call, x, minimum), axes);
    return {kernels::reshape(call.graph(), first_place(call.graph(), rows), call.result_dims())};
}

/// log Σ exp(x), the greatest taken out first; its gradient is the softmax.
Call::Values logsumexp(Call& call) {
    Graph& g = call.graph();
    const Value rows = gathered(call, call.tensor(0), axes_of(call, 1, call.dims(call.tensor(0)).size()));
    const Value most = max_rows(g, rows), powers = g.op(OpCode::exp, {sub(g, rows, most)});
    const Value total = sum_rows(g, powers);
    const Value y = call.tape().note({rows}, add(g, g.op(OpCode::log, {total}), most),
                                     [&g, powers, total](Value dy, const std::vector<bool>&) {
                                         return Gradients{mul(g, div(g, powers, total), dy)};
                                     });
    return {view_as(call.tape(), y, call.result_dims())};
}

}  // namespace

std::vector<ImportedOp> reduction_ops() {
    using enum TensorTypes;
    return {
        {"aten::sum", f32, "T", 1, nullptr, reduction<kernels::sum_axes>},
        {"aten::mean", f32, "T", 1, nullptr, reduction<kernels::mean_axes>},
        {"aten::var", f32, "T", 1, nullptr, apply_spread<false, false>},
        {"aten::std", f32, "T", 1, nullptr, apply_spread<true, false>},
        {"aten::var_mean", f32, "T", 1, nullptr, apply_spread<false, true>},
        {"aten::std_mean", f32, "T", 1, nullptr, apply_spread<true, true>},
        {"aten::norm", f32, "T", 1, nullptr, norm},
        {"aten::linalg_vector_norm", f32, "T", 1, nullptr, norm},
        {"aten::amax", f32, "T", 1, signature::over_axes, extreme_of_axes<false>},
        {"aten::amin", f32, "T", 1, signature::over_axes, extreme_of_axes<true>},
        {"aten::max", f32, "T", 1, signature::extreme, extreme<false>},
        {"aten::min", f32, "T", 1, signature::extreme, extreme<true>},
        {"aten::maximum", f32, "TT", 1, signature::broadcasting_2, extreme_of_two<false>},
        {"aten::minimum", f32, "TT", 1, signature::broadcasting_2, extreme_of_two<true>},
        {"aten::argmax", f32, "T", 1, signature::place_of_extreme, place_of_extreme<false>},
        {"aten::argmin", f32, "T", 1, signature::place_of_extreme, place_of_extreme<true>},
        {"aten::logsumexp", f32, "T", 1, signature::over_axes, logsumexp},
    };
}

}  // namespace retrace::solver
