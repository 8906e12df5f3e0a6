// SPDX-License-Identifier: MIT
// Cheating solvers for demo, simulation and tests: runners that compute one segment of a task (by default the last)
// wrongly and stay consistent with that in a dispute. `node` refuses them outside developer chains.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "solver/agent/task_cache.hpp"
#include "solver/rounds/message_store.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::solver {

enum class ComputeAttack : std::uint8_t {
    ulp = 1,               ///< One element of one op's output in one step is off by one unit in the last place.
    skip_steps = 2,        ///< The second half of the segment is not computed.
    wrong_data = 3,        ///< The segment is trained on samples that are not the task's.
    stale_checkpoint = 4,  ///< The segment ends with the state that it started from.
    silent = 5,            ///< Computes honestly and stops answering (see unresponsive.hpp).
    data_order = 6,        ///< The segment is trained on the task's samples in another order.
    hyper_parameter = 7,   ///< The segment is trained with the program's rank-0 float constants doubled.
    poison_nan = 8,        ///< A member's message has no number in it. Only in groups, as the next.
    poison_norm = 9,       ///< A member's message is very large.
    copy_message = 10,     ///< A member's message is that of another in the round before.
    wrong_mask = 11,  ///< The masks over a member's messages are not those of its seeds. Only in groups with masks.
};
std::string_view slug(ComputeAttack attack) noexcept;
std::optional<ComputeAttack> parse_compute_attack(std::string_view text) noexcept;

/// Makes a runner that carries out `attack` in one segment of `schedule`, the last if none is named. The other
/// arguments are those of ProgramRunner.
std::unique_ptr<StepRunner> make_attacker(ComputeAttack attack, const Schedule& schedule,
                                          const kernels::Program& program, kernels::Inputs inputs,
                                          kernels::ThreadPool& pool,
                                          std::optional<std::uint64_t> segment = std::nullopt);

/// Runners that cheat in every task, in its last segment if none is named (developer chains only; node checks that). In
/// a group's task `segment` is a round: the attack is in the inner steps of that round, or in its message.
/// `messages` outlives the runners; only copy_message reads it.
RunnerFactory attacking_runners(ComputeAttack attack, std::optional<std::uint64_t> segment = std::nullopt,
                                MessageStore* messages = nullptr);

/// The steps at which an attack's computation is wrong, in its segment (the last if none is named).
struct AttackSteps {
    std::uint64_t first = 0, last = 0;  ///< Inclusive.
};
AttackSteps attack_steps(ComputeAttack attack, const Schedule& schedule,
                         std::optional<std::uint64_t> segment = std::nullopt);

/// Tampers with one output element by one ulp in each step that `wrong` names. It picks the first matrix product where
/// the change makes so much of the state differ that later steps do not round it away, else the one with the largest
/// difference.
class UlpRunner final : public ProgramRunner {
public:
    using Steps = std::function<bool(std::uint64_t step)>;
    UlpRunner(Steps wrong, const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool);
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::StopToken& stop) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override;

private:
    struct Target {
        std::uint32_t op = 0;
        std::uint64_t element = 0;
    };
    void arm(const kernels::State& state);
    std::optional<Target> aim(const kernels::State& before);
    void tamper_with(const Target& target);

    Steps wrong_;
    std::map<std::uint64_t, std::optional<Target>> targets_;  // By step; none if every nudge is rounded away.
};

/// Forges the result of some steps: the next state differs from the ops' outputs. The trace is the honest one except
/// for the ops that write the state.
class ForgingRunner : public ProgramRunner {
public:
    using ProgramRunner::ProgramRunner;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::StopToken& stop) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override;

protected:
    /// The tensors that replace those of the state after the step; nullopt: this step is computed honestly.
    virtual std::optional<std::vector<kernels::Tensor>> forged(const kernels::State& before) = 0;
};

}  // namespace retrace::solver
