// SPDX-License-Identifier: MIT
// Store keys of states that are not a verifier's own ends of segments. They differ from the keys of its own states for
// the same place, because the two states may differ. Run numbers never reach the marker bits.
#pragma once

#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::verifier {

inline constexpr std::uint32_t kKeyMarks = 0xc0000000u;

/// The start of a segment as its solver claims it.
inline solver::CheckpointKey claimed_key(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return {task, run | 0x80000000u, index};
}
/// A state that was fetched to be kept.
inline solver::CheckpointKey kept_key(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return {task, run | 0x40000000u, index};
}

/// A state within a segment, after `step` steps of the task: how far a suspended replay of the segment has come.
inline solver::CheckpointKey progress_key(std::uint64_t task, std::uint32_t run, std::uint64_t step) {
    return {task, run | kKeyMarks, step};
}

}  // namespace retrace::verifier
