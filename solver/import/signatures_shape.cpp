// SPDX-License-Identifier: MIT
// Signatures of elementwise ops, of reductions and of views.
#include <algorithm>
#include <limits>

#include "kernels/builder/tensor_ops.hpp"
#include "solver/import/signatures.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using Kind = Argument::Kind;

/// The first `count` arguments broadcast to the result.
template <std::size_t count>
Status<> broadcasting(CallShape& call) {
    std::vector<Dims> operands;
    for (std::size_t i = 0; i < count; ++i) operands.push_back(call.dims(i));
    return unless(kernels::broadcast_shape(operands) == call.result(), kMisfit);
}

/// The lowering refuses the op with a condition alone.
Status<> where(CallShape& call) { return call.count() < 3 ? Status<>(Unit{}) : broadcasting<3>(call); }

Status<> prelu(CallShape& call) {
    const std::uint64_t slopes = product(call.dims(1));
    const bool by_channel = call.dims(0).size() >= 2 && call.dims(0)[1] == slopes;
    return unless(slopes == 1 || by_channel, kMisfit);
}

Status<> glu(CallShape& call) {
    const auto axis = call.axis(1, -1, call.dims(0).size());
    return unless(axis && call.dims(0)[*axis] % 2 == 0, kMisfit);
}

Status<> triangle(CallShape& call) {
    const Dims& dims = call.dims(0);
    return dims.size() < 2 ? Status<>(Unit{}) : call.writes({dims[dims.size() - 2], dims.back()});
}

// ---- reductions

/// `count` elements become one of each result.
Status<> reduced_by(CallShape& call, std::uint64_t count) {
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) return error(kMisfit);
    for (std::size_t i = 0; i < call.results(); ++i)
        if (product(call.result(i)) * count != product(call.dims(0))) return error(kMisfit);
    return Unit{};
}

/// Over the axes that argument 1 names, all where it names none.
Status<> over_axes(CallShape& call) {
    const Dims& dims = call.dims(0);
    std::vector<bool> chosen(dims.size(), call.integers(1).empty());
    for (const std::int64_t named : call.integers(1)) {
        const std::int64_t at = named < 0 ? named + static_cast<std::int64_t>(dims.size()) : named;
        if (at < 0 || at >= static_cast<std::int64_t>(dims.size())) return error("an axis that does not exist");
        chosen[static_cast<std::size_t>(at)] = true;
    }
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (chosen[i]) count *= dims[i];
    return reduced_by(call, count);
}

/// (x), (x, other) or (x, axis, keep) → extremes and places.
Status<> extreme(CallShape& call) {
    if (call.count() == 1) return over_axes(call);
    if (call.is_tensor(1)) return broadcasting<2>(call);
    const auto axis = call.axis(1, 0, call.dims(0).size());
    if (!axis || call.results() != 2) return error(kMisfit);
    return reduced_by(call, call.dims(0)[*axis]);
}

Status<> place_of_extreme(CallShape& call) {
    if (call.kind(1) == Kind::none) return reduced_by(call, product(call.dims(0)));
    const auto axis = call.axis(1, 0, call.dims(0).size());
    return axis ? reduced_by(call, call.dims(0)[*axis]) : Status<>(error(kMisfit));
}

// ---- views

/// Each axis once.
Status<> permutation(CallShape& call) {
    const std::size_t rank = call.dims(0).size();
    std::vector<bool> seen(rank, false);
    for (const std::int64_t named : call.integers(1)) {
        const std::int64_t at = named < 0 ? named + static_cast<std::int64_t>(rank) : named;
        if (at < 0 || at >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(at)])
            return error("axes that are no permutation");
        seen[static_cast<std::size_t>(at)] = true;
    }
    return Unit{};
}

Status<> expansion(CallShape& call) {
    return unless(kernels::broadcast_shape({call.dims(0), call.result()}) == call.result(), kMisfit);
}

/// Pieces of one axis, one after another.
Status<> pieces(CallShape& call) {
    const Dims& whole = call.dims(0);
    const auto axis = call.axis(2, 0, whole.size());
    std::uint64_t all = 0;
    for (std::size_t i = 0; axis && i < call.results(); ++i) {
        if (call.result(i).size() != whole.size()) return error(kMisfit);
        all += call.result(i)[*axis];
    }
    return unless(axis && all <= whole[*axis], kMisfit);
}

Status<> unbound(CallShape& call) {
    const auto axis = call.axis(1, 0, call.dims(0).size());
    if (!axis || call.results() > call.dims(0)[*axis]) return error(kMisfit);
    return reduced_by(call, call.dims(0)[*axis]);
}

Status<> one_of_axis(CallShape& call) {
    const auto axis = call.axis(1, 0, call.dims(0).size());
    if (!axis) return error(kMisfit);
    const auto extent = static_cast<std::int64_t>(call.dims(0)[*axis]);
    const std::int64_t index = call.integer(2, 0);
    if (index < -extent || index >= extent) return error("an element that does not exist");
    return reduced_by(call, call.dims(0)[*axis]);
}

Status<> part_of_axis(CallShape& call) {
    const auto axis = call.axis(1, 0, call.dims(0).size());
    if (!axis || call.result().size() != call.dims(0).size()) return error(kMisfit);
    const auto extent = static_cast<std::int64_t>(call.dims(0)[*axis]);
    const auto taken = static_cast<std::int64_t>(call.result()[*axis]);
    std::int64_t start = call.integer(2, 0);
    start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, extent);
    const std::int64_t step = call.integer(4, 1);
    if (step < 1 || start >= extent || taken - 1 > (extent - 1 - start) / step) return error(kMisfit);
    return step == 1 ? Status<>(Unit{}) : call.writes({static_cast<std::uint64_t>(taken)});
}

Status<> joined(CallShape& call) {
    const std::vector<Dims> values = call.list(0);
    const auto axis = call.axis(1, 0, call.result().size());
    if (!axis || values.empty()) return error(kMisfit);
    std::uint64_t all = 0;
    for (Dims dims : values) {
        // The lowering refuses lists that hold an empty vector, which PyTorch joins for compatibility.
        if (dims.size() != call.result().size()) return Unit{};
        all += dims[*axis];
        dims[*axis] = call.result()[*axis];
        if (dims != call.result()) return error(kMisfit);
    }
    RETRACE_CHECK(call.takes({values.size()}));
    return unless(all == call.result()[*axis], kMisfit);
}

Status<> stacked(CallShape& call) {
    const std::vector<Dims> values = call.list(0);
    const auto axis = call.axis(1, 0, call.result().size());
    if (!axis || values.empty() || values.size() != call.result()[*axis]) return error(kMisfit);
    if (!call.is_of_one_type(0)) return error("a stack of several types");
    Dims piece = call.result();
    piece.erase(piece.begin() + static_cast<std::ptrdiff_t>(*axis));
    RETRACE_CHECK(call.takes({values.size()}));
    return unless(std::all_of(values.begin(), values.end(), [&](const Dims& dims) { return dims == piece; }), kMisfit);
}

}  // namespace

namespace signature {

Status<> broadcasting_2(CallShape& call) { return solver::broadcasting<2>(call); }
Status<> broadcasting_3(CallShape& call) { return solver::broadcasting<3>(call); }
Status<> expansion(CallShape& call) { return solver::expansion(call); }
Status<> extreme(CallShape& call) { return solver::extreme(call); }
Status<> glu(CallShape& call) { return solver::glu(call); }
Status<> joined(CallShape& call) { return solver::joined(call); }
Status<> one_of_axis(CallShape& call) { return solver::one_of_axis(call); }
Status<> over_axes(CallShape& call) { return solver::over_axes(call); }
Status<> part_of_axis(CallShape& call) { return solver::part_of_axis(call); }
Status<> permutation(CallShape& call) { return solver::permutation(call); }
Status<> pieces(CallShape& call) { return solver::pieces(call); }
Status<> place_of_extreme(CallShape& call) { return solver::place_of_extreme(call); }
Status<> prelu(CallShape& call) { return solver::prelu(call); }
Status<> stacked(CallShape& call) { return solver::stacked(call); }
Status<> triangle(CallShape& call) { return solver::triangle(call); }
Status<> unbound(CallShape& call) { return solver::unbound(call); }
Status<> where(CallShape& call) { return solver::where(call); }

}  // namespace signature

}  // namespace retrace::solver
