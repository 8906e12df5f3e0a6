// SPDX-License-Identifier: MIT
#include "solver/import/outputs.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace retrace::solver {
namespace {

template <std::size_t count>
bool is_one_of(const std::string& name, const std::string_view (&names)[count]) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// The same elements in the same order.
bool keeps_elements(const RecordedOp& op) {
    constexpr std::string_view kNames[] = {"aten::view",           "aten::reshape",   "aten::flatten",
                                           "aten::unsqueeze",      "aten::squeeze",   "aten::_unsafe_view",
                                           "aten::_reshape_alias", "aten::unflatten", "aten::view_as",
                                           "aten::contiguous",     "aten::clone",     "aten::alias"};
    return is_one_of(op.name, kNames);
}

bool makes_probabilities(const RecordedOp& op) {
    constexpr std::string_view kNames[] = {"aten::sigmoid", "aten::softmax", "aten::_softmax",
                                           "aten::hardsigmoid"};
    return is_one_of(op.name, kNames);
}

bool is_product(const RecordedOp& op) {
    constexpr std::string_view kNames[] = {"aten::matmul", "aten::bmm",     "aten::mm", "aten::mv",
                                           "aten::addmm",  "aten::baddbmm", "aten::dot"};
    return is_one_of(op.name, kNames);
}

/// What follows a layer with parameters is no probability any more.
bool is_layer(const Recording& recording, const RecordedOp& op) {
    for (const Argument& argument : op.arguments) {
        for (const std::uint32_t value : argument.values) {
            const ValueKind kind = recording.values[value].kind;
            if (kind == ValueKind::parameter || kind == ValueKind::frozen) return true;
        }
    }
    return is_product(op);
}

const RecordedOp* maker_of(const Recording& recording, std::uint32_t value) {
    for (auto op = recording.ops.rbegin(); op != recording.ops.rend(); ++op) {
        if (std::find(op->results.begin(), op->results.end(), value) != op->results.end()) return &*op;
    }
    return nullptr;
}

/// The first op behind the output, with no layer between, that makes probabilities.
const RecordedOp* probabilities_behind(const Recording& recording) {
    std::set<std::uint32_t> behind{recording.output};
    for (auto op = recording.ops.rbegin(); op != recording.ops.rend(); ++op) {
        const bool leads = std::any_of(op->results.begin(), op->results.end(),
                                       [&](std::uint32_t result) { return behind.contains(result); });
        if (!leads) continue;
        if (makes_probabilities(*op)) return &*op;
        if (is_layer(recording, *op)) continue;
        for (const Argument& argument : op->arguments)
            behind.insert(argument.values.begin(), argument.values.end());
    }
    return nullptr;
}

}  // namespace

Result<std::uint32_t> logits_of(const Recording& recording, kernels::LossKind loss) {
    if (loss != kernels::LossKind::bce) return recording.output;
    const RecordedOp* last = maker_of(recording, recording.output);
    while (last != nullptr && !last->detached && keeps_elements(*last) && !last->arguments.empty() &&
           last->arguments[0].values.size() == 1) {
        last = maker_of(recording, last->arguments[0].values[0]);
    }
    const bool sigmoid = last != nullptr && last->name == "aten::sigmoid" && !last->detached;
    if (sigmoid && !last->arguments.empty() && last->arguments[0].values.size() == 1)
        return last->arguments[0].values[0];
    if (const RecordedOp* const found = probabilities_behind(recording)) {
        return error("--loss bce takes logits, and the output is made of probabilities (" + found->name +
                     " in " + found->where +
                     "); end the model with the sigmoid, or return what goes into it");
    }
    return recording.output;
}

}  // namespace retrace::solver
