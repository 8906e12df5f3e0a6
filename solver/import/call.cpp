// SPDX-License-Identifier: MIT
#include "kernels/builder/tensor_ops.hpp"
#include "solver/import/lowerings.hpp"

namespace retrace::solver {

using kernels::DType;
using kernels::Value;
using Kind = Argument::Kind;

Kind Call::kind(std::size_t i) const { return i < count() ? op_.arguments[i].kind : Kind::none; }

Value Call::stand_in(const kernels::Dims& dims, DType dtype) {
    if (dtype == DType::f32) return kernels::fill(graph(), 0.0f, dims);
    // A constant of one element: of recorded extents it might fill the memory.
    return kernels::spread(graph(), graph().constant(dtype, {}, Bytes(kernels::size_of(dtype))), dims);
}

Value Call::missing(std::size_t i, const char* what) {
    refuse("argument " + std::to_string(i) + " is no " + what);
    return stand_in({}, DType::f32);
}

Value Call::tensor(std::size_t i) {
    if (kind(i) != Kind::value) return missing(i, "tensor");
    return values_.at(op_.arguments[i].values.at(0));
}

std::optional<Value> Call::maybe(std::size_t i) {
    if (kind(i) == Kind::none) return std::nullopt;
    return tensor(i);
}

Call::Values Call::tensors(std::size_t i) {
    Values out;
    if (kind(i) != Kind::values) return {missing(i, "list of tensors")};
    for (const std::uint32_t value : op_.arguments[i].values) out.push_back(values_.at(value));
    return out;
}

Value Call::operand(std::size_t i) {
    if (kind(i) == Kind::value) return tensor(i);
    return graph().scalar(static_cast<float>(number(i, 0)));
}

std::int64_t Call::integer(std::size_t i, std::int64_t otherwise) {
    if (kind(i) == Kind::none) return otherwise;
    if (kind(i) == Kind::integer || kind(i) == Kind::boolean) return op_.arguments[i].integers.at(0);
    missing(i, "whole number");
    return otherwise;
}

std::vector<std::int64_t> Call::integers(std::size_t i) const {
    if (kind(i) == Kind::integer || kind(i) == Kind::integers) return op_.arguments[i].integers;
    return {};
}

double Call::number(std::size_t i, double otherwise) {
    if (kind(i) == Kind::none) return otherwise;
    if (kind(i) == Kind::number) return op_.arguments[i].number;
    return static_cast<double>(integer(i, 0));
}

std::vector<double> Call::numbers(std::size_t i) const {
    return kind(i) == Kind::numbers ? op_.arguments[i].numbers : std::vector<double>();
}

bool Call::flag(std::size_t i) const { return kind(i) == Kind::boolean && op_.arguments[i].integers.at(0) != 0; }

std::string Call::text(std::size_t i) const { return kind(i) == Kind::text ? op_.arguments[i].text : std::string(); }

std::size_t Call::axis(std::size_t i, std::int64_t otherwise, std::size_t rank) {
    std::int64_t at = integer(i, otherwise);
    if (at < 0) at += static_cast<std::int64_t>(rank);
    if (at < 0 || at >= static_cast<std::int64_t>(rank)) {
        refuse("axis " + std::to_string(at) + " of " + std::to_string(rank));
        return 0;
    }
    return static_cast<std::size_t>(at);
}

std::uint32_t Call::value_number(std::size_t i) const { return op_.arguments.at(i).values.at(0); }

bool Call::is_used(std::size_t result) const { return used_[op_.results.at(result)]; }

Call::Values Call::refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    Values out;
    for (const std::uint32_t result : op_.results) {
        out.push_back(stand_in(recording_.values[result].dims, recording_.values[result].dtype));
    }
    return out;
}

}  // namespace retrace::solver
