// SPDX-License-Identifier: MIT
// Runs positions of members' segments with the step runners of a task, so that worker processes, devices and attacks
// work for the phases of a plan as they do for a single program. Bits are those of kernels::PlanExecutor.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "kernels/plan/plan_executor.hpp"
#include "solver/artifacts/group_artifacts.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::solver {

/// Not thread-safe, like the runners.
class PlanRunner {
public:
    /// Makes the runner of a phase's program; returns null if nothing here can run it.
    using MakeRunner = std::function<std::unique_ptr<StepRunner>(const kernels::Program&, kernels::Inputs)>;
    /// `plan`, the data sets of the inner steps, and `pool` outlive the runner.
    PlanRunner(const CommittedPlan& plan, std::uint64_t task_seed, std::vector<const kernels::Tensor*> data,
               MakeRunner make, kernels::ThreadPool& pool);

    /// What runs at a position: `runner` has the position's `inputs`, and is called with states whose step is
    /// position.op_step. Valid until the next call of the PlanRunner; so are a message's tensors.
    struct At {
        StepRunner& runner;
        const kernels::CommittedProgram& program;
        const kernels::Inputs& inputs;
        kernels::Position position;
    };
    /// `run` is the member's. Throws std::runtime_error if nothing here can run the phase.
    At at(const kernels::SegmentPositions& segment, std::uint64_t place, std::uint32_t run,
          const kernels::MessageSource& messages);
    /// What makes a first state: `init`, or `enter` at the start of round `base` from the shared tensors of a member.
    At at_init();
    At at_enter(std::uint64_t base, const std::vector<const kernels::Tensor*>& shared);
    /// The first states, with the step of their headers. Nullopt: `stop` requested a stop.
    std::optional<kernels::State> init(const kernels::StopToken& stop = {});
    std::optional<kernels::State> enter(std::uint64_t base, const std::vector<const kernels::Tensor*>& shared,
                                        const kernels::StopToken& stop = {});

    /// Called after each position with the place reached; returns whether to go on.
    using Watch =
        std::function<bool(std::uint64_t place, const kernels::Position&, const std::vector<kernels::Metric>&)>;
    /// Copies of the state at whole positions: a stop within a position loses the state in place. One is made as soon as
    /// `every` has passed since the last one, or since the run began, and 20 times as long as the last one took: a copy of
    /// what a worker process has is a transfer.
    struct Copies {
        std::chrono::milliseconds every{2'000};
        std::optional<kernels::State> newest = {};
    };
    /// Runs the positions from `first` to `last` - 1; `state` is the one before position `first`. Returns the place that
    /// it reached, and `state` is the one there with the step of its header. Nullopt: `stop` requested a stop within a
    /// step, `state` is lost, and copies->newest is what is left of it.
    std::optional<std::uint64_t> run(kernels::State& state, const kernels::SegmentPositions& segment,
                                     std::uint64_t first, std::uint64_t last, std::uint32_t run,
                                     const kernels::MessageSource& messages, const kernels::StopToken& stop = {},
                                     const Watch& watch = {}, Copies* copies = nullptr);

    const CommittedPlan& plan() const noexcept { return plan_; }
    /// Whether a device computes the inner steps. Throws as `at` does.
    bool on_device();

private:
    struct OfPhase {
        std::unique_ptr<StepRunner> runner;
        kernels::Inputs inputs;
    };
    At place_of(kernels::Phase phase, kernels::Inputs inputs, kernels::Position position);
    std::optional<kernels::State> first_state(const At& at, std::uint64_t base, const kernels::StopToken& stop);
    /// Called with the place reached and a source of the state there.
    using Keep = std::function<void(std::uint64_t place, const std::function<const kernels::State&()>& state)>;
    std::optional<std::uint64_t> run_inner(kernels::State& state, const kernels::SegmentPositions& segment,
                                           std::uint64_t first, std::uint64_t last, const At& at,
                                           const kernels::StopToken& stop, const Watch& watch, const Keep& keep,
                                           bool& goes_on);

    const CommittedPlan& plan_;
    std::uint64_t seed_;
    std::vector<const kernels::Tensor*> data_;
    MakeRunner make_;
    kernels::ThreadPool& pool_;
    std::map<kernels::Phase, OfPhase> phases_;
    kernels::Tensor facts_;
};

}  // namespace retrace::solver
