// SPDX-License-Identifier: MIT
// Signatures of copies, choices and edges along axes, and of tensors of one number.
#include <algorithm>
#include <cmath>

#include "solver/import/signatures.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using Kind = Argument::Kind;

/// No list of extents and edges is longer than this, and nothing about them overflows.
constexpr std::int64_t kEdgeMax = std::int64_t{1} << 31;

Status<> copied(CallShape& call) {
    const std::vector<std::int64_t> times = call.integers(1);
    const Dims &dims = call.dims(0), &wanted = call.result();
    if (times.size() < dims.size() || times.size() != wanted.size()) return error(kMisfit);
    for (std::size_t i = 0; i < times.size(); ++i) {
        const std::size_t offset = times.size() - dims.size();
        const std::uint64_t extent = i < offset ? 1 : dims[i - offset];
        if (times[i] < 1 || times[i] > kEdgeMax || extent * static_cast<std::uint64_t>(times[i]) != wanted[i])
            return error(kMisfit);
    }
    return Unit{};
}

Status<> copied_in_a_row(CallShape& call) {
    const bool flat = call.kind(2) == Kind::none;
    // The lowering refuses several numbers of copies.
    if (call.kind(1) != Kind::integer) return Unit{};
    const std::int64_t times = call.integer(1, 1);
    if (times < 1 || times > kEdgeMax || (!flat && !call.axis(2, 0, call.dims(0).size()))) return error(kMisfit);
    return unless(product_of({product(call.dims(0)), static_cast<std::uint64_t>(times)}) == product(call.result()),
                  kMisfit);
}

Status<> flipped(CallShape& call) {
    const Dims& dims = call.dims(0);
    for (const std::int64_t named : call.integers(1)) {
        const std::int64_t at = named < 0 ? named + static_cast<std::int64_t>(dims.size()) : named;
        if (at < 0 || at >= static_cast<std::int64_t>(dims.size())) return error("an axis that does not exist");
        RETRACE_CHECK(call.writes({dims[static_cast<std::size_t>(at)]}));
    }
    return call.takes({call.integers(1).size()});
}

Status<> rolled(CallShape& call) {
    const auto rank = static_cast<std::int64_t>(call.dims(0).size());
    const std::vector<std::int64_t> shifts = call.integers(1), axes = call.integers(2);
    if (shifts.empty() || shifts.size() < axes.size()) return error(kMisfit);
    for (const std::int64_t axis : axes)
        if (axis < -rank || axis >= rank) return error("an axis that does not exist");
    return call.takes({axes.size()});
}

Status<> chosen(CallShape& call) {
    const auto axis = call.axis(1, 0, call.dims(0).size());
    // The lowering refuses an index that is no row.
    if (call.dims(2).size() != 1) return Unit{};
    if (!axis) return error("an axis that does not exist");
    Dims wanted = call.dims(0);
    wanted[*axis] = call.dims(2)[0];
    return unless(wanted == call.result(), kMisfit);
}

/// The extent of an axis, and the numbers of elements that are put before and after it.
struct Edge {
    std::int64_t extent, before, after;
};
enum class Padding { constant, mirror, edge, around };

bool has_elements_for(Padding padding, const Edge& edge) {
    const std::int64_t most = std::max(edge.before, edge.after), least = std::min(edge.before, edge.after);
    if (padding == Padding::mirror) return most < edge.extent && least >= 0;
    if (padding == Padding::around) return most <= edge.extent && least >= 0;
    return true;
}

/// (x, padding): the list counts from the last axis: before, after, before, after, …
template <Padding padding>
Status<> padded(CallShape& call) {
    const std::vector<std::int64_t> pads = call.integers(1);
    const Dims &dims = call.dims(0), &wanted = call.result();
    if (pads.size() % 2 != 0 || pads.size() > 2 * dims.size() || wanted.size() != dims.size()) return error(kMisfit);
    const bool cuts = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad < 0; });
    // The lowering refuses a constant edge that is cut off.
    if (padding == Padding::constant && cuts) return Unit{};
    Dims widest = dims;
    for (std::size_t i = 0; 2 * i < pads.size(); ++i) {
        const std::size_t axis = dims.size() - 1 - i;
        const Edge edge{static_cast<std::int64_t>(dims[axis]), pads[2 * i], pads[2 * i + 1]};
        const std::int64_t most = std::max(std::abs(edge.before / 2), std::abs(edge.after / 2));
        if (most > kEdgeMax || !has_elements_for(padding, edge)) return error(kOutOfRange);
        if (edge.extent + edge.before + edge.after != static_cast<std::int64_t>(wanted[axis])) return error(kMisfit);
        widest[axis] = std::max(dims[axis], wanted[axis]);
        if (padding != Padding::constant) RETRACE_CHECK(call.writes({wanted[axis]}));
    }
    for (std::size_t axis = 0; axis < dims.size() - pads.size() / 2; ++axis)
        if (wanted[axis] != dims[axis]) return error(kMisfit);
    return call.passes(widest);
}

/// [.., c·r², h, w] → [.., c, h·r, w·r], or back.
template <bool back>
Status<> shuffled(CallShape& call) {
    const Dims &wide = back ? call.dims(0) : call.result(), &deep = back ? call.result() : call.dims(0);
    const std::size_t rank = wide.size();
    if (rank < 3 || deep.size() != rank) return error(kMisfit);
    const std::uint64_t r = wide[rank - 1] / deep[rank - 1];
    bool fits = std::equal(wide.begin(), wide.end() - 3, deep.begin());
    for (const std::size_t at : {rank - 1, rank - 2}) fits = fits && r >= 1 && product_of({deep[at], r}) == wide[at];
    return unless(fits && product_of({wide[rank - 3], r, r}) == deep[rank - 3], kMisfit);
}

/// Numbers of the program are ops; whole numbers and truth values are written out.
template <std::size_t at>
Status<> all_alike(CallShape& call) {
    const double number = at == 0 ? 0 : call.number(at, 0);
    if (call.made().dtype == DType::f32) return Unit{};
    if (!(std::abs(number) < static_cast<double>(kEdgeMax))) return error(kOutOfRange);
    return call.writes({product(call.result())});
}

}  // namespace

namespace signature {

Status<> chosen(CallShape& call) { return solver::chosen(call); }
Status<> copied(CallShape& call) { return solver::copied(call); }
Status<> copied_in_a_row(CallShape& call) { return solver::copied_in_a_row(call); }
Status<> filled(CallShape& call) { return solver::all_alike<0>(call); }
Status<> filled_with_argument_1(CallShape& call) { return solver::all_alike<1>(call); }
Status<> filled_with_argument_2(CallShape& call) { return solver::all_alike<2>(call); }
Status<> flipped(CallShape& call) { return solver::flipped(call); }
Status<> padded_around(CallShape& call) { return solver::padded<Padding::around>(call); }
Status<> padded_by_reflection(CallShape& call) { return solver::padded<Padding::mirror>(call); }
Status<> padded_with_constant(CallShape& call) { return solver::padded<Padding::constant>(call); }
Status<> padded_with_edge(CallShape& call) { return solver::padded<Padding::edge>(call); }
Status<> rolled(CallShape& call) { return solver::rolled(call); }
Status<> shuffled(CallShape& call) { return solver::shuffled<false>(call); }
Status<> unshuffled(CallShape& call) { return solver::shuffled<true>(call); }

}  // namespace signature

}  // namespace retrace::solver
