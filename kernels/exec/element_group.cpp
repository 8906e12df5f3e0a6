// SPDX-License-Identifier: MIT
#include "kernels/exec/element_group.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kBlock =
    1024;  ///< Elements per block: a dozen scratch slots stay within a first-level cache of 48 KiB.
constexpr std::uint64_t kGrain = 16384;  ///< Minimum number of elements that a thread takes.

/// Rows shorter than this are computed several at a time, with row and column vectors spread to full operands.
constexpr std::uint64_t kShortRow = 128;

/// Writes each of `rows` elements `cols` times.
template <class T>
void spread_column(const T* from, std::uint64_t rows, std::uint64_t cols, T* to) {
    if (cols == 4) {
        for (std::uint64_t r = 0; r < rows; ++r) {
            for (std::uint64_t c = 0; c < 4; ++c) to[4 * r + c] = from[r];
        }
        return;
    }
    for (std::uint64_t r = 0; r < rows; ++r, to += cols) std::fill_n(to, cols, from[r]);
}

/// Spreads a column of `rows` elements of `size` bytes to `rows` full rows.
void spread_column(const std::uint8_t* from, std::uint32_t size, std::uint64_t rows, std::uint64_t cols,
                   std::uint8_t* to) {
    if (size == 1) return spread_column<std::uint8_t>(from, rows, cols, to);
    spread_column(reinterpret_cast<const std::uint32_t*>(from), rows, cols, reinterpret_cast<std::uint32_t*>(to));
}

}  // namespace

/// `count` elements of one row (of the whole tensor if the run is flat) from element `first` on; or, if `spare` is
/// given, several whole rows, with the row and column vectors spread in `spare`.
struct ElementGroup::Block {
    std::uint64_t first = 0, row = 0, col = 0, count = 0;
    const std::uint8_t* spare = nullptr;
};

ElementGroup::ElementGroup(const Program& program, std::span<const OpFacts> facts, const MemoryPlan& plan,
                           const PlanUnit& unit)
    : shape_(geometry(facts.front().output.dims)) {
    const auto place = [&](std::uint32_t tensor) {
        Side side{false, tensor, size_of(program.tensors[tensor].dtype), Spread::full};
        if (!program.is_op_output(tensor)) return side;
        const BufferLocation& at = plan.places[tensor - program.tensors_static()];
        if (at.where == BufferLocation::Where::scratch)
            side.scratch = true, side.at = static_cast<std::uint32_t>(at.at);
        return side;
    };
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        Step step;
        const OpFacts& own = facts[op - unit.first];
        if (!is_elementwise(own.op.code)) continue;  // a reshape shares the memory of its input
        step.loop =
            loops().element(own.op.code, own.inputs[own.op.code == OpCode::select ? 1 : 0].dtype, own.output.dtype);
        step.inputs = static_cast<std::uint32_t>(own.inputs.size());
        for (std::uint32_t i = 0; i < step.inputs; ++i) {
            step.in[i] = place(own.op.inputs[i]);
            step.in[i].spread = *spread_of(shape_, geometry(own.inputs[i].dims));
            const bool vector = step.in[i].spread == Spread::row || step.in[i].spread == Spread::column;
            if (vector) step.in[i].spare = spares_++;
            flat_ &= !vector;
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
            if (block.spare != nullptr && (side.spread == Spread::row || side.spread == Spread::column)) {
                in[i] = {block.spare + side.spare * kBlock * 4, true};
                continue;
            }
            const std::uint64_t at = side.spread == Spread::full     ? block.first
                                     : side.spread == Spread::row    ? block.col
                                     : side.spread == Spread::column ? block.row
                                                                     : 0;
            in[i] = {memory[side.at] + at * side.size, moves};
        }
        // The const_cast is allowed: the planner assigned this memory to the output.
        std::uint8_t* out = step.out.scratch
                                ? scratch + step.out.at * kBlock * 4
                                : const_cast<std::uint8_t*>(memory[step.out.at]) + block.first * step.out.size;
        step.loop(in.data(), out, block.count);
    }
}

void ElementGroup::run_short_rows(const std::vector<const std::uint8_t*>& memory, ThreadPool& pool) const {
    const std::uint64_t cols = shape_.cols, rows = kBlock / cols;
    const std::uint64_t blocks = (shape_.rows + rows - 1) / rows;
    pool.parallel_for(blocks, kGrain / kBlock, [&](std::uint64_t begin, std::uint64_t end) {
        alignas(64) std::array<std::uint8_t, kScratchSlots * kBlock * 4> scratch;
        std::vector<std::uint8_t> spare(spares_ * kBlock * 4);
        const auto spread = [&](Spread kind, auto each) {
            for (const Step& step : steps_) {
                for (std::uint32_t i = 0; i < step.inputs; ++i) {
                    const Side& side = step.in[i];
                    if (side.spread == kind) each(side, spare.data() + side.spare * kBlock * 4);
                }
            }
        };
        spread(Spread::row, [&](const Side& side, std::uint8_t* to) {
            for (std::uint64_t r = 0; r < rows; ++r) {
                std::memcpy(to + r * cols * side.size, memory[side.at], cols * side.size);
            }
        });
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint64_t row = i * rows, here = std::min(rows, shape_.rows - row);
            spread(Spread::column, [&](const Side& side, std::uint8_t* to) {
                spread_column(memory[side.at] + row * side.size, side.size, here, cols, to);
            });
            run_block({row * cols, row, 0, here * cols, spare.data()}, memory, scratch.data());
        }
    });
}

void ElementGroup::run(const std::vector<const std::uint8_t*>& memory, ThreadPool& pool) const {
    const std::uint64_t rows = flat_ ? 1 : shape_.rows, cols = flat_ ? shape_.elements() : shape_.cols;
    if (rows == 0 || cols == 0) return;
    if (!flat_ && cols < kShortRow) return run_short_rows(memory, pool);
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
