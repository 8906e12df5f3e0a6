// SPDX-License-Identifier: MIT
// Signatures of convolutions, pooling and resizing.
#include <algorithm>
#include <array>

#include "solver/import/signatures.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using Kind = Argument::Kind;
using Pair = std::array<std::uint64_t, 2>;

/// Largest kernel with its gaps, stride and padding (kernels/ops/SPEC.md 7).
constexpr std::int64_t kWindowMax = 4096;

/// One number for both ways, or one each, all in [least, kWindowMax].
std::optional<Pair> pair_of(const std::vector<std::int64_t>& list, std::int64_t least, std::uint64_t otherwise) {
    for (const std::int64_t number : list)
        if (number < least || number > kWindowMax) return std::nullopt;
    if (list.empty()) return Pair{otherwise, otherwise};
    return Pair{static_cast<std::uint64_t>(list.front()), static_cast<std::uint64_t>(list.back())};
}

/// An image of one row.
Dims as_image(Dims dims) {
    if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
    return dims;
}

// ---- convolution

struct Convolution {
    Pair stride, padding, dilation, extra;
    std::uint64_t groups = 1;
    bool transposed = false;
};

/// Extents of the image that one window covers.
Pair reach_of(const Convolution& how, const Dims& w) {
    return {how.dilation[0] * (w[2] - 1) + 1, how.dilation[1] * (w[3] - 1) + 1};
}

/// The extents of the result; nothing where a window does not fit or the channels do not.
std::optional<Dims> convolved(const Convolution& how, const Dims& x, const Dims& w) {
    if (x[1] % how.groups != 0 || w[0] % how.groups != 0) return std::nullopt;
    if (how.transposed ? w[0] != x[1] : w[1] != x[1] / how.groups) return std::nullopt;
    Dims out{x[0], how.transposed ? product_of({w[1], how.groups}) : w[0]};
    const Pair reach = reach_of(how, w);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::uint64_t there =
            how.transposed ? (x[2 + i] - 1) * how.stride[i] + reach[i] + how.extra[i] : x[2 + i] + 2 * how.padding[i];
        const std::uint64_t taken = how.transposed ? 2 * how.padding[i] + 1 : reach[i];
        if (there < taken || reach[i] > kWindowMax) return std::nullopt;
        out.push_back(how.transposed ? there - taken + 1 : (there - taken) / how.stride[i] + 1);
    }
    return out;
}

/// Checks the sizes of intermediate tensors: the image and the kernel with gaps, edges, and all windows of the image.
Status<> passes(const CallShape& call, const Convolution& how, const Dims& x, const Dims& w, const Dims& y) {
    const Pair reach = reach_of(how, w);
    Dims wide{x[0], x[1]};
    for (std::size_t i = 0; i < 2; ++i) {
        const std::uint64_t gap = how.transposed ? how.stride[i] : 1;
        wide.push_back(x[2 + i] * gap + 2 * (reach[i] + how.padding[i]) + how.extra[i]);
    }
    RETRACE_CHECK(call.passes({w[0], w[1], w[2], how.dilation[0], w[3], how.dilation[1]}));
    RETRACE_CHECK(call.passes(wide));
    return call.passes({y[0], x[1], y[2], y[3], reach[0], reach[1]});
}

Status<> convolution(CallShape& call, std::optional<Pair> stride, std::optional<Pair> padding,
                     std::optional<Pair> dilation, std::optional<Pair> extra, std::int64_t groups, bool transposed) {
    if (call.dims(0).size() != call.dims(1).size()) return Unit{};  // The lowering refuses it, as it does volumes.
    const bool flat = call.dims(0).size() == 3;
    const Dims x = as_image(call.dims(0)), w = as_image(call.dims(1));
    if (x.size() != 4) return Unit{};
    if (!stride || !padding || !dilation || !extra || groups < 1) return error(kOutOfRange);
    Convolution how{*stride, *padding, *dilation, *extra, static_cast<std::uint64_t>(groups), transposed};
    if (flat) {
        how.stride[0] = how.dilation[0] = 1;
        how.padding[0] = how.extra[0] = 0;
    }
    const std::optional<Dims> wanted = convolved(how, x, w);
    if (!wanted || *wanted != as_image(call.result())) return error(kMisfit);
    if (call.is_tensor(2) && call.dims(2) != Dims{(*wanted)[1]}) return error(kMisfit);
    RETRACE_CHECK(call.takes({std::min<std::uint64_t>(how.groups, 64)}));
    if (transposed) RETRACE_CHECK(call.writes({w[2] * how.dilation[0] + w[3] * how.dilation[1]}));
    return passes(call, how, x, w, *wanted);
}

/// (input, weight, bias, stride, padding, dilation, groups).
Status<> plain_convolution(CallShape& call) {
    const Dims& w = call.dims(1);
    if (w.size() != 3 && w.size() != 4) return error(kMisfit);
    const std::optional<Pair> dilation = pair_of(call.integers(5), 1, 1);
    std::optional<Pair> padding = pair_of(call.integers(4), 0, 0);
    if (call.says(4, "same") && dilation) {
        for (std::size_t i = 2; i < w.size(); ++i) {
            const std::size_t way = i + 2 - w.size();
            const std::uint64_t reach = (*dilation)[way] * (w[i] - 1);
            if (reach % 2 != 0) return Unit{};  // The lowering refuses it.
            (*padding)[way] = reach / 2;
            if (reach > static_cast<std::uint64_t>(kWindowMax)) return error(kOutOfRange);
        }
    }
    return convolution(call, pair_of(call.integers(3), 1, 1), padding, dilation, Pair{0, 0}, call.integer(6, 1), false);
}

/// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, …).
Status<> any_convolution(CallShape& call) {
    return convolution(call, pair_of(call.integers(3), 1, 1), pair_of(call.integers(4), 0, 0),
                       pair_of(call.integers(5), 1, 1), pair_of(call.integers(7), 0, 0), call.integer(8, 1),
                       call.flag(6));
}

// ---- pooling

/// (x, kernel, stride (that of the kernel where empty), padding, …). The last window may begin inside and end outside
/// (ceil_mode).
template <std::size_t rank, bool weighted>
Status<> pooling(CallShape& call) {
    const std::vector<std::int64_t> dilation = call.integers(4);
    const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](std::int64_t gap) { return gap != 1; });
    if (call.dims(0).size() != rank || dilated) return Unit{};  // The lowering refuses it.
    const auto kernel = pair_of(call.integers(1), 1, 1), padding = pair_of(call.integers(3), 0, 0);
    const auto stride = call.integers(2).empty() ? kernel : pair_of(call.integers(2), 1, 1);
    if (!kernel || !padding || !stride) return error(kOutOfRange);
    if (call.result().size() != rank) return error(kMisfit);
    const Dims in = as_image(call.dims(0)), out = as_image(call.result());
    bool fits = in[0] == out[0] && in[1] == out[1];
    std::uint64_t inside = 1;
    Dims wide{in[0], in[1]};
    for (std::size_t i = 0; i < 2; ++i) {
        const bool line = rank == 3 && i == 0;
        const std::uint64_t k = line ? 1 : (*kernel)[i], s = line ? 1 : (*stride)[i], p = line ? 0 : (*padding)[i];
        const std::uint64_t there = in[2 + i] + 2 * p, last = (out[2 + i] - 1) * s;
        fits = fits && last < in[2 + i] + p && last + k < there + s && there < last + k + s;
        inside *= k;
        wide.push_back(std::max(there, last + k));
    }
    if (!fits) return error(kMisfit);
    if (weighted) RETRACE_CHECK(call.writes({out[2], out[3]}));
    RETRACE_CHECK(call.passes(wide));
    return call.passes({product(out), inside});
}

// ---- resizing

/// Axes from the third are resized one after another, `picked` by index, else by a matrix each.
Status<> resizing(CallShape& call, bool picked) {
    const Dims &in = call.dims(0), &out = call.result();
    if (in.size() < 3 || out.size() != in.size() || in[0] != out[0] || in[1] != out[1]) return error(kMisfit);
    Dims now = in;
    for (std::size_t axis = 2; axis < in.size(); ++axis) {
        RETRACE_CHECK(call.writes(picked ? Dims{out[axis]} : Dims{in[axis], out[axis]}));
        now[axis] = out[axis];
        RETRACE_CHECK(call.passes(now));
    }
    return Unit{};
}

/// (x, size, …): windows of several sizes are a matrix.
template <bool maximum>
Status<> adaptive_pooling(CallShape& call) {
    const Dims &in = call.dims(0), &out = call.result();
    if (in.size() != 4) return Unit{};  // The lowering refuses it.
    if (out.size() != 4 || in[0] != out[0] || in[1] != out[1]) return error(kMisfit);
    const bool even = in[2] % out[2] == 0 && in[3] % out[3] == 0;
    if (!even) return maximum ? Status<>(Unit{}) : resizing(call, false);
    const bool whole = !maximum && out[2] == 1 && out[3] == 1;
    const std::uint64_t most = std::max(in[2] / out[2], in[3] / out[3]);
    return unless(whole || most <= static_cast<std::uint64_t>(kWindowMax), "windows of more than 4096");
}

/// (x, size, scales…), with the scales as single arguments or as a list. The bounds keep scaled places in range.
Status<> nearest(CallShape& call) {
    std::vector<double> scales = call.numbers(2);
    for (std::size_t i = 2; i < call.count(); ++i) scales.push_back(call.number(i, 0));
    for (const double scale : scales)
        if (scale > 0 && !(scale > 1e-6 && scale < 1e6)) return error(kOutOfRange);
    return resizing(call, true);
}
Status<> linear_resizing(CallShape& call) { return resizing(call, false); }

}  // namespace

namespace signature {

Status<> adaptive_average_pooling(CallShape& call) { return solver::adaptive_pooling<false>(call); }
Status<> adaptive_max_pooling(CallShape& call) { return solver::adaptive_pooling<true>(call); }
Status<> any_convolution(CallShape& call) { return solver::any_convolution(call); }
Status<> average_pooling_1d(CallShape& call) { return solver::pooling<3, true>(call); }
Status<> average_pooling_2d(CallShape& call) { return solver::pooling<4, true>(call); }
Status<> max_pooling_1d(CallShape& call) { return solver::pooling<3, false>(call); }
Status<> max_pooling_2d(CallShape& call) { return solver::pooling<4, false>(call); }
Status<> plain_convolution(CallShape& call) { return solver::plain_convolution(call); }
Status<> resized_linearly(CallShape& call) { return solver::linear_resizing(call); }
Status<> resized_to_nearest(CallShape& call) { return solver::nearest(call); }

}  // namespace signature

}  // namespace retrace::solver
