// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "solver/import/lowering_tools.hpp"
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::Value;

/// The place in the input that output `i` looks at (PyTorch's rule; `corners`: align_corners).
double source_of(std::uint64_t i, std::uint64_t in, std::uint64_t out, bool corners) {
    if (corners)
        return out == 1 ? 0 : static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    return std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
}

std::vector<float> interpolation(std::uint64_t in, std::uint64_t out, bool corners) {
    std::vector<float> matrix(in * out, 0.0f);
    for (std::uint64_t i = 0; i < out; ++i) {
        const double at = source_of(i, in, out, corners);
        const auto low = std::min(static_cast<std::uint64_t>(at), in - 1);
        const std::uint64_t high = std::min(low + 1, in - 1);
        const auto part = static_cast<float>(at - static_cast<double>(low));
        matrix[i * in + low] += 1.0f - part;
        matrix[i * in + high] += part;
    }
    return matrix;
}

/// The scale factor of an image's axis (a number for each, or a list of them), 0 where none is given.
double scale_of(Call& call, std::size_t scales, std::size_t axis) {
    if (call.kind(scales) != Argument::Kind::numbers) return call.number(std::min(scales + axis, call.count()), 0);
    const std::vector<double> all = call.numbers(scales);
    return axis < all.size() ? all[axis] : 0;
}

/// Sizes that a scale factor gives exactly; PyTorch's own arithmetic with other factors is not followed.
bool is_plain_resize(Call& call, std::size_t scales) {
    const Dims in = call.dims(call.tensor(0)), out = call.result_dims();
    for (std::size_t i = 0; i + 2 < in.size(); ++i) {
        const double given = scale_of(call, scales, i);
        const double exact = static_cast<double>(out[2 + i]) / static_cast<double>(in[2 + i]);
        if (given != 0 && std::abs(given - exact) > 1e-9 * exact) return false;
    }
    return true;
}

constexpr const char* kResize = "a scale that does not give whole sizes; give the size";

/// (x, size, scales…): the element at ⌊i·scale⌋, in PyTorch's float32.
Call::Values upsample_nearest(Call& call) {
    Value y = call.tensor(0);
    const Dims in = call.dims(y), out = call.result_dims();
    for (std::size_t axis = 2; axis < in.size(); ++axis) {
        const double given = scale_of(call, 2, axis - 2);
        const float step =
            given > 0 ? static_cast<float>(1 / given) : static_cast<float>(in[axis]) / static_cast<float>(out[axis]);
        std::vector<std::int64_t> places(out[axis]);
        for (std::uint64_t i = 0; i < out[axis]; ++i) {
            const auto place = static_cast<std::int64_t>(std::floor(static_cast<float>(i) * step));
            places[i] = std::min(place, static_cast<std::int64_t>(in[axis]) - 1);
        }
        y = picked(call.tape(), y, axis, places);
    }
    return {y};
}

/// (x, size, align_corners, scales…).
Call::Values upsample_linear(Call& call) {
    if (!is_plain_resize(call, 3)) return call.refuse(kResize);
    Value y = call.tensor(0);
    const Dims in = call.dims(y), out = call.result_dims();
    for (std::size_t axis = 2; axis < in.size(); ++axis)
        y = mapped_along(call.tape(), y, axis, out[axis], interpolation(in[axis], out[axis], call.flag(2)));
    return {y};
}

}  // namespace

std::vector<ImportedOp> resize_ops() {
    using enum TensorTypes;
    return {
        {"aten::upsample_nearest1d", f32, "T", 1, signature::resized_to_nearest, upsample_nearest},
        {"aten::upsample_nearest2d", f32, "T", 1, signature::resized_to_nearest, upsample_nearest},
        {"aten::upsample_linear1d", f32, "T", 1, signature::resized_linearly, upsample_linear},
        {"aten::upsample_bilinear2d", f32, "T", 1, signature::resized_linearly, upsample_linear},
    };
}

}  // namespace retrace::solver
