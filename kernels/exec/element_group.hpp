// SPDX-License-Identifier: MIT
// A run of elementwise ops over one geometry, computed block by block while the block is in the first-level cache, for
// example bias and activation, AdamW, or the differences of softmax. Every op of the run still has its own loop over
// the block, so the bits are those of the single ops by construction.
#pragma once

#include <span>

#include "kernels/exec/plan.hpp"
#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels {

class ElementGroup {
public:
    /// `facts` are those of the unit's ops, in order.
    ElementGroup(const Program& program, std::span<const OpFacts> facts, const MemoryPlan& plan, const PlanUnit& unit);
    /// `memory` holds the address of every tensor that is in memory.
    void run(const std::vector<const std::uint8_t*>& memory, ThreadPool& pool) const;

private:
    struct Side {
        bool scratch = false;
        std::uint32_t at = 0;    ///< Tensor number or scratch slot.
        std::uint32_t size = 4;  ///< Bytes of an element.
        Spread spread = Spread::full;
        std::uint32_t spare = 0;  ///< For short rows: the buffer into which a row or column vector is spread.
    };
    struct Step {
        ElementLoop loop = nullptr;
        std::uint32_t inputs = 0;
        Side in[3];
        Side out;
    };
    struct Block;
    void run_block(const Block& block, const std::vector<const std::uint8_t*>& memory, std::uint8_t* scratch) const;
    void run_short_rows(const std::vector<const std::uint8_t*>& memory, ThreadPool& pool) const;

    Geometry shape_;
    bool flat_ = true;          ///< No operand is a row or column vector, so the run is one long row.
    std::uint32_t spares_ = 0;  ///< Number of buffers for spread vectors.
    std::vector<Step> steps_;
};

}  // namespace retrace::kernels
