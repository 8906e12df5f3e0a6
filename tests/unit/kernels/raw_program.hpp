// SPDX-License-Identifier: MIT
// Builds programs op by op that no builder would produce.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/opcode.hpp"
#include "kernels/program/program.hpp"

namespace retrace::kernels::testing {

struct RawProgram {
    Program program;
    /// Declares fp32 states "s0", "s1", … of these extents as tensors 0, 1, …
    explicit RawProgram(const std::vector<Dims>& states) {
        for (const Dims& dims : states)
            program.tensors.push_back(
                {TensorKind::state, DType::f32, dims, kNoWriter, "s" + std::to_string(program.states++)});
    }
    /// Adds an op and returns its output tensor.
    std::uint32_t op(OpCode code, std::vector<std::uint32_t> inputs, Dims dims,
                     std::vector<std::uint64_t> attributes = {}, DType dtype = DType::f32) {
        program.ops.push_back({code, std::move(inputs), std::move(attributes), ""});
        program.tensors.push_back({TensorKind::op_output, dtype, std::move(dims), kNoWriter, ""});
        return static_cast<std::uint32_t>(program.tensors.size() - 1);
    }
    void set_next(std::uint32_t tensor, std::uint32_t state = 0) {
        program.tensors[state].writer = tensor - program.tensors_static();
    }
};

}  // namespace retrace::kernels::testing
