// SPDX-License-Identifier: MIT
#include "kernels/exec/dispute_memory.hpp"

#include <algorithm>

#include "merkle/base/bytes.hpp"

namespace retrace::kernels {
namespace {

std::uint64_t bytes_of(const TensorRecord& record) { return geometry(record.dims).elements() * size_of(record.dtype); }

/// Bytes of a tree with all its levels: about two hashes per tile.
std::uint64_t tree_bytes(const TensorRecord& record) {
    const std::uint64_t tiles = geometry(record.dims).tiles();
    return (2 * tiles + 64) * sizeof(Hash32);
}

/// Whether an earlier slot of the op names the same tensor as slot `slot`.
bool is_repeated(const OpRecord& op, std::size_t slot) {
    return std::find(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(slot), op.inputs[slot]) !=
           op.inputs.begin() + static_cast<std::ptrdiff_t>(slot);
}

}  // namespace

std::uint64_t state_bytes(const Program& program) {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < program.states; ++i) bytes += bytes_of(program.tensors[i]);
    return bytes;
}

std::uint64_t move_memory_bytes(const Program& program) {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < program.states; ++i) most = std::max(most, tree_bytes(program.tensors[i]));
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const TensorRecord& output = program.tensors[program.output_of(i)];
        std::uint64_t sum = bytes_of(output) + tree_bytes(output);
        const OpRecord& op = program.ops[i];
        for (std::size_t slot = 0; slot < op.inputs.size(); ++slot) {
            if (is_repeated(op, slot)) continue;
            const TensorRecord& input = program.tensors[op.inputs[slot]];
            const bool kept_elsewhere = input.kind == TensorKind::state || input.kind == TensorKind::data;
            sum += tree_bytes(input) + (kept_elsewhere ? 0 : bytes_of(input));
        }
        most = std::max(most, sum);
    }
    return most;
}

}  // namespace retrace::kernels
