// SPDX-License-Identifier: MIT
// A band of the plan (exec/bands.hpp), run chunk by chunk: each op's own kernel on a part of its tensors.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "kernels/exec/element_group.hpp"
#include "kernels/ops/cpu/kernels.hpp"

namespace retrace::kernels {

/// The threads' own memory for chunks, lent to whoever computes one.
class BandMemory {
public:
    using Addresses = std::vector<const std::uint8_t*>;
    struct Piece {
        std::uint8_t* memory = nullptr;
        Addresses at;  ///< Of all tensors; those of a chunk's parts while it is computed.
    };
    void add(std::uint8_t* memory) { free_.push_back(&pieces_.emplace_back(Piece{memory, {}})); }
    void clear() {
        free_.clear();
        pieces_.clear();
    }
    /// Where the tensors of a step are.
    void begin(const Addresses& at);
    Piece& take();
    void give(Piece& piece);

private:
    std::mutex mutex_;
    std::deque<Piece> pieces_;
    std::vector<Piece*> free_;
};

class BandGroup {
public:
    /// `facts` and `kernels` of all ops of the program.
    BandGroup(const Program& program, const std::vector<OpFacts>& facts,
              const std::vector<CpuKernel>& kernels, const MemoryPlan& plan, const PlanStep& unit);
    /// `memory` holds the address of every tensor that is in memory; `own`, begun with it, has as many pieces as
    /// `pool` threads.
    void run(const BandMemory::Addresses& memory, BandMemory& own, ThreadPool& pool) const;

private:
    using Addresses = BandMemory::Addresses;
    /// Where a tensor's part of a chunk lies.
    struct Local {
        std::uint32_t tensor = 0;
        /// arena: in memory, `at` bytes a granule further on.
        BufferLocation::Where where = BufferLocation::Where::arena;
        std::uint64_t at = 0;
    };
    struct Step {
        std::optional<ElementGroup> elements;  ///< Otherwise one op:
        CpuKernel kernel = nullptr;
        OpFacts facts;
        std::uint32_t output = 0;
    };
    std::vector<Step> steps_of(const Program& program, const std::vector<OpFacts>& facts,
                               const std::vector<CpuKernel>& kernels, const MemoryPlan& plan,
                               const PlanStep& unit, std::uint64_t granules) const;
    void find_locals(const Program& program, const MemoryPlan& plan, const PlanStep& unit);
    void run_chunk(std::uint64_t chunk, Addresses& at, const Addresses& memory, std::uint8_t* own,
                   ThreadPool& pool) const;

    std::uint64_t granules_ = 0, chunk_ = 1;
    std::vector<Local> locals_;
    std::vector<Step> full_, last_;  ///< For whole chunks and for the rest.
};

}  // namespace retrace::kernels
