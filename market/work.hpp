// SPDX-License-Identifier: MIT
// Machine time that the duties of a task cost. SPEC 10.
#pragma once

#include <algorithm>

#include "market/types.hpp"

namespace retrace::market {

/// Blocks that an honest machine may take for a duty of a task, in units of the task's replay allowance (10.2). An
/// audit of the first segment of a seeded task also computes the initial state.
inline std::uint64_t audit_work(const TaskSpec& spec, std::uint64_t segment) noexcept {
    return segment == 0 && !spec.init_root.is_zero() ? 2 * spec.replay_blocks : spec.replay_blocks;
}
/// One and a half executions of the segment, one step with every output hashed, one tile's chain, and three executions
/// of the disputed step (verifier 8.7), which for a segment of one step are three of the segment. An initialiser counts
/// as one step.
constexpr std::uint64_t dispute_work(const TaskSpec& spec, DisputeKind kind) noexcept {
    const std::uint64_t steps = is_initial(kind) ? 1 : std::max<std::uint64_t>(1, spec.interval);
    return 2 * spec.replay_blocks + (3 * spec.replay_blocks + steps - 1) / steps;
}
/// The longest work of any dispute about the task.
inline std::uint64_t longest_dispute_work(const TaskSpec& spec) noexcept {
    return dispute_work(spec, spec.init_root.is_zero() ? DisputeKind::challenge : DisputeKind::initial);
}
/// Work to load one state, or compute it again, and to hash it.
constexpr std::uint64_t answer_work(const TaskSpec& spec) noexcept { return spec.replay_blocks; }

}  // namespace retrace::market
