// SPDX-License-Identifier: MIT
// What a task waits for or why it ended, read through a node.
#pragma once

#include "node/agents/chain_reader.hpp"
#include "node/explain/task_reason.hpp"

namespace retrace::node {

/// Explains the task in the newest state. If it ended in an auction, that auction's last state is read as well; where the
/// node keeps it no more, its own explanation is taken, unless what is read is proved: then it says less.
Result<TaskExplanation> explained_task(ChainReader& chain, std::uint64_t task);

}  // namespace retrace::node
