// SPDX-License-Identifier: MIT
// A solver that stops answering in the middle of a task: its remaining moves are dropped.
#pragma once

#include <set>

#include "solver/agent/agent.hpp"

namespace retrace::solver {

/// Drops every move of a task from checkpoint `after` on; 0 means half of the task's segments.
class Unresponsive {
public:
    explicit Unresponsive(std::uint64_t after = 0) : after_(after) {}
    /// Removes the moves that a silent solver does not send.
    void filter(const SolverView& view, std::vector<SolverMove>& moves);

private:
    std::uint64_t after_;
    std::set<std::uint64_t> silent_;  // Tasks.
};

}  // namespace retrace::solver
