// SPDX-License-Identifier: MIT
// The checker: a program that passes runs on every back end and can be disputed (kernels/ops/SPEC.md).
#include <algorithm>
#include <map>

#include "kernels/ops/element.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

std::string op_name(const Program& program, std::uint32_t index) {
    const OpCode code = program.ops[index].code;
    const OpRule* rule = find_rule(code);
    return "op " + std::to_string(index) + " (" +
           (rule ? std::string(rule->name) : "code " + std::to_string(static_cast<unsigned>(code))) + ")";
}

/// Names a tensor; for an op's output, also the op, which the author has to change.
std::string tensor_name(const Program& program, std::uint32_t index) {
    const std::string& name = program.tensors[index].name;
    const std::string of =
        program.is_op_output(index) ? " of " + op_name(program, index - program.tensors_static()) : "";
    return "tensor " + std::to_string(index) + (name.empty() ? "" : " (" + name + ")") + of;
}

Unexpected<Error> over(const std::string& what, std::uint64_t found, std::uint64_t limit) {
    return error(what + " " + std::to_string(found) + " over the limit of " + std::to_string(limit));
}

Status<> check_counts(const Program& program, const Limits& limits) {
    if (program.version != 1) return error("program: version " + std::to_string(program.version) + " unknown");
    if (program.ops.size() > limits.ops) return over("program: ops", program.ops.size(), limits.ops);
    const std::uint64_t tensors =
        std::uint64_t{program.states} + program.constants + program.datasets + program.ops.size();
    if (tensors > limits.tensors) return over("program: tensors", tensors, limits.tensors);
    if (program.tensors.size() != tensors) return error("program: tensor records do not match the counts");
    if (program.constant_data.size() != program.constants) return error("program: constants do not match their count");
    return Unit{};
}

TensorKind kind_at(const Program& program, std::uint32_t index) {
    if (index < program.states) return TensorKind::state;
    if (index < program.states + program.constants) return TensorKind::constant;
    return index < program.tensors_static() ? TensorKind::data : TensorKind::op_output;
}

Status<> check_tensor(const Program& program, std::uint32_t index, const Limits& limits) {
    const TensorRecord& record = program.tensors[index];
    const std::string name = tensor_name(program, index);
    if (record.kind != kind_at(program, index)) return error(name + ": kind out of order");
    if (!is_dtype(record.dtype)) return error(name + ": unknown dtype");
    if (record.name.size() > kNameMax) return error(name + ": name too long");
    if (const auto dims = check_dims(record.dims); !dims) return error(name + ": " + dims.error().message);
    const std::uint64_t elements = geometry(record.dims).elements();
    if (elements > limits.elements) return over(name + ": elements", elements, limits.elements);
    if (record.writer == kNoWriter) return Unit{};
    if (record.kind != TensorKind::state) return error(name + ": only a state tensor has a writer");
    if (record.writer >= program.ops.size()) return error(name + ": writer is not an op");
    const TensorRecord& output = program.tensors[program.output_of(record.writer)];
    if (output.dtype != record.dtype || output.dims != record.dims) {
        return error(name + ": the writer's output has another dtype or shape");
    }
    return Unit{};
}

Status<> check_constants(const Program& program, const Limits& limits) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < program.constants; ++i) {
        const std::uint32_t index = program.states + i;
        const TensorRecord& record = program.tensors[index];
        const Bytes& data = program.constant_data[i].data;
        if (data.size() != geometry(record.dims).elements() * size_of(record.dtype)) {
            return error(tensor_name(program, index) + ": constant of another length");
        }
        total += data.size();
        if (total > limits.constant_bytes) return over("program: constant bytes", total, limits.constant_bytes);
        if (record.dtype == DType::boolean && std::any_of(data.begin(), data.end(), [](auto b) { return b > 1; })) {
            return error(tensor_name(program, index) + ": a bool that is not 0 or 1");
        }
    }
    return Unit{};
}

/// Two ops of one number would draw the same words if they had the same key.
Status<> check_chacha_numbers(const Program& program) {
    std::map<std::uint64_t, std::uint32_t> ops;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        if (program.ops[i].code != OpCode::chacha_bits) continue;
        const auto [found, fresh] = ops.emplace(program.ops[i].attributes[0], i);
        if (!fresh) return error(op_name(program, i) + ": has the number of op " + std::to_string(found->second));
    }
    return Unit{};
}

/// Returns the cost of a checked op.
std::uint64_t op_cost(const Program& program, std::uint32_t index) {
    const OpFacts facts = facts_of(program, index);
    const OpRule* rule = find_rule(facts.op.code);
    ensure(rule != nullptr, "a checked op code");
    return rule->cost(facts);
}

/// Checks the sum of costs; the error names the op at which it exceeds the limit.
Status<> check_cost(const Program& program, const Limits& limits) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const std::uint64_t cost = op_cost(program, i);
        total = saturating_add(total, cost);
        if (total > limits.step_cost)
            return over(op_name(program, i) + ": costs " + std::to_string(cost) + "; step cost up to it", total,
                        limits.step_cost);
    }
    return Unit{};
}

Status<> check_op(const Program& program, std::uint32_t index) {
    const OpRecord& op = program.ops[index];
    const std::string name = op_name(program, index);
    if (!find_rule(op.code)) return error(name + ": unknown op code");
    for (const std::uint32_t input : op.inputs) {
        if (input >= program.output_of(index)) return error(name + ": input is not an earlier tensor");
    }
    if (const auto facts = check_facts(facts_of(program, index)); !facts) {
        return error(name + ": " + facts.error().message);
    }
    return Unit{};
}

}  // namespace

bool is_dtype(DType dtype) noexcept { return size_of(dtype) != 0; }

Status<> check_dims(const Dims& dims) {
    if (dims.size() > kRankMax) return error("rank over " + std::to_string(kRankMax));
    std::uint64_t product = 1;
    for (const std::uint64_t extent : dims) {
        product = saturating_mul(product, std::max<std::uint64_t>(extent, 1));
        if (product > kElementsMax) return error("more than 2^36 elements");
    }
    return Unit{};
}

Status<> check(const Program& program, const Limits& limits) {
    RETRACE_CHECK(check_counts(program, limits));
    for (std::uint32_t i = 0; i < program.tensors.size(); ++i) RETRACE_CHECK(check_tensor(program, i, limits));
    RETRACE_CHECK(check_constants(program, limits));
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) RETRACE_CHECK(check_op(program, i));
    RETRACE_CHECK(check_chacha_numbers(program));
    return check_cost(program, limits);
}

std::uint64_t step_cost(const Program& program) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) total = saturating_add(total, op_cost(program, i));
    return total;
}

}  // namespace retrace::kernels
