// SPDX-License-Identifier: MIT
// Runs a fused run of the plan (exec/fused_runs.hpp) chunk by chunk: each op's own kernel runs on a part of its
// tensors.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "kernels/exec/element_group.hpp"
#include "kernels/ops/cpu/kernels.hpp"

namespace retrace::kernels {

/// Per-thread memory for chunks: a pool of pieces from which each computing thread borrows one.
class ChunkMemory {
public:
    using Addresses = std::vector<const std::uint8_t*>;
    struct Piece {
        std::uint8_t* memory = nullptr;
        Addresses at;  ///< Addresses of all tensors; while a chunk is computed, those of its parts.
    };
    void add(std::uint8_t* memory) { free_.push_back(&pieces_.emplace_back(Piece{memory, {}})); }
    void clear() {
        free_.clear();
        pieces_.clear();
    }
    /// Sets the addresses of the tensors of a step.
    void begin(const Addresses& at);
    Piece& take();
    void give(Piece& piece);

private:
    std::mutex mutex_;
    std::deque<Piece> pieces_;
    std::vector<Piece*> free_;
};

class FusedRunExecutor {
public:
    /// `facts` and `kernels` cover all ops of the program.
    FusedRunExecutor(const Program& program, const std::vector<OpFacts>& facts, const std::vector<CpuKernel>& kernels,
                     const MemoryPlan& plan, const PlanUnit& unit);
    /// `memory` holds the address of every tensor that is in memory. `begin(memory)` was called on `own`, which has as
    /// many pieces as `pool` has threads.
    void run(const ChunkMemory::Addresses& memory, ChunkMemory& own, ThreadPool& pool) const;

private:
    using Addresses = ChunkMemory::Addresses;
    /// Location of a tensor's part of a chunk.
    struct Local {
        std::uint32_t tensor = 0;
        /// With `arena` the tensor is in memory, and `at` is the bytes of one part, by which the address advances.
        BufferLocation::Where where = BufferLocation::Where::arena;
        std::uint64_t at = 0;
    };
    struct Step {
        std::optional<ElementGroup> elements;  ///< If empty, the step is the one op below.
        CpuKernel kernel = nullptr;
        OpFacts facts;
        std::uint32_t output = 0;
    };
    std::vector<Step> steps_of(const Program& program, const std::vector<OpFacts>& facts,
                               const std::vector<CpuKernel>& kernels, const MemoryPlan& plan, const PlanUnit& unit,
                               std::uint64_t parts) const;
    void find_locals(const Program& program, const MemoryPlan& plan, const PlanUnit& unit);
    void run_chunk(std::uint64_t chunk, Addresses& at, const Addresses& memory, std::uint8_t* own,
                   ThreadPool& pool) const;

    std::uint64_t parts_ = 0, chunk_ = 1;
    std::vector<Local> locals_;
    std::vector<Step> full_, last_;  ///< Steps for full chunks and for the shorter last one.
};

}  // namespace retrace::kernels
