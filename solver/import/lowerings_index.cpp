// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using kernels::Tape;
using kernels::Value;
using Kind = Argument::Kind;

/// (x, times for each axis, the first ones of axes that x has not).
Call::Values repeat(Call& call) {
    const Dims dims = call.dims(call.tensor(0));
    const std::vector<std::int64_t> times = call.integers(1);
    Dims grown(times.size() - dims.size(), 1);
    grown.insert(grown.end(), dims.begin(), dims.end());
    Value y = view_as(call.tape(), call.tensor(0), grown);
    for (std::size_t axis = 0; axis < times.size(); ++axis) {
        if (times[axis] < 1) return call.refuse("no copies");
        y = repeated(call.tape(), y, axis, static_cast<std::uint64_t>(times[axis]));
    }
    return {y};
}

/// (x, times, axis, …): every element several times in a row.
Call::Values repeat_interleave(Call& call) {
    if (call.kind(1) != Kind::integer) return call.refuse("another number of copies for each; use one number");
    const Value x = call.tensor(0);
    const bool flat = call.kind(2) == Kind::none;
    const Dims dims = flat ? Dims{kernels::geometry(call.dims(x)).elements()} : call.dims(x);
    const Around at = around(dims, flat ? 0 : call.axis(2, 0, dims.size()));
    const auto times = static_cast<std::uint64_t>(call.integer(1, 1));
    const Value column = view_as(call.tape(), x, {at.before * at.extent, 1, at.after});
    const Value y = broadcast_to(call.tape(), column, {at.before * at.extent, times, at.after});
    return {view_as(call.tape(), y, call.result_dims())};
}

/// (x, axes): from the last element to the first.
Call::Values flip(Call& call) {
    Value y = call.tensor(0);
    const std::size_t rank = call.dims(y).size();
    for (const std::int64_t named : call.integers(1)) {
        const auto axis = static_cast<std::size_t>(named < 0 ? named + static_cast<std::int64_t>(rank) : named);
        std::vector<std::int64_t> order(call.dims(y).at(axis));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
        y = picked(call.tape(), y, axis, order);
    }
    return {y};
}

/// The last `by` elements of an axis come first.
Value rolled(Tape& tape, Value x, std::size_t axis, std::int64_t by) {
    const auto extent = static_cast<std::int64_t>(tape.graph().dims(x)[axis]);
    if (extent == 0 || by % extent == 0) return x;
    const auto shift = static_cast<std::uint64_t>((by % extent + extent) % extent);
    const std::uint64_t rest = static_cast<std::uint64_t>(extent) - shift;
    return joined(tape, {part_of(tape, x, axis, rest, shift), part_of(tape, x, axis, 0, rest)}, axis);
}

/// (x, shifts, axes); without axes all elements are one row.
Call::Values roll(Call& call) {
    const Value x = call.tensor(0);
    const Dims dims = call.dims(x);
    const std::vector<std::int64_t> shifts = call.integers(1), axes = call.integers(2);
    if (axes.empty()) {
        const Value row = view_as(call.tape(), x, {kernels::geometry(dims).elements()});
        return {view_as(call.tape(), rolled(call.tape(), row, 0, shifts.at(0)), dims)};
    }
    Value y = x;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(dims.size()) : axes[i];
        y = rolled(call.tape(), y, static_cast<std::size_t>(axis), shifts.at(i));
    }
    return {y};
}

/// (x, axis, index); an index may come from the input too.
Call::Values index_select(Call& call) {
    const Value index = call.tensor(2);
    if (call.dtype(index) != DType::i32 || call.dims(index).size() != 1)
        return call.refuse("an index that is no row of whole numbers");
    return {picked(call.tape(), call.tensor(0), call.axis(1, 0, call.dims(call.tensor(0)).size()), index)};
}

std::int64_t reflected(std::int64_t i, std::int64_t n) {
    if (i < 0) return -i;
    return i < n ? i : 2 * (n - 1) - i;
}
std::int64_t nearest(std::int64_t i, std::int64_t n) { return std::clamp<std::int64_t>(i, 0, n - 1); }
std::int64_t around_again(std::int64_t i, std::int64_t n) { return (i % n + n) % n; }

/// (x, padding): the list counts from the last axis: before, after, before, after, …
template <std::int64_t (*source)(std::int64_t, std::int64_t)>
Call::Values pad_by_index(Call& call) {
    Value y = call.tensor(0);
    const std::size_t rank = call.dims(y).size();
    const std::vector<std::int64_t> pads = call.integers(1);
    for (std::size_t i = 0; 2 * i + 1 < pads.size(); ++i) {
        const std::size_t axis = rank - 1 - i;
        const auto extent = static_cast<std::int64_t>(call.dims(y)[axis]);
        std::vector<std::int64_t> places;
        for (std::int64_t at = -pads[2 * i]; at < extent + pads[2 * i + 1]; ++at) places.push_back(source(at, extent));
        if (pads[2 * i] != 0 || pads[2 * i + 1] != 0) y = picked(call.tape(), y, axis, places);
    }
    return {y};
}

/// [.., c·r², h, w] → [.., c, h·r, w·r], or back.
template <bool back>
Call::Values pixel_shuffle(Call& call) {
    const Value x = call.tensor(0);
    const Dims& in = call.dims(x);
    if (in.size() < 3) return call.refuse("pixels without channels");
    const Dims wide = back ? in : call.result_dims(), deep = back ? call.result_dims() : in;
    const std::size_t rank = in.size();
    const std::uint64_t r = wide[rank - 1] / deep[rank - 1], c = wide[rank - 3];
    const std::uint64_t images = kernels::geometry(in).elements() / (c * r * r * deep[rank - 2] * deep[rank - 1]);
    const std::uint64_t h = deep[rank - 2], w = deep[rank - 1];
    const Value parts = view_as(call.tape(), x, back ? Dims{images * c, h, r, w, r} : Dims{images * c, r, r, h, w});
    const std::vector<std::uint64_t> order =
        back ? std::vector<std::uint64_t>{0, 2, 4, 1, 3} : std::vector<std::uint64_t>{0, 3, 1, 4, 2};
    return {view_as(call.tape(), kernels::permuted(call.tape(), parts, order), call.result_dims())};
}

/// A triangle of each matrix (x, diagonal); the rest is zero.
template <bool upper>
Call::Values triangle(Call& call) {
    const Value x = call.tensor(0);
    const Dims dims = call.dims(x);
    if (dims.size() < 2 || call.dtype(x) != DType::f32) return call.refuse("a triangle of no matrix");
    const std::int64_t diagonal = call.integer(1, 0);
    const std::uint64_t rows = dims[dims.size() - 2], cols = dims.back();
    Bytes mask(rows * cols, 0);
    for (std::uint64_t i = 0; i < rows * cols; ++i) {
        const auto off = static_cast<std::int64_t>(i % cols) - static_cast<std::int64_t>(i / cols);
        mask[i] = (upper ? off >= diagonal : off <= diagonal) ? 1 : 0;
    }
    const Value kept = call.graph().constant(DType::boolean, {rows, cols}, std::move(mask));
    return {choose(call.tape(), kept, x, call.graph().scalar(0.0f))};
}

/// A tensor of the recorded shape, all elements alike, whatever the argument held.
Call::Values filled(Call& call, double value) {
    const Dims dims = call.result_dims();
    if (call.result_dtype() == DType::f32) return {kernels::fill(call.graph(), static_cast<float>(value), dims)};
    const std::uint64_t count = kernels::geometry(dims).elements();
    if (call.result_dtype() == DType::boolean)
        return {call.graph().constant(DType::boolean, dims, Bytes(count, value != 0 ? 1 : 0))};
    const std::vector<std::int64_t> numbers(count, static_cast<std::int64_t>(value));
    return {kernels::reshape(call.graph(), constant_of(call.graph(), numbers), dims)};
}

template <int value>
Call::Values all_alike(Call& call) {
    return filled(call, value);
}
/// The number is argument `at`.
template <std::size_t at>
Call::Values all_given(Call& call) {
    if (call.kind(at) == Kind::value) return call.refuse("a number that is a tensor; use expand");
    return filled(call, call.number(at, 0));
}

}  // namespace

std::vector<ImportedOp> index_ops() {
    using enum TensorTypes;
    return {
        {"aten::repeat", any, "T", 1, signature::copied, repeat},
        {"aten::repeat_interleave", any, "T", 1, signature::copied_in_a_row, repeat_interleave},
        {"aten::flip", any, "T", 1, signature::flipped, flip},
        {"aten::roll", any, "T", 1, signature::rolled, roll},
        {"aten::index_select", any, "T.T", 1, signature::chosen, index_select},
        {"aten::_pad_circular", f32, "T", 1, signature::padded_around, pad_by_index<around_again>},
        {"aten::pixel_shuffle", f32, "T", 1, signature::shuffled, pixel_shuffle<false>},
        {"aten::pixel_unshuffle", f32, "T", 1, signature::unshuffled, pixel_shuffle<true>},
        {"aten::triu", f32, "T", 1, signature::triangle, triangle<true>},
        {"aten::tril", f32, "T", 1, signature::triangle, triangle<false>},
        {"aten::zeros_like", any, "", 1, signature::filled, all_alike<0>},
        {"aten::new_zeros", any, "", 1, signature::filled, all_alike<0>},
        {"aten::zero", any, "", 1, signature::filled, all_alike<0>},
        {"aten::ones_like", any, "", 1, signature::filled, all_alike<1>},
        {"aten::new_ones", any, "", 1, signature::filled, all_alike<1>},
        {"aten::full_like", any, "", 1, signature::filled_with_argument_1, all_given<1>},
        {"aten::fill", any, "", 1, signature::filled_with_argument_1, all_given<1>},
        {"aten::new_full", any, "", 1, signature::filled_with_argument_2, all_given<2>},
        {"aten::reflection_pad1d", f32, "T", 1, signature::padded_by_reflection, pad_by_index<reflected>},
        {"aten::reflection_pad2d", f32, "T", 1, signature::padded_by_reflection, pad_by_index<reflected>},
        {"aten::reflection_pad3d", f32, "T", 1, signature::padded_by_reflection, pad_by_index<reflected>},
        {"aten::replication_pad1d", f32, "T", 1, signature::padded_with_edge, pad_by_index<nearest>},
        {"aten::replication_pad2d", f32, "T", 1, signature::padded_with_edge, pad_by_index<nearest>},
        {"aten::replication_pad3d", f32, "T", 1, signature::padded_with_edge, pad_by_index<nearest>},
    };
}

}  // namespace retrace::solver
