// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "solver/import/rules.hpp"

namespace retrace::solver {
namespace {

/// Rules that take whole numbers and truth values, or look at types themselves. All others compute in
/// float32.
constexpr std::string_view kAnyType[] = {
    "aten::detach", "aten::_to_copy", "aten::permute", "aten::transpose", "aten::t", "aten::expand",
    "aten::split", "aten::split_with_sizes", "aten::chunk", "aten::unsafe_chunk", "aten::unsafe_split",
    "aten::unsafe_split_with_sizes", "aten::unbind", "aten::slice", "aten::select", "aten::cat",
    "aten::stack", "aten::view", "aten::reshape", "aten::flatten", "aten::unsqueeze", "aten::squeeze",
    "aten::_unsafe_view", "aten::_reshape_alias", "aten::unflatten", "aten::view_as", "aten::contiguous",
    "aten::clone", "aten::alias", "aten::lift_fresh",
    // choices
    "aten::repeat", "aten::repeat_interleave", "aten::flip", "aten::roll", "aten::index_select",
    "aten::embedding", "aten::where", "aten::masked_fill", "aten::scaled_dot_product_attention",
    // comparisons, logic
    "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::logical_and",
    "aten::logical_or", "aten::logical_not", "aten::bitwise_not", "aten::bitwise_and", "aten::bitwise_or",
    // tensors of which only the shape counts
    "aten::zeros_like", "aten::new_zeros", "aten::zero", "aten::ones_like", "aten::new_ones",
    "aten::full_like", "aten::fill", "aten::new_full"};

}  // namespace

bool takes_types_of(Call& call) {
    const std::string& name = call.op().name;
    if (std::find(std::begin(kAnyType), std::end(kAnyType), name) != std::end(kAnyType)) return true;
    for (std::size_t i = 0; i < call.count(); ++i) {
        const Argument::Kind kind = call.kind(i);
        if (kind == Argument::Kind::value && call.dtype(call.tensor(i)) != kernels::DType::f32) return false;
        if (kind != Argument::Kind::values) continue;
        for (const kernels::Value value : call.tensors(i))
            if (call.dtype(value) != kernels::DType::f32) return false;
    }
    return true;
}

}  // namespace retrace::solver
