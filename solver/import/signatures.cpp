// SPDX-License-Identifier: MIT
#include "solver/import/signatures.hpp"

#include <algorithm>

#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::solver {

using kernels::Dims;
using Kind = Argument::Kind;

Status<> unless(bool holds, const char* why) {
    if (!holds) return error(why);
    return Unit{};
}

std::uint64_t product(const Dims& dims) { return kernels::geometry(dims).elements(); }

std::uint64_t product_of(const std::vector<std::uint64_t>& factors) {
    std::uint64_t out = 1;
    for (const std::uint64_t factor : factors) out = kernels::saturating_mul(out, factor);
    return out;
}

const Dims& CallShape::dims(std::size_t i) const {
    static const Dims kNumber;
    return is_tensor(i) ? recording_.values[op_.arguments[i].values[0]].dims : kNumber;
}

std::vector<Dims> CallShape::list(std::size_t i) const {
    std::vector<Dims> out;
    if (i < count())
        for (const std::uint32_t value : op_.arguments[i].values) out.push_back(recording_.values[value].dims);
    return out;
}

bool CallShape::is_of_one_type(std::size_t list) const {
    const std::vector<std::uint32_t>& values = op_.arguments[list].values;
    return std::all_of(values.begin(), values.end(), [&](std::uint32_t value) {
        return recording_.values[value].dtype == recording_.values[values.front()].dtype;
    });
}

std::int64_t CallShape::integer(std::size_t i, std::int64_t otherwise) const {
    return kind(i) == Kind::integer || kind(i) == Kind::boolean ? op_.arguments[i].integers[0] : otherwise;
}

std::vector<std::int64_t> CallShape::integers(std::size_t i) const {
    if (kind(i) == Kind::integer || kind(i) == Kind::integers) return op_.arguments[i].integers;
    return {};
}

double CallShape::number(std::size_t i, double otherwise) const {
    if (kind(i) == Kind::number) return op_.arguments[i].number;
    return kind(i) == Kind::none ? otherwise : static_cast<double>(integer(i, 0));
}

std::vector<double> CallShape::numbers(std::size_t i) const {
    return kind(i) == Kind::numbers ? op_.arguments[i].numbers : std::vector<double>();
}

std::optional<std::size_t> CallShape::axis(std::size_t i, std::int64_t otherwise, std::size_t rank) const {
    const auto ranks = static_cast<std::int64_t>(rank);
    const std::int64_t named = integer(i, otherwise);
    if (named < -ranks || named >= ranks) return std::nullopt;
    return static_cast<std::size_t>(named < 0 ? named + ranks : named);
}

Status<> CallShape::passes(const std::vector<std::uint64_t>& extents) const {
    return unless(product_of(extents) <= kernels::kElementsMax, "more than 2^36 numbers on the way");
}

Status<> CallShape::writes(const std::vector<std::uint64_t>& extents) {
    expense_.constant_bytes =
        kernels::saturating_add(expense_.constant_bytes, kernels::saturating_mul(4, product_of(extents)));
    const bool fits = expense_.constant_bytes <= kernels::Limits{}.constant_bytes;
    return unless(fits, "more constants than a program may have");
}

Status<> CallShape::takes(const std::vector<std::uint64_t>& ops) {
    expense_.ops = kernels::saturating_add(expense_.ops, product_of(ops));
    return unless(expense_.ops <= kernels::Limits{}.ops, "more ops than a program may have");
}

Status<> CallShape::check(std::string_view tensors, std::size_t results) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Kind found = kind(i);
        const bool fits = tensors[i] == '.' || (tensors[i] != 'L' && found == Kind::value) ||
                          (tensors[i] == 't' && found == Kind::none) || (tensors[i] == 'L' && found == Kind::values);
        if (!fits) return error("argument " + std::to_string(i) + " is no " + (tensors[i] == 'L' ? "list" : "tensor"));
    }
    if (op_.results.size() < results) return error("another number of results");
    const auto has_elements = [&](std::uint32_t value) { return product(recording_.values[value].dims) > 0; };
    bool all = std::all_of(op_.results.begin(), op_.results.end(), has_elements);
    for (const Argument& argument : op_.arguments)
        all = all && std::all_of(argument.values.begin(), argument.values.end(), has_elements);
    return unless(all, "a tensor without elements");
}

}  // namespace retrace::solver
