// SPDX-License-Identifier: MIT
// What runs together and where every op's output lies during a step: decided once from the program, so the peak is
// known before running.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Place of one op output.
struct Place {
    enum class Where : std::uint8_t {
        arena,    ///< At `at` bytes from the arena's beginning.
        state,    ///< In the memory of state tensor `at`, which it replaces.
        alias,    ///< The memory of tensor `at` (a reshape copies nothing).
        scratch,  ///< Never in memory as a whole: block by block in scratch slot `at` of its group.
        gathered, ///< Never in memory: its readers gather windows from the image, tensor `at`, as they go.
    };
    Where where = Where::arena;
    std::uint64_t at = 0;
};

/// Ops that run together: one op, or a run of elementwise ops over one geometry that goes block by block. Reshapes of
/// what the run does not compute itself may lie between its ops.
struct Unit {
    std::uint32_t first = 0, count = 1;
    std::uint32_t end() const noexcept { return first + count; }
};

struct MemoryPlan {
    std::vector<Place> places;  ///< By op.
    std::vector<Unit> units;    ///< All ops, in order.
    std::uint64_t bytes = 0;    ///< Of the arena.
};

inline constexpr std::uint32_t kScratchSlots = 12;  ///< Of one group; values beyond them go to the arena.

/// `isolated`: every op alone, every output in memory of its own, the state left alone (traces, tampering, reference).
/// Otherwise elementwise runs are grouped, reshapes alias their input, and a state tensor that nobody reads any more is
/// overwritten by its writer.
/// `gathers`: the back end's kernels can gather windows themselves (Place::Where::gathered).
MemoryPlan plan_memory(const Program& program, bool isolated, bool gathers = true);

}  // namespace retrace::kernels
