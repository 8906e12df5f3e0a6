// SPDX-License-Identifier: MIT
// A solver that stops answering in the middle of a task: what it still has to do is dropped.
#pragma once

#include <set>

#include "solver/agent/agent.hpp"

namespace retrace::solver {

/// Keeps every move of a task back from its checkpoint `after` of `segments` on (half way, if 0).
class Silence {
public:
    explicit Silence(std::uint64_t after = 0) : after_(after) {}
    /// Takes out of `moves` what a silent solver does not send.
    void filter(const SolverView& view, std::vector<SolverMove>& moves);

private:
    std::uint64_t after_;
    std::set<std::uint64_t> silent_;  // Tasks.
};

}  // namespace retrace::solver
