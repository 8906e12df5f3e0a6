// SPDX-License-Identifier: MIT
// What the duties of a task cost in machine time. SPEC 10.
#pragma once

#include "market/types.hpp"

namespace retrace::market {

/// Blocks that an honest machine may take for each duty of a task: its replay allowance is the unit (10.2).
constexpr std::uint64_t audit_work(const TaskSpec& spec) noexcept { return spec.replay_blocks; }
/// One and a half executions of the segment, one step with every output hashed, and one tile's chain (verifier 8.7).
constexpr std::uint64_t dispute_work(const TaskSpec& spec) noexcept { return 2 * spec.replay_blocks; }
/// Loads one state, or computes it again, and hashes it.
constexpr std::uint64_t answer_work(const TaskSpec& spec) noexcept { return spec.replay_blocks; }

}  // namespace retrace::market
