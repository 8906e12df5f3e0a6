// SPDX-License-Identifier: MIT
#include "kernels/exec/element_group.hpp"

#include <algorithm>
#include <array>

#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kBlock = 1024;  ///< Elements: a dozen scratch slots stay within a first-level cache of 48 KiB.
constexpr std::uint64_t kGrain = 16384;  ///< Elements a thread takes at least.

}  // namespace

/// `count` elements of one row (of the whole, when flat) from element `first`.
struct ElementGroup::Block {
    std::uint64_t first = 0, row = 0, col = 0, count = 0;
};

ElementGroup::ElementGroup(const Program& program, const std::vector<OpFacts>& facts, const MemoryPlan& plan,
                           const Unit& unit)
    : shape_(geometry(facts[unit.first].output.dims)) {
    const auto place = [&](std::uint32_t tensor) {
        Side side{false, tensor, size_of(program.tensors[tensor].dtype), Spread::full};
        if (!program.is_op_output(tensor)) return side;
        const Place& at = plan.places[tensor - program.tensors_static()];
        if (at.where == Place::Where::scratch) side.scratch = true, side.at = static_cast<std::uint32_t>(at.at);
        return side;
    };
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        Step step;
        const OpFacts& own = facts[op];
        step.loop = loops().element(own.op.code, own.inputs[own.op.code == OpCode::select ? 1 : 0].dtype,
                                    own.output.dtype);
        step.inputs = static_cast<std::uint32_t>(own.inputs.size());
        for (std::uint32_t i = 0; i < step.inputs; ++i) {
            step.in[i] = place(own.op.inputs[i]);
            step.in[i].spread = *spread_of(shape_, geometry(own.inputs[i].dims));
            flat_ &= step.in[i].spread == Spread::full || step.in[i].spread == Spread::scalar;
        }
        step.out = place(program.output_of(op));
        steps_.push_back(step);
    }
}

void ElementGroup::run_block(const Block& block, const std::vector<const std::uint8_t*>& memory,
                             std::uint8_t* scratch) const {
    for (const Step& step : steps_) {
        std::array<LoopOperand, 3> in;
        for (std::uint32_t i = 0; i < step.inputs; ++i) {
            const Side& side = step.in[i];
            const bool moves = side.spread == Spread::full || side.spread == Spread::row;
            if (side.scratch) {
                in[i] = {scratch + side.at * kBlock * 4, moves};
                continue;
            }
            const std::uint64_t at = side.spread == Spread::full     ? block.first
                                     : side.spread == Spread::row    ? block.col
                                     : side.spread == Spread::column ? block.row : 0;
            in[i] = {memory[side.at] + at * side.size, moves};
        }
        // The planner gave the outputs their memory.
        std::uint8_t* out =
            step.out.scratch ? scratch + step.out.at * kBlock * 4
                             : const_cast<std::uint8_t*>(memory[step.out.at]) + block.first * step.out.size;
        step.loop(in.data(), out, block.count);
    }
}

void ElementGroup::run(const std::vector<const std::uint8_t*>& memory, ThreadPool& pool) const {
    const std::uint64_t rows = flat_ ? 1 : shape_.rows, cols = flat_ ? shape_.elements() : shape_.cols;
    if (rows == 0 || cols == 0) return;
    const std::uint64_t blocks = (cols + kBlock - 1) / kBlock;
    const std::uint64_t grain = std::max<std::uint64_t>(1, kGrain / std::min(cols, kBlock));
    pool.parallel_for(rows * blocks, grain, [&](std::uint64_t begin, std::uint64_t end) {
        alignas(64) std::array<std::uint8_t, kScratchSlots * kBlock * 4> scratch;
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint64_t row = i / blocks, col = i % blocks * kBlock;
            run_block({row * cols + col, row, col, std::min(kBlock, cols - col)}, memory, scratch.data());
        }
    });
}

}  // namespace retrace::kernels
