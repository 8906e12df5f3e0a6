// SPDX-License-Identifier: MIT
// The calls that open states: a call takes a range of consecutive states, at most 256 (contracts 13.9.1). A solver may
// have up to 1,024 states to open at once (13.8.5).
#pragma once

#include <vector>

#include "contracts/calls/calls.hpp"
#include "solver/chain_view.hpp"

namespace retrace::node {

/// States that an agent opens with one call. It costs less gas than a checkpoint, so that a solver that could commit
/// under a block's gas limit can also open.
inline constexpr std::size_t kOpeningsACall = 32;

/// `move.openings` ascend.
std::vector<contracts::OpenRoots> opening_calls(const solver::OpenRoots& move);

}  // namespace retrace::node
