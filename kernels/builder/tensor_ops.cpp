// SPDX-License-Identifier: MIT
#include "kernels/builder/tensor_ops.hpp"

#include <algorithm>

#include "kernels/builder/layers.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {
namespace {

using Gradients = std::vector<std::optional<Value>>;
using Needed = std::vector<bool>;

Value multiply(Graph& g, Value a, Value b) { return elementwise(g, OpCode::mul, {a, b}); }

/// Returns dy times the derivative of a function of one argument at x, where the function has the value y.
Value through(Graph& g, OpCode code, Value x, Value y, Value dy) {
    const Value one = g.scalar(1.0f), zero = g.scalar(0.0f);
    switch (code) {
        case OpCode::neg: return neg(g, dy);
        case OpCode::abs: {
            const Value minus = neg(g, dy);
            const Value below = select(g, g.op(OpCode::less, {x, zero}), minus, zero);
            return select(g, g.op(OpCode::greater, {x, zero}), dy, below);
        }
        case OpCode::exp: return mul(g, dy, y);
        case OpCode::log: return div(g, dy, x);
        case OpCode::tanh: return mul(g, dy, sub(g, one, mul(g, y, y)));
        case OpCode::sigmoid: return mul(g, dy, mul(g, y, sub(g, one, y)));
        case OpCode::erf: {
            const Value density = g.op(OpCode::exp, {neg(g, mul(g, x, x))});
            return mul(g, dy, scale(g, density, 1.12837917f));  // 2/√π
        }
        case OpCode::sqrt: return div(g, dy, scale(g, y, 2.0f));
        case OpCode::rsqrt: {
            const Value cube = mul(g, y, mul(g, y, y));
            return mul(g, scale(g, dy, -0.5f), cube);
        }
        default: break;
    }
    ensure(false, "a function with a derivative");
    return dy;
}

/// Returns the permutation that moves one axis to the end; `back` is its inverse.
std::vector<std::uint64_t> to_end(std::size_t rank, std::size_t axis, std::vector<std::uint64_t>& back) {
    std::vector<std::uint64_t> order;
    for (std::size_t i = 0; i < rank; ++i) {
        if (i != axis) order.push_back(i);
    }
    order.push_back(axis);
    back.resize(rank);
    for (std::size_t i = 0; i < rank; ++i) back[order[i]] = i;
    return order;
}

Value turned(Tape& tape, Value x, const std::vector<std::uint64_t>& order) {
    Graph& g = tape.graph();
    if (std::is_sorted(order.begin(), order.end())) return x;
    std::vector<std::uint64_t> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
    return tape.note({x}, permute(g, x, order),
                     [&g, back](Value dy, const Needed&) { return Gradients{permute(g, dy, back)}; });
}

Value softmax_last(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value powers = g.op(OpCode::exp, {sub(g, x, max_rows(g, x))});
    const Value y = div(g, powers, sum_rows(g, powers));
    return tape.note({x}, y, [&g, y](Value dy, const Needed&) {
        return Gradients{mul(g, y, sub(g, dy, sum_rows(g, mul(g, dy, y))))};
    });
}

Value log_softmax_last(Tape& tape, Value x) {
    Graph& g = tape.graph();
    const Value shifted = sub(g, x, max_rows(g, x)), powers = g.op(OpCode::exp, {shifted});
    const Value total = sum_rows(g, powers);
    return tape.note({x}, sub(g, shifted, g.op(OpCode::log, {total})), [=, &g](Value dy, const Needed&) {
        const Value sums = sum_rows(g, dy);
        return Gradients{sub(g, dy, mul(g, div(g, powers, total), sums))};
    });
}

template <class Function>
Value over_axis(Tape& tape, Value x, std::size_t axis, const Function& function) {
    std::vector<std::uint64_t> back;
    const auto order = to_end(tape.graph().dims(x).size(), axis, back);
    return turned(tape, function(tape, turned(tape, x, order)), back);
}

Dims with_ones(Dims dims, const std::vector<std::size_t>& axes) {
    for (const std::size_t axis : axes) dims[axis] = 1;
    return dims;
}

Dims without(const Dims& dims, const std::vector<std::size_t>& axes) {
    Dims out;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (std::find(axes.begin(), axes.end(), i) == axes.end()) out.push_back(dims[i]);
    }
    return out;
}

std::vector<std::uint64_t> pad_attributes(const Dims& before, const Dims& after, float value) {
    std::vector<std::uint64_t> out(before.begin(), before.end());
    out.insert(out.end(), after.begin(), after.end());
    out.push_back(to_bits(value));
    return out;
}

}  // namespace

Value binary(Tape& tape, OpCode code, Value a, Value b) {
    Graph& g = tape.graph();
    const Value y = elementwise(g, code, {a, b});
    return tape.note({a, b}, y, [=, &g](Value dy, const Needed& needed) {
        Gradients out(2);
        const auto give = [&](std::size_t i, Value whole, Value operand) {
            out[i] = sum_to(g, whole, g.dims(operand));
        };
        switch (code) {
            case OpCode::add:
            case OpCode::sub:
                if (needed[0]) give(0, dy, a);
                if (needed[1]) give(1, code == OpCode::sub ? neg(g, dy) : dy, b);
                break;
            case OpCode::mul:
                if (needed[0]) give(0, multiply(g, dy, b), a);
                if (needed[1]) give(1, multiply(g, dy, a), b);
                break;
            default:
                ensure(code == OpCode::div, "add, sub, mul or div");
                if (needed[0]) give(0, elementwise(g, OpCode::div, {dy, b}), a);
                if (needed[1]) give(1, neg(g, multiply(g, dy, elementwise(g, OpCode::div, {y, b}))), b);
        }
        return out;
    });
}

Value unary(Tape& tape, OpCode code, Value x) {
    Graph& g = tape.graph();
    const Value y = g.op(code, {x});
    return tape.note({x}, y, [=, &g](Value dy, const Needed&) { return Gradients{through(g, code, x, y, dy)}; });
}

Value power(Tape& tape, Value x, float exponent) {
    Graph& g = tape.graph();
    const auto raised = [&g, x](float n) { return n == 1.0f ? x : g.op(OpCode::pow, {x, g.scalar(n)}); };
    const Value y = exponent == 2.0f ? mul(g, x, x) : raised(exponent);
    return tape.note({x}, y, [=, &g](Value dy, const Needed&) {
        return Gradients{mul(g, dy, scale(g, raised(exponent - 1.0f), exponent))};
    });
}

Value choose(Tape& tape, Value condition, Value a, Value b) {
    Graph& g = tape.graph();
    const Value y = elementwise(g, OpCode::select, {condition, a, b});
    return tape.note({a, b}, y, [=, &g](Value dy, const Needed& needed) {
        const Value zero = g.scalar(0.0f);
        Gradients out(2);
        if (needed[0]) out[0] = sum_to(g, elementwise(g, OpCode::select, {condition, dy, zero}), g.dims(a));
        if (needed[1]) out[1] = sum_to(g, elementwise(g, OpCode::select, {condition, zero, dy}), g.dims(b));
        return out;
    });
}

Value clamp(Tape& tape, Value x, float low, float high) {
    Graph& g = tape.graph();
    const Value least = g.scalar(low), most = g.scalar(high);
    return tape.note({x}, g.op(OpCode::min, {g.op(OpCode::max, {x, least}), most}), [=, &g](Value dy, const Needed&) {
        const Value inside =
            g.op(OpCode::logical_and, {g.op(OpCode::greater_equal, {x, least}), g.op(OpCode::less_equal, {x, most})});
        return Gradients{select(g, inside, dy, g.scalar(0.0f))};
    });
}

Value softmax(Tape& tape, Value x, std::size_t axis) { return over_axis(tape, x, axis, softmax_last); }
Value log_softmax(Tape& tape, Value x, std::size_t axis) { return over_axis(tape, x, axis, log_softmax_last); }

Value sum_axes(Tape& tape, Value x, const std::vector<std::size_t>& axes, bool keep) {
    Graph& g = tape.graph();
    const Dims whole = g.dims(x), ones = with_ones(whole, axes);
    const Value y = reshape(g, sum_to(g, x, ones), keep ? ones : without(whole, axes));
    return tape.note({x}, y,
                     [=, &g](Value dy, const Needed&) { return Gradients{spread(g, reshape(g, dy, ones), whole)}; });
}

Value mean_axes(Tape& tape, Value x, const std::vector<std::size_t>& axes, bool keep) {
    Graph& g = tape.graph();
    std::uint64_t count = 1;
    for (const std::size_t axis : axes) count *= g.dims(x)[axis];
    const Value divisor = g.scalar(static_cast<float>(count));
    return binary(tape, OpCode::div, sum_axes(tape, x, axes, keep), divisor);
}

Value part_of(Tape& tape, Value x, std::size_t axis, std::uint64_t start, std::uint64_t extent) {
    Graph& g = tape.graph();
    const Dims whole = g.dims(x);
    Dims dims = whole, before(whole.size(), 0), after(whole.size(), 0);
    dims[axis] = extent;
    before[axis] = start;
    after[axis] = whole[axis] - start - extent;
    if (dims == whole) return x;
    return tape.note({x}, slice(g, x, before, dims), [=, &g](Value dy, const Needed&) {
        return Gradients{g.op(OpCode::pad, {dy}, pad_attributes(before, after, 0.0f))};
    });
}

Value joined(Tape& tape, const std::vector<Value>& values, std::size_t axis) {
    Graph& g = tape.graph();
    return tape.note(values, g.op(OpCode::concat, values, {axis}), [=, &g](Value dy, const Needed& needed) {
        Gradients out(values.size());
        Dims start(g.dims(dy).size(), 0);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (needed[i]) out[i] = slice(g, dy, start, g.dims(values[i]));
            start[axis] += g.dims(values[i])[axis];
        }
        return out;
    });
}

Value padded(Tape& tape, Value x, const Dims& before, const Dims& after, float value) {
    Graph& g = tape.graph();
    return tape.note({x}, g.op(OpCode::pad, {x}, pad_attributes(before, after, value)),
                     [=, &g](Value dy, const Needed&) { return Gradients{slice(g, dy, before, g.dims(x))}; });
}

Value matrix_product(Tape& tape, Value a, Value b, Precision precision) {
    Graph& g = tape.graph();
    const Dims da = g.dims(a), db = g.dims(b);
    const std::uint64_t m = da[da.size() - 2], k = da.back(), n = db.back();
    const auto lead = *broadcast_shape({Dims(da.begin(), da.end() - 2), Dims(db.begin(), db.end() - 2)});
    std::uint64_t count = 1;
    for (const std::uint64_t extent : lead) count *= extent;
    const auto with = [&lead](std::uint64_t rows, std::uint64_t cols) {
        Dims out = lead;
        out.push_back(rows);
        out.push_back(cols);
        return out;
    };
    // Many matrices times a single one are one product; otherwise each pair is a separate product.
    const bool shared = db.size() == 2;
    const Dims flat_a = shared ? Dims{count * m, k} : Dims{count, m, k};
    const Value x = view_as(tape, shared ? a : broadcast_to(tape, a, with(m, k)), flat_a);
    const Value w = shared ? b : view_as(tape, broadcast_to(tape, b, with(k, n)), {count, k, n});
    const Value y = tape.note({x, w}, matmul(g, x, w, precision), [=, &g](Value dy, const Needed& needed) {
        Gradients out(2);
        if (needed[0]) out[0] = matmul(g, dy, w, precision, false, true);
        if (needed[1]) out[1] = matmul(g, x, dy, precision, true, false);
        return out;
    });
    return view_as(tape, y, with(m, n));
}

}  // namespace retrace::kernels
