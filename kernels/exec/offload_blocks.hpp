// SPDX-License-Identifier: MIT
// The pieces of memory that a step in less memory moves, and which units use them.
#pragma once

#include "kernels/exec/offload_plan.hpp"

namespace retrace::kernels {

struct BlockUse {
    std::uint32_t block = 0;
    bool reads = false;   ///< The unit reads what the block held before it.
    bool writes = false;  ///< The unit overwrites the whole block.
};

struct OffloadBlocks {
    std::vector<OffloadBlock> blocks;
    std::vector<std::uint32_t> block_of;      ///< OffloadPlan::block_of.
    std::vector<std::vector<BlockUse>> uses;  ///< By unit, those of the copies last.
    std::vector<std::uint32_t> copies;        ///< OffloadPlan::copies.
};
OffloadBlocks find_blocks(const Program& program, const MemoryPlan& plan, std::uint64_t alignment);

}  // namespace retrace::kernels
