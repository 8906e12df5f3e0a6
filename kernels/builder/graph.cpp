// SPDX-License-Identifier: MIT
#include "kernels/builder/graph.hpp"

#include <algorithm>

#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::kernels {
namespace {

/// Returns the extents to which all operands of an elementwise op broadcast: those of a full operand, the one of
/// highest rank if several are full (so that a single element keeps its [1] beside scalars).
Dims broadcast_dims(const std::vector<OpFacts::Operand>& operands) {
    Geometry whole;
    for (const auto& operand : operands) {
        whole.rows = std::max(whole.rows, geometry(operand.dims).rows);
        whole.cols = std::max(whole.cols, geometry(operand.dims).cols);
    }
    const Dims* best = nullptr;
    for (const auto& operand : operands) {
        const Geometry shape = geometry(operand.dims);
        const bool full = shape.rows == whole.rows && shape.cols == whole.cols;
        if (full && (best == nullptr || operand.dims.size() > best->size())) best = &operand.dims;
    }
    return best != nullptr ? *best : Dims{whole.rows, whole.cols};
}

void misuse(const OpRule& rule, const Error& why) {
    ensure(false, (std::string(rule.name) + ": " + why.message).c_str());
}

}  // namespace

Value Graph::add(Node node) {
    nodes_.push_back(std::move(node));
    return {static_cast<std::uint32_t>(nodes_.size() - 1)};
}

Value Graph::state(std::string name, DType dtype, Dims dims) {
    Node node;
    node.kind = TensorKind::state;
    node.operand = {dtype, std::move(dims)};
    node.name = std::move(name);
    return add(std::move(node));
}

Value Graph::dataset(std::string name, DType dtype, Dims dims) {
    Node node;
    node.kind = TensorKind::data;
    node.operand = {dtype, std::move(dims)};
    node.name = std::move(name);
    return add(std::move(node));
}

Value Graph::constant(DType dtype, Dims dims, Bytes data) {
    Node node;
    node.kind = TensorKind::constant;
    node.operand = {dtype, std::move(dims)};
    node.data = std::move(data);
    return add(std::move(node));
}

Value Graph::scalar(float value) {
    const std::uint32_t bits = to_bits(value);
    const auto found = scalars_.find({DType::f32, bits});
    if (found != scalars_.end()) return found->second;
    Bytes data(4);
    store_u32(data.data(), bits);
    return scalars_[{DType::f32, bits}] = constant(DType::f32, {}, std::move(data));
}

Value Graph::scalar_i32(std::int32_t value) {
    const auto bits = static_cast<std::uint32_t>(value);
    const auto found = scalars_.find({DType::i32, bits});
    if (found != scalars_.end()) return found->second;
    Bytes data(4);
    store_u32(data.data(), bits);
    return scalars_[{DType::i32, bits}] = constant(DType::i32, {}, std::move(data));
}

Value Graph::op(OpCode code, std::vector<Value> inputs, std::vector<std::uint64_t> attributes,
                OpFacts::Operand free_output, std::string stream) {
    OpFacts facts;
    facts.op = {code, {}, std::move(attributes), std::move(stream)};
    for (const Value input : inputs) {
        facts.op.inputs.push_back(input.id);
        facts.inputs.push_back(shape(input));
    }
    if (is_elementwise(code) && free_output.dims.empty()) free_output.dims = broadcast_dims(facts.inputs);
    facts.output = std::move(free_output);
    const OpRule* rule = find_rule(code);
    ensure(rule != nullptr, "an op of the table");
    const Result<OpFacts::Operand> output = rule->output(facts);
    if (!output) misuse(*rule, output.error());
    facts.output = *output;
    const Status<> status = check_facts(facts);
    if (!status) misuse(*rule, status.error());
    Node node;
    node.operand = std::move(facts.output);
    node.op = std::move(facts.op);
    return add(std::move(node));
}

void Graph::set_next(Value state, Value next) {
    Node& node = nodes_[state.id];
    ensure(node.kind == TensorKind::state && node.next == kNoWriter, "a state tensor without a next value");
    ensure(nodes_[next.id].kind == TensorKind::op_output && shape(next) == shape(state),
           "an op output of the state's shape");
    node.next = next.id;
}

void Graph::set_metric(Value value, std::string name) {
    ensure(nodes_[value.id].kind == TensorKind::op_output && shape(value) == OpFacts::Operand{},
           "an fp32 scalar of an op");
    nodes_[value.id].name = std::move(name);
}

std::vector<bool> Graph::needed() const {
    std::vector<bool> wanted(nodes_.size(), false);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].kind == TensorKind::state && nodes_[i].next != kNoWriter) wanted[nodes_[i].next] = true;
        if (nodes_[i].kind == TensorKind::op_output && !nodes_[i].name.empty()) wanted[i] = true;
        // State tensors and data sets are the program's interface and are kept whether they are read or not.
        if (nodes_[i].kind == TensorKind::state || nodes_[i].kind == TensorKind::data) wanted[i] = true;
    }
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        if (!wanted[i]) continue;
        for (const std::uint32_t input : nodes_[i].op.inputs) wanted[input] = true;
    }
    return wanted;
}

Result<Program> Graph::build() const {
    const std::vector<bool> wanted = needed();
    std::vector<std::uint32_t> number(nodes_.size(), kNoWriter);
    Program program;
    std::uint32_t next = 0;
    for (const TensorKind kind : {TensorKind::state, TensorKind::constant, TensorKind::data, TensorKind::op_output}) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i].kind != kind || !wanted[i]) continue;
            number[i] = next++;
            const Node& node = nodes_[i];
            program.tensors.push_back({kind, node.operand.dtype, node.operand.dims, kNoWriter, node.name});
            if (kind == TensorKind::state) ++program.states;
            if (kind == TensorKind::data) ++program.datasets;
            if (kind == TensorKind::constant) {
                ++program.constants;
                program.constant_data.push_back({node.data});
            }
            if (kind == TensorKind::op_output) program.ops.push_back(node.op);
        }
    }
    for (OpRecord& op : program.ops) {
        for (std::uint32_t& input : op.inputs) input = number[input];
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].kind != TensorKind::state || nodes_[i].next == kNoWriter) continue;
        program.tensors[number[i]].writer = number[nodes_[i].next] - program.tensors_static();
    }
    RETRACE_CHECK(check(program));
    return program;
}

}  // namespace retrace::kernels
