// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/ops/element.hpp"

namespace retrace::kernels::parity {

/// A program with only this op, whose inputs are data sets.
inline Program program_of(const OpFacts& facts) {
    Program program;
    program.datasets = static_cast<std::uint32_t>(facts.inputs.size());
    for (const OpFacts::Operand& input : facts.inputs) {
        program.tensors.push_back({TensorKind::data, input.dtype, input.dims, kNoWriter, {}});
    }
    program.tensors.push_back({TensorKind::op_output, facts.output.dtype, facts.output.dims, kNoWriter, {}});
    OpRecord op = facts.op;
    for (std::uint32_t i = 0; i < op.inputs.size(); ++i) op.inputs[i] = i;
    program.ops.push_back(op);
    return program;
}

}  // namespace retrace::kernels::parity
