// SPDX-License-Identifier: MIT
// Forms of what computes element by element, of reductions and of views.
#include <algorithm>
#include <limits>

#include "kernels/builder/tensor_ops.hpp"
#include "solver/import/forms.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using Kind = Argument::Kind;

/// The first `count` arguments broadcast to the result.
template <std::size_t count>
Status<> broadcasting(Form& form) {
    std::vector<Dims> operands;
    for (std::size_t i = 0; i < count; ++i) operands.push_back(form.dims(i));
    return unless(kernels::broadcast_shape(operands) == form.result(), kMisfit);
}

/// With a condition alone the op is refused for what it is.
Status<> where(Form& form) {
    return form.count() < 3 ? Status<>(Unit{}) : broadcasting<3>(form);
}

Status<> prelu(Form& form) {
    const std::uint64_t slopes = product(form.dims(1));
    const bool by_channel = form.dims(0).size() >= 2 && form.dims(0)[1] == slopes;
    return unless(slopes == 1 || by_channel, kMisfit);
}

Status<> glu(Form& form) {
    const auto axis = form.axis(1, -1, form.dims(0).size());
    return unless(axis && form.dims(0)[*axis] % 2 == 0, kMisfit);
}

Status<> triangle(Form& form) {
    const Dims& dims = form.dims(0);
    return dims.size() < 2 ? Status<>(Unit{}) : form.writes({dims[dims.size() - 2], dims.back()});
}

// ---- reductions

/// `count` elements become one of each result.
Status<> reduced_by(Form& form, std::uint64_t count) {
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) return error(kMisfit);
    for (std::size_t i = 0; i < form.results(); ++i)
        if (product(form.result(i)) * count != product(form.dims(0))) return error(kMisfit);
    return Unit{};
}

/// Over the axes that argument 1 names, all where it names none.
Status<> over_axes(Form& form) {
    const Dims& dims = form.dims(0);
    std::vector<bool> chosen(dims.size(), form.integers(1).empty());
    for (const std::int64_t named : form.integers(1)) {
        const std::int64_t at = named < 0 ? named + static_cast<std::int64_t>(dims.size()) : named;
        if (at < 0 || at >= static_cast<std::int64_t>(dims.size())) return error("an axis that there is not");
        chosen[static_cast<std::size_t>(at)] = true;
    }
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (chosen[i]) count *= dims[i];
    return reduced_by(form, count);
}

/// (x), (x, other) or (x, axis, keep) → extremes and places.
Status<> extreme(Form& form) {
    if (form.count() == 1) return over_axes(form);
    if (form.is_tensor(1)) return broadcasting<2>(form);
    const auto axis = form.axis(1, 0, form.dims(0).size());
    if (!axis || form.results() != 2) return error(kMisfit);
    return reduced_by(form, form.dims(0)[*axis]);
}

Status<> place_of_extreme(Form& form) {
    if (form.kind(1) == Kind::none) return reduced_by(form, product(form.dims(0)));
    const auto axis = form.axis(1, 0, form.dims(0).size());
    return axis ? reduced_by(form, form.dims(0)[*axis]) : Status<>(error(kMisfit));
}

// ---- views

/// Each axis once.
Status<> permutation(Form& form) {
    const std::size_t rank = form.dims(0).size();
    std::vector<bool> seen(rank, false);
    for (const std::int64_t named : form.integers(1)) {
        const std::int64_t at = named < 0 ? named + static_cast<std::int64_t>(rank) : named;
        if (at < 0 || at >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(at)])
            return error("axes that are no permutation");
        seen[static_cast<std::size_t>(at)] = true;
    }
    return Unit{};
}

Status<> expansion(Form& form) {
    return unless(kernels::broadcast_shape({form.dims(0), form.result()}) == form.result(), kMisfit);
}

/// Pieces of one axis, one after another.
Status<> pieces(Form& form) {
    const Dims& whole = form.dims(0);
    const auto axis = form.axis(2, 0, whole.size());
    std::uint64_t all = 0;
    for (std::size_t i = 0; axis && i < form.results(); ++i) {
        if (form.result(i).size() != whole.size()) return error(kMisfit);
        all += form.result(i)[*axis];
    }
    return unless(axis && all <= whole[*axis], kMisfit);
}

Status<> unbound(Form& form) {
    const auto axis = form.axis(1, 0, form.dims(0).size());
    if (!axis || form.results() > form.dims(0)[*axis]) return error(kMisfit);
    return reduced_by(form, form.dims(0)[*axis]);
}

Status<> one_of_axis(Form& form) {
    const auto axis = form.axis(1, 0, form.dims(0).size());
    if (!axis) return error(kMisfit);
    const auto extent = static_cast<std::int64_t>(form.dims(0)[*axis]);
    const std::int64_t index = form.integer(2, 0);
    if (index < -extent || index >= extent) return error("an element that there is not");
    return reduced_by(form, form.dims(0)[*axis]);
}

Status<> part_of_axis(Form& form) {
    const auto axis = form.axis(1, 0, form.dims(0).size());
    if (!axis || form.result().size() != form.dims(0).size()) return error(kMisfit);
    const auto extent = static_cast<std::int64_t>(form.dims(0)[*axis]);
    const auto taken = static_cast<std::int64_t>(form.result()[*axis]);
    std::int64_t start = form.integer(2, 0);
    start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, extent);
    const std::int64_t step = form.integer(4, 1);
    if (step < 1 || start >= extent || taken - 1 > (extent - 1 - start) / step) return error(kMisfit);
    return step == 1 ? Status<>(Unit{}) : form.writes({static_cast<std::uint64_t>(taken)});
}

Status<> joined(Form& form) {
    const std::vector<Dims> values = form.list(0);
    const auto axis = form.axis(1, 0, form.result().size());
    if (!axis || values.empty()) return error(kMisfit);
    std::uint64_t all = 0;
    for (Dims dims : values) {
        // The legacy of lists that hold an empty vector is refused for what it is.
        if (dims.size() != form.result().size()) return Unit{};
        all += dims[*axis];
        dims[*axis] = form.result()[*axis];
        if (dims != form.result()) return error(kMisfit);
    }
    RETRACE_CHECK(form.takes({values.size()}));
    return unless(all == form.result()[*axis], kMisfit);
}

Status<> stacked(Form& form) {
    const std::vector<Dims> values = form.list(0);
    const auto axis = form.axis(1, 0, form.result().size());
    if (!axis || values.empty() || values.size() != form.result()[*axis]) return error(kMisfit);
    if (!form.is_of_one_type(0)) return error("a stack of several types");
    Dims piece = form.result();
    piece.erase(piece.begin() + static_cast<std::ptrdiff_t>(*axis));
    RETRACE_CHECK(form.takes({values.size()}));
    return unless(std::all_of(values.begin(), values.end(), [&](const Dims& dims) { return dims == piece; }), kMisfit);
}

}  // namespace

std::vector<NamedForm> elementwise_forms() {
    std::vector<NamedForm> out{
        {"aten::addcmul", {"TTT", 1, broadcasting<3>}}, {"aten::addcdiv", {"TTT", 1, broadcasting<3>}},
        {"aten::lerp", {"TT", 1, broadcasting<3>}},     {"aten::masked_fill", {"TT", 1, broadcasting<3>}},
        {"aten::where", {"T", 1, where}},               {"aten::logical_not", {"T"}},
        {"aten::bitwise_not", {"T"}},                   {"aten::prelu", {"TT", 1, prelu}},
        {"aten::glu", {"T", 1, glu}},                   {"aten::triu", {"T", 1, triangle}},
        {"aten::tril", {"T", 1, triangle}},             {"aten::maximum", {"TT", 1, broadcasting<2>}},
        {"aten::minimum", {"TT", 1, broadcasting<2>}}};
    for (const char* name : {"aten::add", "aten::sub", "aten::mul", "aten::div", "aten::rsub"})
        out.push_back({name, {"", 1, broadcasting<2>}});
    for (const char* name : {"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge",
                             "aten::logical_and", "aten::logical_or", "aten::bitwise_and", "aten::bitwise_or"})
        out.push_back({name, {"T", 1, broadcasting<2>}});
    // What these make has the extents of what they read.
    for (const char* name :
         {"aten::neg",        "aten::abs",         "aten::exp",         "aten::log",        "aten::tanh",
          "aten::sigmoid",    "aten::erf",         "aten::sqrt",        "aten::rsqrt",      "aten::reciprocal",
          "aten::pow",        "aten::clamp",       "aten::clamp_min",   "aten::clamp_max",  "aten::softmax",
          "aten::_softmax",   "aten::log_softmax", "aten::relu",        "aten::leaky_relu", "aten::_log_softmax",
          "aten::rrelu",      "aten::silu",        "aten::gelu",        "aten::hardtanh",   "aten::elu",
          "aten::celu",       "aten::selu",        "aten::softplus",    "aten::mish",       "aten::log_sigmoid",
          "aten::hardswish",  "aten::hardshrink",  "aten::hardsigmoid", "aten::softshrink", "aten::threshold",
          "aten::sin",        "aten::cos",         "aten::log1p",       "aten::expm1",      "aten::log2",
          "aten::log10",      "aten::exp2",        "aten::erfc",        "aten::sign",       "aten::detach"})
        out.push_back({name, {"T"}});
    return out;
}

std::vector<NamedForm> shape_forms() {
    std::vector<NamedForm> out{{"aten::amax", {"T", 1, over_axes}},
                               {"aten::amin", {"T", 1, over_axes}},
                               {"aten::logsumexp", {"T", 1, over_axes}},
                               {"aten::max", {"T", 1, extreme}},
                               {"aten::min", {"T", 1, extreme}},
                               {"aten::argmax", {"T", 1, place_of_extreme}},
                               {"aten::argmin", {"T", 1, place_of_extreme}},
                               {"aten::permute", {"T", 1, permutation}},
                               {"aten::expand", {"T", 1, expansion}},
                               {"aten::unbind", {"T", 1, unbound}},
                               {"aten::slice", {"T", 1, part_of_axis}},
                               {"aten::select", {"T", 1, one_of_axis}},
                               {"aten::cat", {"L", 1, joined}},
                               {"aten::stack", {"L", 1, stacked}}};
    for (const char* name : {"aten::split", "aten::split_with_sizes", "aten::chunk", "aten::unsafe_chunk",
                             "aten::unsafe_split", "aten::unsafe_split_with_sizes"})
        out.push_back({name, {"T", 1, pieces}});
    // The rules of these look at types and counts themselves.
    for (const char* name :
         {"aten::sum", "aten::mean", "aten::var", "aten::std", "aten::var_mean", "aten::std_mean", "aten::norm",
          "aten::linalg_vector_norm", "aten::_to_copy", "aten::transpose", "aten::t", "aten::view", "aten::reshape",
          "aten::flatten", "aten::unsqueeze", "aten::squeeze", "aten::_unsafe_view", "aten::_reshape_alias",
          "aten::unflatten", "aten::view_as", "aten::contiguous", "aten::clone", "aten::alias", "aten::lift_fresh"})
        out.push_back({name, {"T"}});
    return out;
}

}  // namespace retrace::solver
