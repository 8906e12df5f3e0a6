// SPDX-License-Identifier: MIT
// Writes programs: values are created in any order, `build` numbers them, drops ops that nothing needs and checks.
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

/// Misuse (an op whose shape rule fails) is an error of the code that builds, and asserted with the op's name.
class Graph {
public:
    Value state(std::string name, DType dtype, Dims dims);
    Value dataset(std::string name, DType dtype, Dims dims);
    Value constant(DType dtype, Dims dims, Bytes data);
    /// Rank-0 constants, one for each value.
    Value scalar(float value);
    Value scalar_i32(std::int32_t value);

    /// `free_output` gives dtype and extents of ops whose output does not follow from their inputs (reshape,
    /// generators; an elementwise op may give extents that all of its operands broadcast to).
    Value op(OpCode code, std::vector<Value> inputs, std::vector<std::uint64_t> attributes = {},
             OpFacts::Operand free_output = {}, std::string stream = {});

    /// The next value of a state tensor; one call a tensor at most.
    void set_next(Value state, Value next);
    /// A rank-0 fp32 value that the executor reports at every step.
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
        Bytes data;                 ///< Of a constant.
        OpRecord op;                ///< Of an op output; inputs are node numbers.
        std::uint32_t next = kNoWriter;  ///< Of a state tensor: the node of its next value.
    };
    Value add(Node node);
    std::vector<bool> needed() const;

    std::deque<Node> nodes_;  ///< Their shapes are lent out while more are added.
    std::map<std::pair<DType, std::uint32_t>, Value> scalars_;
};

}  // namespace retrace::kernels
