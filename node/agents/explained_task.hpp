// SPDX-License-Identifier: MIT
// What a task waits for or why it ended, read through a node.
#pragma once

#include "node/agents/chain_reader.hpp"
#include "node/explain/task_reason.hpp"

namespace retrace::node {

/// Explains the task in the newest state. The last state of its auction is read as well if the task ended in one; a
/// node that does not keep or prove that state leaves the explanation shorter.
Result<TaskExplanation> explained_task(ChainReader& chain, std::uint64_t task);

}  // namespace retrace::node
