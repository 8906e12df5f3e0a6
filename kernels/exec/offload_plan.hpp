// SPDX-License-Identifier: MIT
// Plans a step in less memory than its tensors take: which of them lie in a room of fixed size while each unit runs,
// and when the others are copied to a store behind it and back. The store is a disk behind the host's memory, or the
// host's memory behind a device's. The plan follows from the program and the room alone; it changes no bit, because a
// unit runs as ever, only on other addresses.
#pragma once

#include "kernels/exec/plan.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kNoBlock = 0xffffffff;

/// Memory that moves as a whole: a state tensor, or a piece of the plan's arena from its first writer to its last
/// reader.
struct OffloadBlock {
    std::uint64_t bytes = 0;         ///< A multiple of the alignment.
    std::uint32_t state = kNoBlock;  ///< The state tensor; kNoBlock for a piece of the arena.
    std::uint64_t spill = 0;         ///< A piece of the arena: its offset in the store's spill area.
    bool spilled = false;            ///< A piece of the arena that some transfer stores.
};

/// A copy between room and store. Transfers run one after the other, in their order in the plan, beside the units.
struct Transfer {
    std::uint32_t block = 0;
    bool store = false;       ///< From the room to the store, otherwise from the store.
    bool next = false;        ///< A state tensor's next value, for which the store has another place.
    std::uint64_t at = 0;     ///< Offset in the room.
    std::uint32_t after = 0;  ///< Number of units that must be done before it begins.
};

/// The place of a block in the room while a unit runs.
struct Placement {
    std::uint32_t block = 0;
    std::uint64_t at = 0;
};

struct OffloadPlan {
    std::vector<OffloadBlock> blocks;
    std::vector<std::uint32_t> block_of;  ///< By tensor; kNoBlock for one that lies in no block.
    /// The units of the memory plan, and after them one for each state tensor whose next value is copied to it.
    std::vector<std::vector<Placement>> units;
    std::vector<std::uint32_t> copies;  ///< The state tensors of the units after those of the memory plan.
    std::vector<Transfer> transfers;
    std::vector<std::uint32_t> needed;  ///< By unit: number of transfers that must be done before it begins.
    std::uint64_t room = 0;             ///< Bytes of the room.
    std::uint64_t spill = 0;            ///< Bytes of the store's spill area.

    /// Bytes that a step copies from the store, or to it.
    std::uint64_t bytes(bool to_store) const;
};

struct OffloadLimits {
    std::uint64_t room = 0;
    std::uint64_t alignment = 4096;  ///< Of places in the room and in the store, a power of two.
};

/// Bytes of the smallest room for this plan: what one unit reads and writes at once, or one tensor of the state.
std::uint64_t least_room(const Program& program, const MemoryPlan& plan, std::uint64_t alignment = 4096);
/// Returns a plan that `check_offload` accepts. At the beginning and at the end of a step the whole state is in the
/// store. The error says how large the room must be at least.
Result<OffloadPlan> plan_offload(const Program& program, const MemoryPlan& plan, const OffloadLimits& limits);
/// Checks that every unit finds the values that it reads, whatever the speed of transfers and units, and that after the
/// step the store has the next state. `plan` must have passed check_plan or check_row_runs. The error names the unit.
Status<> check_offload(const Program& program, const MemoryPlan& plan, const OffloadPlan& offload);

/// Returns by tensor the one whose memory it lies in, with aliases and gathered windows resolved.
std::vector<std::uint32_t> memory_owners(const Program& program, const MemoryPlan& plan);

}  // namespace retrace::kernels
