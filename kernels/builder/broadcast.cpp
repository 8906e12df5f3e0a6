// SPDX-License-Identifier: MIT
// The primitives stretch operands along one axis of a matrix. Broadcasting of tensors of any rank is reduced to that by
// a view [outer, inner]: an operand that repeats over the outer axes is a row, one that repeats over the inner axes a
// column. Any other operand is expanded first.
#include <algorithm>

#include "kernels/builder/tensor_ops.hpp"

namespace retrace::kernels {
namespace {

enum class Role : std::uint8_t { full, row, column, single, mixed };

struct Fit {
    Role role = Role::full;
    std::uint64_t outer = 0;  ///< Rows of the view, if the role is row or column.
};

std::uint64_t product(const Dims& dims, std::size_t from, std::size_t to) {
    std::uint64_t out = 1;
    for (std::size_t i = from; i < to; ++i) out *= dims[i];
    return out;
}

/// Returns `dims` with leading ones up to the rank of `whole`.
Dims aligned(const Dims& dims, const Dims& whole) {
    Dims out(whole.size() - dims.size(), 1);
    out.insert(out.end(), dims.begin(), dims.end());
    return out;
}

Fit fit(const Dims& operand, const Dims& whole) {
    const Dims dims = aligned(operand, whole);
    std::vector<std::size_t> kept, stretched;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] != 1) (dims[i] == whole[i] ? kept : stretched).push_back(i);
    }
    if (stretched.empty()) return {Role::full, 0};
    if (kept.empty()) return {Role::single, 0};
    if (stretched.back() < kept.front()) return {Role::row, product(whole, 0, kept.front())};
    if (kept.back() < stretched.front()) return {Role::column, product(whole, 0, kept.back() + 1)};
    return {Role::mixed, 0};
}

/// Reshapes the operand for the view [outer, inner]; `view` has these rows and columns.
Value as_viewed(Graph& g, Value x, Role role, const Dims& view) {
    const Geometry shape = geometry(view);
    switch (role) {
        case Role::row: return reshape(g, x, {shape.cols});
        case Role::column: return reshape(g, x, {shape.rows, 1});
        case Role::single: return reshape(g, x, {});
        default: return reshape(g, x, view);
    }
}

/// Copies bits while stretching. There is no op for this, but each type has an op that can return its operand
/// unchanged.
Value stretch(Graph& g, Value x, const Dims& dims) {
    const OpFacts::Operand out{g.shape(x).dtype, dims};
    if (out.dtype == DType::boolean) return g.op(OpCode::logical_or, {x, x}, {}, out);
    if (out.dtype == DType::f32) return broadcast(g, x, dims);
    return g.op(OpCode::select, {g.constant(DType::boolean, {}, {1}), x, x}, {}, out);
}

/// Returns the axes of `whole` that the operand has, then those along which it is stretched.
std::vector<std::uint64_t> kept_first(const Dims& dims, const Dims& whole, std::size_t& kept) {
    std::vector<std::uint64_t> order;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (dims[i] == whole[i]) order.push_back(i);
    }
    kept = order.size();
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (dims[i] != whole[i]) order.push_back(i);
    }
    return order;
}

}  // namespace

std::optional<Dims> broadcast_shape(const std::vector<Dims>& shapes) {
    Dims out;
    for (const Dims& dims : shapes) {
        if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
        const std::size_t offset = out.size() - dims.size();
        for (std::size_t i = 0; i < dims.size(); ++i) {
            std::uint64_t& extent = out[offset + i];
            if (dims[i] == extent || dims[i] == 1) continue;
            if (extent != 1) return std::nullopt;
            extent = dims[i];
        }
    }
    return out;
}

Value spread(Graph& g, Value x, const Dims& dims) {
    const Fit how = fit(g.dims(x), dims);
    if (how.role == Role::full) return reshape(g, x, dims);
    const std::uint64_t all = product(dims, 0, dims.size());
    if (how.role == Role::single) return reshape(g, stretch(g, reshape(g, x, {}), {1, all}), dims);
    if (how.role != Role::mixed) {
        const Dims view{how.outer, all / how.outer};
        return reshape(g, stretch(g, as_viewed(g, x, how.role, view), view), dims);
    }
    const Dims own = aligned(g.dims(x), dims);
    std::size_t kept = 0;
    const std::vector<std::uint64_t> order = kept_first(own, dims, kept);
    Dims turned;
    std::vector<std::uint64_t> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        turned.push_back(dims[order[i]]);
        back[order[i]] = i;
    }
    const std::uint64_t rows = product(turned, 0, kept);
    const Value whole = stretch(g, reshape(g, x, {rows, 1}), {rows, all / rows});
    return permute(g, reshape(g, whole, turned), back);
}

Value sum_to(Graph& g, Value x, const Dims& dims) {
    const Dims& whole = g.dims(x);
    const Fit how = fit(dims, whole);
    const std::uint64_t all = g.matrix(x).elements();
    switch (how.role) {
        case Role::full: return reshape(g, x, dims);
        case Role::single: return reshape(g, sum_all(g, x), dims);
        case Role::row: return reshape(g, sum_columns(g, reshape(g, x, {how.outer, all / how.outer})), dims);
        case Role::column: return reshape(g, sum_rows(g, reshape(g, x, {how.outer, all / how.outer})), dims);
        case Role::mixed: break;
    }
    std::size_t kept = 0;
    const std::vector<std::uint64_t> order = kept_first(aligned(dims, whole), whole, kept);
    const std::uint64_t rows = geometry(dims).elements();
    return reshape(g, sum_rows(g, reshape(g, permute(g, x, order), {rows, all / rows})), dims);
}

Value elementwise(Graph& g, OpCode code, std::vector<Value> operands) {
    std::vector<Dims> shapes;
    for (const Value operand : operands) shapes.push_back(g.dims(operand));
    const std::optional<Dims> whole = broadcast_shape(shapes);
    ensure(whole.has_value(), "operands that broadcast");
    std::vector<Fit> fits;
    std::uint64_t outer = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        Fit how = fit(shapes[i], *whole);
        const bool stretched = how.role == Role::row || how.role == Role::column;
        if (stretched && outer == 0) outer = how.outer;
        if (how.role == Role::mixed || (stretched && how.outer != outer)) {
            operands[i] = spread(g, operands[i], *whole);
            how = {};
        }
        fits.push_back(how);
    }
    // Uses the tensor's own matrix as the view where possible, so that nothing is reshaped.
    const std::uint64_t all = product(*whole, 0, whole->size());
    const bool own = outer == 0 || geometry(*whole).rows == outer;
    const Dims view = own ? *whole : Dims{outer, all / outer};
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = as_viewed(g, operands[i], fits[i].role, view);
    return reshape(g, g.op(code, operands, {}, {DType::f32, view}), *whole);
}

Value broadcast_to(Tape& tape, Value x, const Dims& dims) {
    Graph& g = tape.graph();
    if (g.dims(x) == dims) return x;
    return tape.note({x}, spread(g, x, dims), [&g, x](Value dy, const std::vector<bool>&) {
        return std::vector<std::optional<Value>>{sum_to(g, dy, g.dims(x))};
    });
}

}  // namespace retrace::kernels
