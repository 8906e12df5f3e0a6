// SPDX-License-Identifier: MIT
// Writes programs: values are created in any order; `build` numbers them, drops ops whose results nothing needs, and
// checks the program.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "kernels/ops/element.hpp"
#include "kernels/ops/opcode.hpp"
#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// A tensor of the graph under construction.
struct Value {
    std::uint32_t id = 0;
    auto operator<=>(const Value&) const = default;
};

/// Builds a program. Misuse (an op whose shape rule fails) is a bug of the calling code and asserted with the op's
/// name.
/// The order of additions is the order in the program, and so in its root: two arguments of one call may not both add,
/// because each compiler evaluates arguments in an order of its own.
class Graph {
public:
    Value state(std::string name, DType dtype, Dims dims);
    Value dataset(std::string name, DType dtype, Dims dims);
    Value constant(DType dtype, Dims dims, Bytes data);
    /// Return a rank-0 constant; equal values share one constant.
    Value scalar(float value);
    Value scalar_i32(std::int32_t value);

    /// Appends an op. `free_output` gives dtype and extents if the output does not follow from the inputs (reshape,
    /// generators; for an elementwise op it may give extents to which all operands broadcast).
    Value op(OpCode code, std::vector<Value> inputs, std::vector<std::uint64_t> attributes = {},
             OpFacts::Operand free_output = {}, std::string stream = {});

    /// Sets the next value of a state tensor; at most one call per tensor.
    void set_next(Value state, Value next);
    /// Makes a rank-0 fp32 value a metric, which the executor reports at every step.
    void set_metric(Value value, std::string name);

    const OpFacts::Operand& shape(Value value) const { return nodes_[value.id].operand; }
    const Dims& dims(Value value) const { return shape(value).dims; }
    Geometry matrix(Value value) const { return geometry(dims(value)); }

    Result<Program> build() const;

private:
    struct Node {
        TensorKind kind = TensorKind::op_output;
        OpFacts::Operand operand;
        std::string name;
        Bytes data;                      ///< Data of a constant.
        OpRecord op;                     ///< The op of an op output; its inputs are node numbers.
        std::uint32_t next = kNoWriter;  ///< For a state tensor: the node of its next value.
    };
    Value add(Node node);
    std::vector<bool> needed() const;

    std::deque<Node> nodes_;  ///< A deque, because `shape` returns references that must survive additions.
    std::map<std::pair<DType, std::uint32_t>, Value> scalars_;
};

}  // namespace retrace::kernels
