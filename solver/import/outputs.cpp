// SPDX-License-Identifier: MIT
#include "solver/import/outputs.hpp"

#include <algorithm>
#include <map>
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
    constexpr std::string_view kNames[] = {"aten::sigmoid", "aten::softmax", "aten::_softmax", "aten::hardsigmoid",
                                           "aten::log_sigmoid"};
    return is_one_of(op.name, kNames);
}

/// How the output is computed from a value.
struct Way {
    bool divides = false;  ///< A value computed from it is a divisor.
    bool shifted = false;  ///< A number is added to it.
};

Way operator|(Way a, Way b) { return {a.divides || b.divides, a.shifted || b.shifted}; }

/// Sigmoid and softmax as people write them: 1 / (1 + exp(-x)), exp(x) / (1 + exp(x)), exp(x) / exp(x).sum(),
/// 0.5 * (1 + tanh(x / 2)).
bool makes_probabilities_by_hand(const RecordedOp& op, Way way) {
    constexpr std::string_view kPowers[] = {"aten::exp", "aten::exp2", "aten::expm1"};
    return (way.divides && is_one_of(op.name, kPowers)) || (way.shifted && op.name == "aten::tanh");
}

/// A number, or the tensor of one that tracing made of it.
bool is_number(const Recording& recording, const Argument& argument) {
    if (argument.kind == Argument::Kind::number) return argument.number != 0;
    if (argument.kind == Argument::Kind::integer) return !argument.integers.empty() && argument.integers[0] != 0;
    return argument.kind == Argument::Kind::value && argument.values.size() == 1 &&
           recording.values[argument.values[0]].kind == ValueKind::constant;
}

/// The way of the value that an op reads as argument `i`.
Way way_through(const Recording& recording, const RecordedOp& op, std::size_t i, Way way) {
    constexpr std::string_view kSums[] = {"aten::add", "aten::sub", "aten::rsub"};
    const bool two = op.arguments.size() >= 2;
    if (op.name == "aten::reciprocal" || (op.name == "aten::pow" && i == 0) || (op.name == "aten::div" && i == 1))
        way.divides = true;
    if (two && i < 2 && is_one_of(op.name, kSums) && is_number(recording, op.arguments[1 - i])) way.shifted = true;
    return way;
}

bool is_product(const RecordedOp& op) {
    constexpr std::string_view kNames[] = {"aten::matmul", "aten::bmm",     "aten::mm", "aten::mv",
                                           "aten::addmm",  "aten::baddbmm", "aten::dot"};
    return is_one_of(op.name, kNames);
}

/// The output of a layer with parameters is no probability any more.
bool is_layer(const Recording& recording, const RecordedOp& op) {
    for (const Argument& argument : op.arguments) {
        for (const std::uint32_t value : argument.values) {
            const ValueKind kind = recording.values[value].kind;
            if (kind == ValueKind::parameter || kind == ValueKind::frozen) return true;
        }
    }
    return is_product(op);
}

/// Returns the op before `end` that makes `value`, and moves `end` to it. An op reads only values of earlier ops.
const RecordedOp* maker_of(const Recording& recording, std::uint32_t value, std::size_t& end) {
    while (end > 0) {
        const RecordedOp& op = recording.ops[--end];
        if (std::find(op.results.begin(), op.results.end(), value) != op.results.end()) return &op;
    }
    return nullptr;
}

/// The first op behind the output, with no layer between, that makes probabilities.
const RecordedOp* probabilities_behind(const Recording& recording) {
    std::map<std::uint32_t, Way> behind{{recording.output, {}}};
    for (auto op = recording.ops.rbegin(); op != recording.ops.rend(); ++op) {
        bool leads = false;
        Way way;
        for (const std::uint32_t result : op->results) {
            const auto found = behind.find(result);
            if (found == behind.end()) continue;
            leads = true;
            way = way | found->second;
        }
        if (!leads) continue;
        if (makes_probabilities(*op)) return &*op;
        if (is_layer(recording, *op)) continue;
        if (makes_probabilities_by_hand(*op, way)) return &*op;
        for (std::size_t i = 0; i < op->arguments.size(); ++i) {
            const Way before = way_through(recording, *op, i, way);
            for (const std::uint32_t value : op->arguments[i].values) behind[value] = behind[value] | before;
        }
    }
    return nullptr;
}

}  // namespace

Result<std::uint32_t> logits_of(const Recording& recording, kernels::LossKind loss) {
    if (loss != kernels::LossKind::bce) return recording.output;
    std::size_t end = recording.ops.size();
    const RecordedOp* last = maker_of(recording, recording.output, end);
    while (last != nullptr && !last->detached && keeps_elements(*last) && !last->arguments.empty() &&
           last->arguments[0].values.size() == 1) {
        last = maker_of(recording, last->arguments[0].values[0], end);
    }
    const bool sigmoid = last != nullptr && last->name == "aten::sigmoid" && !last->detached;
    if (sigmoid && !last->arguments.empty() && last->arguments[0].values.size() == 1)
        return last->arguments[0].values[0];
    if (const RecordedOp* const found = probabilities_behind(recording)) {
        return error("--loss bce takes logits, and the output is made of probabilities (" + found->name + " in " +
                     found->where + "); end the model with torch.sigmoid, or return what goes into it");
    }
    return recording.output;
}

}  // namespace retrace::solver
