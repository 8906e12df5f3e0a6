// SPDX-License-Identifier: MIT
#include "solver/import/lowering_tools.hpp"

#include <algorithm>
#include <bit>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"

namespace retrace::solver {

using kernels::Dims;
using kernels::DType;
using kernels::Graph;
using kernels::OpCode;
using kernels::Tape;
using kernels::Value;

namespace {

using Gradients = std::vector<std::optional<Value>>;
using Needed = std::vector<bool>;

Value reordered(Tape& tape, Value x, const std::vector<std::uint64_t>& order) {
    return std::is_sorted(order.begin(), order.end()) ? x : kernels::permuted(tape, x, order);
}

std::vector<std::uint64_t> inverse(const std::vector<std::uint64_t>& order) {
    std::vector<std::uint64_t> out(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) out[order[i]] = i;
    return out;
}

}  // namespace

Value along(Tape& tape, Value x, std::size_t axis, const std::function<Value(Value)>& function) {
    const std::size_t rank = tape.graph().dims(x).size();
    std::vector<std::uint64_t> order;
    for (std::size_t i = 0; i < rank; ++i) {
        if (i != axis) order.push_back(i);
    }
    order.push_back(axis);
    return reordered(tape, function(reordered(tape, x, order)), inverse(order));
}

Value picked(Tape& tape, Value x, std::size_t axis, Value index) {
    Graph& g = tape.graph();
    std::vector<std::uint64_t> order{axis};
    for (std::size_t i = 0; i < g.dims(x).size(); ++i) {
        if (i != axis) order.push_back(i);
    }
    const Value turned = reordered(tape, x, order);
    Dims dims = g.dims(turned);
    const std::uint64_t extent = dims[0],
                        rest = kernels::geometry(dims).elements() / std::max<std::uint64_t>(extent, 1);
    const Value rows = view_as(tape, turned, {extent, rest});
    const Value found =
        tape.note({rows}, g.op(OpCode::gather_rows, {rows, index}), [&g, index, extent](Value dy, const Needed&) {
            return Gradients{g.op(OpCode::scatter_add_rows, {dy, index}, {extent})};
        });
    dims[0] = g.dims(index)[0];
    return reordered(tape, view_as(tape, found, dims), inverse(order));
}

Value picked(Tape& tape, Value x, std::size_t axis, const std::vector<std::int64_t>& index) {
    return picked(tape, x, axis, constant_of(tape.graph(), index));
}

Value mapped_along(Tape& tape, Value x, std::size_t axis, std::uint64_t out, const std::vector<float>& matrix) {
    const std::uint64_t in = tape.graph().dims(x)[axis];
    std::vector<float> transposed(matrix.size());
    for (std::uint64_t i = 0; i < out; ++i) {
        for (std::uint64_t j = 0; j < in; ++j) transposed[j * out + i] = matrix[i * in + j];
    }
    const Value map = constant_of(tape.graph(), {in, out}, transposed);
    return along(tape, x, axis, [&](Value turned) {
        const bool flat = tape.graph().dims(turned).size() == 1;
        const Value y =
            matrix_product(tape, flat ? view_as(tape, turned, {1, in}) : turned, map, kernels::Precision::f32);
        return flat ? view_as(tape, y, {out}) : y;
    });
}

Value stretched(Tape& tape, Value x, std::size_t axis, std::uint64_t gap) {
    if (gap == 1) return x;
    Dims dims = tape.graph().dims(x);
    const Around at = around(dims, axis);
    Value y = view_as(tape, x, {at.before, at.extent, 1, at.after});
    y = view_as(tape, padded(tape, y, {0, 0, 0, 0}, {0, 0, gap - 1, 0}, 0.0f), {at.before, at.extent * gap, at.after});
    dims[axis] = (at.extent - 1) * gap + 1;
    return view_as(tape, part_of(tape, y, 1, 0, dims[axis]), dims);
}

Value repeated(Tape& tape, Value x, std::size_t axis, std::uint64_t times) {
    if (times == 1) return x;
    Dims dims = tape.graph().dims(x);
    const Around at = around(dims, axis);
    const std::uint64_t block = at.extent * at.after;
    const Value y = broadcast_to(tape, view_as(tape, x, {at.before, 1, block}), {at.before, times, block});
    dims[axis] *= times;
    return view_as(tape, y, dims);
}

Value joined_all(Tape& tape, std::vector<Value> values, std::size_t axis) {
    constexpr std::size_t kInputsMax = 64;
    while (values.size() > 1) {
        std::vector<Value> next;
        for (std::size_t i = 0; i < values.size(); i += kInputsMax) {
            const auto first = values.begin() + static_cast<std::ptrdiff_t>(i);
            const auto last = values.begin() + static_cast<std::ptrdiff_t>(std::min(i + kInputsMax, values.size()));
            next.push_back(joined(tape, std::vector<Value>(first, last), axis));
        }
        values = std::move(next);
    }
    return values.front();
}

Value with_slope(Tape& tape, Value x, Value y, std::function<Value()> slope) {
    Graph& g = tape.graph();
    return tape.note(
        {x}, y, [&g, slope = std::move(slope)](Value dy, const Needed&) { return Gradients{mul(g, dy, slope())}; });
}

Value root_of(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value y = g.op(OpCode::sqrt, {x});
    return with_slope(tape, x, y, [&g, y] {
        const Value slope = div(g, g.scalar(0.5f), y);
        const Value zero = g.scalar(0.0f);
        return select(g, g.op(OpCode::greater, {y, zero}), slope, zero);
    });
}

// With u = 1 + x rounded, log(u)·x/(u - 1) undoes the rounding (Kahan). From 2^24 on there is none to undo,
// and the product might be infinite.
Value log_of_one_more(Graph& g, Value x) {
    const Value one = g.scalar(1.0f), more = add(g, x, one), log = g.op(OpCode::log, {more});
    const Value rounded = sub(g, more, one), product = mul(g, log, x), whole = div(g, product, rounded);
    const Value exact = select(g, g.op(OpCode::less, {more, g.scalar(16777216.0f)}), whole, log);
    return select(g, g.op(OpCode::equal, {more, one}), x, exact);
}

Value softplus(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value small = g.op(OpCode::exp, {neg(g, g.op(OpCode::abs, {x}))});
    const Value log = log_of_one_more(g, small), positive = g.op(OpCode::relu, {x}), y = add(g, positive, log);
    return with_slope(tape, x, y, [&g, x] { return g.op(OpCode::sigmoid, {x}); });
}

Value constant_of(Graph& g, const Dims& dims, const std::vector<float>& values) {
    Bytes data(values.size() * 4);
    for (std::size_t i = 0; i < values.size(); ++i)
        store_u32(data.data() + 4 * i, std::bit_cast<std::uint32_t>(values[i]));
    return g.constant(DType::f32, dims, std::move(data));
}

Value constant_of(Graph& g, const std::vector<std::int64_t>& values) {
    Bytes data(values.size() * 4);
    for (std::size_t i = 0; i < values.size(); ++i)
        store_u32(data.data() + 4 * i, static_cast<std::uint32_t>(static_cast<std::int32_t>(values[i])));
    return g.constant(DType::i32, {values.size()}, std::move(data));
}

Around around(const Dims& dims, std::size_t axis) {
    Around out;
    for (std::size_t i = 0; i < axis; ++i) out.before *= dims[i];
    out.extent = dims[axis];
    for (std::size_t i = axis + 1; i < dims.size(); ++i) out.after *= dims[i];
    return out;
}

}  // namespace retrace::solver
