// SPDX-License-Identifier: MIT
#include "kernels/exec/dispute_memory.hpp"

#include <algorithm>

namespace retrace::kernels {
namespace {

std::uint64_t bytes_of(const TensorRecord& record) {
    return geometry(record.dims).elements() * size_of(record.dtype);
}

}  // namespace

std::uint64_t evidence_bytes(const Program& program) {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        std::uint64_t sum = bytes_of(program.tensors[program.output_of(i)]);
        for (const std::uint32_t input : program.ops[i].inputs)
            if (program.is_op_output(input)) sum += bytes_of(program.tensors[input]);
        most = std::max(most, sum);
    }
    return most;
}

}  // namespace retrace::kernels
