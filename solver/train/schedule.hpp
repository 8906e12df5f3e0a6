// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::solver {

/// Positions of a task's checkpoints: state i is the state after step min(i × interval, steps).
struct Schedule {
    std::uint64_t steps = 0;
    std::uint64_t interval = 1;  ///< Not 0.

    /// n = ceil(steps / interval); the states are 0 … n.
    std::uint64_t segments() const noexcept { return steps / interval + (steps % interval != 0 ? 1 : 0); }
    std::uint64_t step_of(std::uint64_t index) const noexcept { return index >= segments() ? steps : index * interval; }
};

}  // namespace retrace::solver
