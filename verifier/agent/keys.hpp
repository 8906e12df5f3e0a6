// SPDX-License-Identifier: MIT
// Under which names a verifier keeps states that it did not compute: apart from its own for the same place, for the
// two may differ. Run numbers stay far below the bits.
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

}  // namespace retrace::verifier
