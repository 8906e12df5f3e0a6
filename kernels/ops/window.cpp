// SPDX-License-Identifier: MIT
// Windows of images (SPEC 7): im2col and pooling, and their adjoint.
#include <algorithm>
#include <array>

#include "kernels/ops/op.hpp"
#include "kernels/ops/window_shape.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;
constexpr std::uint64_t kWindowMax = 4096;  ///< Maximum kernel, stride and padding.

/// `extents` are n, c, h, w; `window` is kernel, stride and padding, height before width.
WindowShape window_shape(const std::uint64_t* extents, const std::uint64_t* window) {
    WindowShape s;
    s.n = extents[0], s.c = extents[1], s.h = extents[2], s.w = extents[3];
    s.kh = window[0], s.kw = window[1], s.sh = window[2], s.sw = window[3], s.ph = window[4], s.pw = window[5];
    s.oh = (s.h + 2 * s.ph - s.kh) / s.sh + 1;
    s.ow = (s.w + 2 * s.pw - s.kw) / s.sw + 1;
    return s;
}

Status<> check_window(const std::uint64_t* extents, const std::uint64_t* window) {
    for (int i = 0; i < 6; ++i) {
        if (window[i] > kWindowMax) return error("kernel, stride or padding over 4096");
        if (i < 4 && window[i] == 0) return error("a kernel or stride of 0");
    }
    if (window[0] > extents[2] + 2 * window[4] || window[1] > extents[3] + 2 * window[5]) {
        return error("the window is larger than the padded image");
    }
    return Unit{};
}

Result<Operand> columns_of(DType dtype, const WindowShape& s) {
    Operand out{dtype, {saturating_mul(s.n, saturating_mul(s.oh, s.ow)), saturating_mul(s.c, s.kh * s.kw)}};
    RETRACE_CHECK(check_dims(out.dims));
    return out;
}

// Attributes: kernel, stride, padding (each height before width), the bits of the padding.
Result<Operand> gather_output(const OpFacts& facts) {
    const Operand& in = facts.inputs[0];
    if (in.dims.size() != 4) return error("takes images of rank 4");
    RETRACE_CHECK(check_window(in.dims.data(), facts.op.attributes.data()));
    RETRACE_CHECK(check_bits(in.dtype, facts.op.attributes[6]));
    return columns_of(in.dtype, gather_shape(facts));
}

std::uint32_t gather_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const WindowShape s = gather_shape(facts);
    const std::uint64_t width = s.c * s.kh * s.kw;
    const std::uint64_t row = query.element / width, col = query.element % width;
    const std::uint64_t y = row / s.ow % s.oh * s.sh + col / s.kw % s.kh;  // in the padded image
    const std::uint64_t x = row % s.ow * s.sw + col % s.kw;
    if (y < s.ph || y - s.ph >= s.h || x < s.pw || x - s.pw >= s.w) {
        return static_cast<std::uint32_t>(facts.op.attributes[6]);
    }
    const std::uint64_t image = row / s.ow / s.oh, channel = col / s.kw / s.kh;
    return reads.bits(0, ((image * s.c + channel) * s.h + (y - s.ph)) * s.w + (x - s.pw));
}

// Attributes: n, c, h, w, then kernel, stride, padding.
Result<Operand> scatter_output(const OpFacts& facts) {
    const std::vector<std::uint64_t>& a = facts.op.attributes;
    Operand out{DType::f32, {a[0], a[1], a[2], a[3]}};
    RETRACE_CHECK(check_dims(out.dims));
    RETRACE_CHECK(check_window(a.data(), a.data() + 4));
    RETRACE_TRY(expected, columns_of(DType::f32, scatter_shape(facts)));
    if (facts.inputs[0] != expected) return error("takes the windows as fp32 " + shape_text(expected.dims));
    return out;
}

std::uint64_t scatter_links(const OpFacts& facts) {
    return (facts.op.attributes[4] * facts.op.attributes[5] + kWindowTerms - 1) / kWindowTerms;
}

std::uint64_t scatter_cost(const OpFacts& facts) {
    return saturating_add(elements_of(facts.inputs[0]),
                          saturating_mul(elements_of(facts.output), scatter_links(facts)));
}

/// Returns the window that covers pixel `at` at kernel position `k`; nullopt if none does.
std::optional<std::uint64_t> window_over(std::uint64_t at, std::uint64_t k, std::uint64_t stride,
                                         std::uint64_t windows) {
    if (at < k || (at - k) % stride != 0 || (at - k) / stride >= windows) return std::nullopt;
    return (at - k) / stride;
}

std::uint32_t scatter_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const WindowShape s = scatter_shape(facts);
    const std::uint64_t x = query.element % s.w + s.pw, y = query.element / s.w % s.h + s.ph;
    const std::uint64_t channel = query.element / s.w / s.h % s.c, image = query.element / s.w / s.h / s.c;
    const std::uint64_t begin = query.link * kWindowTerms, end = std::min(s.kh * s.kw, begin + kWindowTerms);
    float sum = 0.0f;
    for (std::uint64_t k = begin; k < end; ++k) {
        const auto oy = window_over(y, k / s.kw, s.sh, s.oh);
        const auto ox = window_over(x, k % s.kw, s.sw, s.ow);
        if (!oy || !ox) continue;
        const std::uint64_t row = (image * s.oh + *oy) * s.ow + *ox;
        sum += reads.f32(0, row * s.c * s.kh * s.kw + channel * s.kh * s.kw + k);
    }
    const float before = query.link == 0 ? 0.0f : from_bits(query.before);
    const float carried = canonical_nan(before + sum);
    return to_bits(query.link + 1 == scatter_links(facts) ? finish(carried) : carried);
}

constexpr std::array kRules = {
    OpRule{OpCode::window_gather, "window_gather", 1, 1, 7, 7, false, gather_output, cost_of_output, nullptr,
           gather_element},
    OpRule{OpCode::window_scatter, "window_scatter", 1, 1, 10, 10, false, scatter_output, scatter_cost, scatter_links,
           scatter_element},
};

}  // namespace

WindowShape gather_shape(const OpFacts& facts) {
    return window_shape(facts.inputs[0].dims.data(), facts.op.attributes.data());
}

WindowShape scatter_shape(const OpFacts& facts) {
    return window_shape(facts.op.attributes.data(), facts.op.attributes.data() + 4);
}

std::span<const OpRule> window_rules() { return kRules; }

}  // namespace retrace::kernels
