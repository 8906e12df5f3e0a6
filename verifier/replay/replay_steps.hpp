// SPDX-License-Identifier: MIT
// What a replay runs: the steps of one program, or the positions of a member's segment (segment_steps.hpp).
#pragma once

#include <memory>
#include <vector>

#include "kernels/program/codec.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::verifier {

/// One step as its ops see it.
struct PlayedStep {
    solver::StepRunner& runner;  ///< Has the step's seed and data sets; called with states whose step is `op_step`.
    std::uint64_t seed = 0, op_step = 0;
};

/// States have the numbers `t` that the claim of a dispute gives them: steps of the task, or positions. Step t leads
/// from state t to state t + 1; the one step of an initialiser is 0 and leads to state 0.
class ReplaySteps {
public:
    virtual ~ReplaySteps() = default;
    /// Valid until the next call of a function that is not const.
    virtual PlayedStep at(std::uint64_t t) = 0;
    /// The program whose ops run in step t.
    virtual const kernels::CommittedProgram& program_at(std::uint64_t t) const = 0;
    /// Its data sets. They are valid until those of another step are asked for.
    virtual std::vector<const kernels::Tensor*> datasets_at(std::uint64_t t) = 0;
    /// The program whose header opens the state after step t: it says how many tensors a state has.
    virtual const kernels::CommittedProgram& opened_at(std::uint64_t t) const = 0;
    /// The root that the headers of states name, and the step that the header of state t names.
    virtual const Hash32& root() const = 0;
    virtual std::uint64_t header_step(std::uint64_t t) const = 0;
    /// State::step of state t while it is replayed. It ascends with t, which steps in headers do not where a member's segment
    /// begins in a state of its own base (contracts 21.13.4); only there does it differ from them, at t = 0.
    virtual std::uint64_t replay_step(std::uint64_t t) const { return header_step(t); }
    /// Computes from `state` on, whose step is a `replay_step`, and which it keeps up to date as Computation::state says.
    /// Both must outlive it.
    virtual std::unique_ptr<solver::Computation> compute(kernels::State& state) = 0;
    /// Bytes of memory that it holds beside what the task cache counts.
    virtual std::uint64_t bytes() const { return 0; }
};

/// Inputs of a replay of a program; all of them outlive the replay.
struct ReplaySetup {
    const kernels::CommittedProgram* program = nullptr;  ///< Part of every state root.
    const kernels::CommittedProgram* played = nullptr;   ///< Program whose ops run: `program`, or the initialiser.
    solver::StepRunner* runner = nullptr;                ///< Runs `played`.
    kernels::ThreadPool* pool = nullptr;
    std::uint64_t seed = 0;
    std::vector<const kernels::Tensor*> datasets;
};
std::unique_ptr<ReplaySteps> steps_of(ReplaySetup setup);

}  // namespace retrace::verifier
