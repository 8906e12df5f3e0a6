// SPDX-License-Identifier: MIT
// Tells what happens to a task, until its model is ready or it has ended.
#pragma once

#include "node/cmd/task_log.hpp"
#include "node/cmd/task_options.hpp"
#include "node/explain/task_reason.hpp"

namespace retrace::node::cli {

/// The explanation as a JSON object, and as lines for people without a line's end.
boost::json::object explanation_json(const TaskExplanation& why);
std::string explanation_text(const TaskExplanation& why);

/// What a person is told while nothing changes: the state and the time to the next thing.
std::string reminder_text(const TaskExplanation& why, double block_seconds);

/// What was told of a task, and the auction that it was about.
struct Told {
    TaskExplanation why;
    std::uint32_t round = 0;  ///< Number of the newest auction.
    ledger::U256 ceiling;     ///< Of a segment in it.
};
/// Whether a person who was told the one need not be told the other: what changes with each block only is no news.
bool is_told(const Told& before, const Told& now);

/// Waits until the task's model is ready or it has ended, also across restarts of the node. Each event is told once:
/// as a line on standard error, and with --json as an object in a line of its own on standard output. If the node's
/// answers are proved, its events, which are not, are left out. `on_block` is called at each new height. Events are kept
/// in `log` too, unless it is nullptr.
Result<TaskExplanation> follow_task(const Program& program, ChainSession& at, std::uint64_t task,
                                    const std::function<void(const TaskStatus&)>& on_block, TaskLog* log);

}  // namespace retrace::node::cli
