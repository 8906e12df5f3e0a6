// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/tensor_ops.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using kernels::OpCode;
using kernels::Value;

std::uint64_t elements(const Dims& dims) { return kernels::geometry(dims).elements(); }

/// The same elements under the recorded shape.
Call::Values same_elements(Call& call) {
    const Value x = call.tensor(0);
    if (call.dtype(x) != call.result_dtype()) return call.refuse("another type of the same bits");
    if (elements(call.dims(x)) != elements(call.result_dims())) return call.refuse("another number of elements");
    return {view_as(call.tape(), x, call.result_dims())};
}

/// A copy that no gradient passes.
Call::Values detach(Call& call) {
    const Value x = call.tensor(0);
    return {call.graph().op(OpCode::reshape, {x}, {}, {call.dtype(x), call.dims(x)})};
}

Call::Values converted(Call& call) {
    const Value x = call.tensor(0);
    if (call.dtype(x) == call.result_dtype()) return {x};
    const bool from_bool_to_int = call.dtype(x) == DType::boolean && call.result_dtype() == DType::i32;
    if (call.result_dtype() != DType::f32 && !from_bool_to_int) return call.refuse("a conversion to this type");
    return {kernels::convert(call.graph(), x, call.result_dtype())};
}

Value reordered(Call& call, Value x, const std::vector<std::uint64_t>& axes) {
    if (std::is_sorted(axes.begin(), axes.end())) return x;
    return kernels::permuted(call.tape(), x, axes);
}

Call::Values apply_permute(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t rank = call.dims(x).size();
    std::vector<std::uint64_t> axes;
    for (const std::int64_t axis : call.integers(1)) {
        axes.push_back(static_cast<std::uint64_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
    }
    if (axes.size() != rank) return call.refuse("a permutation of other axes");
    return {reordered(call, x, axes)};
}

Call::Values transpose(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t rank = call.dims(x).size();
    if (rank < 2) return {x};
    const bool is_t = call.count() < 3;  // aten::t
    std::vector<std::uint64_t> axes(rank);
    for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
    std::swap(axes[is_t ? 0 : call.axis(1, 0, rank)], axes[is_t ? 1 : call.axis(2, 1, rank)]);
    return {reordered(call, x, axes)};
}

Call::Values expand(Call& call) {
    const Value x = call.tensor(0);
    if (call.dtype(x) != DType::f32) return {spread(call.graph(), x, call.result_dims())};
    return {broadcast_to(call.tape(), x, call.result_dims())};
}

/// Pieces of one axis; their extents are the recorded ones.
Call::Values split(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t axis = call.axis(2, 0, call.dims(x).size());
    Call::Values out;
    std::uint64_t start = 0;
    for (std::size_t i = 0; i < call.op().results.size(); ++i) {
        const std::uint64_t extent = call.result_dims(i).at(axis);
        out.push_back(part_of(call.tape(), x, axis, start, extent));
        start += extent;
    }
    return out;
}

Call::Values unbind(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t axis = call.axis(1, 0, call.dims(x).size());
    Call::Values out;
    for (std::size_t i = 0; i < call.op().results.size(); ++i) {
        out.push_back(view_as(call.tape(), part_of(call.tape(), x, axis, i, 1), call.result_dims(i)));
    }
    return out;
}

Call::Values apply_slice(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t axis = call.axis(1, 0, call.dims(x).size());
    const auto extent = static_cast<std::int64_t>(call.dims(x)[axis]);
    std::int64_t start = call.integer(2, 0);
    if (start < 0) start += extent;
    start = std::clamp<std::int64_t>(start, 0, extent);
    if (const std::int64_t step = call.integer(4, 1); step != 1) {
        std::vector<std::int64_t> places(call.result_dims().at(axis));
        for (std::size_t i = 0; i < places.size(); ++i) places[i] = start + static_cast<std::int64_t>(i) * step;
        return {picked(call.tape(), x, axis, places)};
    }
    return {part_of(call.tape(), x, axis, static_cast<std::uint64_t>(start), call.result_dims().at(axis))};
}

Call::Values apply_select(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t axis = call.axis(1, 0, call.dims(x).size());
    std::int64_t index = call.integer(2, 0);
    if (index < 0) index += static_cast<std::int64_t>(call.dims(x)[axis]);
    const Value part = part_of(call.tape(), x, axis, static_cast<std::uint64_t>(index), 1);
    return {view_as(call.tape(), part, call.result_dims())};
}

Call::Values cat(Call& call) {
    const Call::Values values = call.tensors(0);
    for (const Value value : values) {
        if (call.dtype(value) != call.dtype(values.front())) return call.refuse("a join of several types");
        if (call.dims(value).size() != call.result_dims().size()) return call.refuse("a join with an empty list");
    }
    return {joined_all(call.tape(), values, call.axis(1, 0, call.result_dims().size()))};
}

Call::Values stack(Call& call) {
    const std::size_t axis = call.axis(1, 0, call.result_dims().size());
    Dims piece = call.result_dims();
    piece[axis] = 1;
    Call::Values values;
    for (const Value value : call.tensors(0)) values.push_back(view_as(call.tape(), value, piece));
    return {joined_all(call.tape(), values, axis)};
}

/// The list counts from the last axis: before, after, before, after, …
Call::Values constant_pad(Call& call) {
    const Value x = call.tensor(0);
    const std::size_t rank = call.dims(x).size();
    const std::vector<std::int64_t> pads = call.integers(1);
    Dims before(rank, 0), after(rank, 0);
    for (std::size_t i = 0; i < pads.size(); ++i) {
        if (pads[i] < 0) return call.refuse("negative padding; use a slice");
        (i % 2 == 0 ? before : after).at(rank - 1 - i / 2) = static_cast<std::uint64_t>(pads[i]);
    }
    return {padded(call.tape(), x, before, after, static_cast<float>(call.number(2, 0)))};
}

}  // namespace

std::vector<ImportedOp> shape_ops() {
    using enum TensorTypes;
    return {
        {"aten::detach", any, "T", 1, nullptr, detach},
        {"aten::_to_copy", any, "T", 1, nullptr, converted},
        {"aten::permute", any, "T", 1, signature::permutation, apply_permute},
        {"aten::transpose", any, "T", 1, nullptr, transpose},
        {"aten::t", any, "T", 1, nullptr, transpose},
        {"aten::expand", any, "T", 1, signature::expansion, expand},
        {"aten::split", any, "T", 1, signature::pieces, split},
        {"aten::split_with_sizes", any, "T", 1, signature::pieces, split},
        {"aten::chunk", any, "T", 1, signature::pieces, split},
        {"aten::unsafe_chunk", any, "T", 1, signature::pieces, split},
        {"aten::unsafe_split", any, "T", 1, signature::pieces, split},
        {"aten::unsafe_split_with_sizes", any, "T", 1, signature::pieces, split},
        {"aten::unbind", any, "T", 1, signature::unbound, unbind},
        {"aten::slice", any, "T", 1, signature::part_of_axis, apply_slice},
        {"aten::select", any, "T", 1, signature::one_of_axis, apply_select},
        {"aten::cat", any, "L", 1, signature::joined, cat},
        {"aten::stack", any, "L", 1, signature::stacked, stack},
        {"aten::constant_pad_nd", f32, "T", 1, signature::padded_with_constant, constant_pad},
        {"aten::view", any, "T", 1, nullptr, same_elements},
        {"aten::reshape", any, "T", 1, nullptr, same_elements},
        {"aten::flatten", any, "T", 1, nullptr, same_elements},
        {"aten::unsqueeze", any, "T", 1, nullptr, same_elements},
        {"aten::squeeze", any, "T", 1, nullptr, same_elements},
        {"aten::_unsafe_view", any, "T", 1, nullptr, same_elements},
        {"aten::_reshape_alias", any, "T", 1, nullptr, same_elements},
        {"aten::unflatten", any, "T", 1, nullptr, same_elements},
        {"aten::view_as", any, "T", 1, nullptr, same_elements},
        {"aten::contiguous", any, "T", 1, nullptr, same_elements},
        {"aten::clone", any, "T", 1, nullptr, same_elements},
        {"aten::alias", any, "T", 1, nullptr, same_elements},
        {"aten::lift_fresh", any, "T", 1, nullptr, same_elements},
    };
}

}  // namespace retrace::solver
