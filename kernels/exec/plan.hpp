// SPDX-License-Identifier: MIT
// Where every op's output lies during a step: decided once from the program, so the peak is known before running.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Place of one op output.
struct Place {
    enum class Where : std::uint8_t {
        arena,  ///< At `at` bytes from the arena's beginning.
        state,  ///< In the memory of state tensor `at`, which it replaces.
        alias,  ///< The memory of tensor `at` (a reshape copies nothing).
    };
    Where where = Where::arena;
    std::uint64_t at = 0;
};

struct MemoryPlan {
    std::vector<Place> places;  ///< By op.
    std::uint64_t bytes = 0;    ///< Of the arena.
};

/// `isolated`: every output has memory of its own and the state is left alone (traces, tampering). Otherwise reshapes
/// alias their input and a state tensor that nobody reads any more is overwritten by its writer.
MemoryPlan plan_memory(const Program& program, bool isolated);

}  // namespace retrace::kernels
