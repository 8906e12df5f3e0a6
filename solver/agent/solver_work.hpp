// SPDX-License-Identifier: MIT
// The work orders of the solver's agent and their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/program/codec.hpp"
#include "merkle/base/bytes.hpp"
#include "solver/agent/work.hpp"
#include "solver/chain_view.hpp"

namespace retrace::solver {

/// Result of preparing a run: the task's data, and the run's first state unless it is seeded, were fetched and checked,
/// or `problem` says why not.
struct Prepared {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::optional<std::string> problem;
    std::optional<std::uint32_t> missing;  ///< Tensor of the first state that no peer serves.
    bool transient = false;                ///< Whether the problem may be transient: a peer restarts, a disk is full.
    bool preempted = false;                ///< Preempted by more urgent work while peers were slow; not a problem yet.
    std::uint64_t disk = 0;                ///< Most bytes that the messages of the task's group take on this disk.
    /// Header of the plan's phase `inner`, if the task is a group's and could be prepared.
    std::optional<kernels::ProgramHeader> inner = {};
};
/// Result of training: state `index` is in the store, or `problem` says why not.
struct Reached {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::optional<std::string> problem;
    bool preempted = false;  ///< Preempted by more urgent work; training resumes later at the step that it had reached.
    bool again = false;      ///< A state of a member that was committed to before, and was lost.
    std::uint8_t attempt = 0;  ///< Of a member: the rollbacks that the state knows of.
};
struct Answered {
    std::uint64_t report = 0;
    Bytes answer;  ///< Empty if it could not be made.
    std::string problem;
    bool preempted = false;             ///< As in Prepared.
    std::vector<Answered> others = {};  ///< Answers to reports about the same object, made by the same work order.
};
/// Result of fetching the messages of a round: those that are here are in the store; `problem` names one that is not.
struct Gathered {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint32_t round = 0;
    std::optional<std::string> problem;
    bool preempted = false;  ///< As in Prepared.
};
/// Result of preparing to take a seat: what the first state is made from is in the store, and it could be made.
struct SeatReady {
    SeatView seat;
    std::optional<std::string> problem;
    bool preempted = false;  ///< As in Prepared.
};
using SolverResult = std::variant<Prepared, Reached, Answered, Gathered, SeatReady>;
using SolverWork = WorkOrder<SolverResult>;

}  // namespace retrace::solver
