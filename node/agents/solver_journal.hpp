// SPDX-License-Identifier: MIT
// What a solver writes into the journals of its tasks: nothing that is secret, and nothing of another task.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "node/agents/task_journal.hpp"
#include "solver/agent/agent.hpp"

namespace retrace::node {

class SolverJournal {
public:
    /// `journals` outlives it. `machine`: what trains. `keep`: blocks for which a journal is kept after the end.
    SolverJournal(TaskJournals& journals, std::string machine, std::uint64_t keep)
        : journals_(journals), machine_(std::move(machine)), keep_(keep) {}

    /// Notes which runs begin and end, and failed work. `requesters`: of tasks that the journals do not know yet.
    void on_view(const solver::SolverView& view, const std::map<std::uint64_t, ledger::Address>& requesters,
                 const std::vector<solver::FailedWork>& waiting);
    /// Notes a move that is sent.
    void on_move(const solver::SolverMove& move);
    /// Any thread: a training's newest step, twice a minute at most, and its metrics unless it is on private data.
    void on_progress(std::uint64_t task, const solver::Progress& progress);
    /// Notes how long the order took and how it ended, on the thread that runs it.
    solver::SolverWork timed(solver::SolverWork order);

private:
    using Clock = std::chrono::steady_clock;
    void note(std::uint64_t task, std::uint32_t run, std::string text);

    TaskJournals& journals_;
    const std::string machine_;
    const std::uint64_t keep_;
    std::map<std::pair<solver::RunKey, std::string>, std::uint64_t> attempts_;  ///< Of failed work that was noted.
    std::mutex mutex_;                                                          ///< Of what follows.
    std::uint64_t height_ = 0;
    std::map<std::uint64_t, std::uint32_t> runs_;  ///< Of the newest view, by task.
    std::set<std::uint64_t> private_;              ///< Tasks whose metrics tell of data that nobody gets.
    std::map<std::uint64_t, Clock::time_point> progressed_;
};

}  // namespace retrace::node
