// SPDX-License-Identifier: MIT
// What the solvers of a task say that they did, for `retrace task log --solver`.
#pragma once

#include "node/cmd/options.hpp"
#include "node/cmd/task_log.hpp"

namespace retrace::node::cli {

/// A solver's word about a task.
struct SolverWord {
    std::string solver;  ///< Its account.
    std::vector<TaskLog::Line> lines;
    std::string missing;  ///< Why it tells nothing now, or what is not kept; empty: nothing is missing.
};

/// Asks each solver that had a run of the task at its endpoint on the ledger, with a signature of `key`, and keeps what
/// it says beside the task's log. One that does not answer has the lines that were kept before.
Result<std::vector<SolverWord>> ask_solvers(ChainSession& at, const KeyOptions& key, const std::string& data_dir,
                                            std::uint64_t task);

/// What was kept of solvers' words about the task when no node can be asked.
std::vector<SolverWord> kept_words(const std::string& data_dir, std::uint64_t task);

}  // namespace retrace::node::cli
