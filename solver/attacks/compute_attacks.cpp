// SPDX-License-Identifier: MIT
#include "solver/attacks/compute_attacks.hpp"

#include <algorithm>
#include <array>

#include "merkle/base/ensure.hpp"
#include "solver/attacks/member_attacks.hpp"

namespace retrace::solver {
namespace {

using kernels::Inputs;
using kernels::Program;
using kernels::State;
using kernels::Tensor;
using kernels::ThreadPool;

constexpr std::array kAttacks = {ComputeAttack::ulp,
                                 ComputeAttack::skip_steps,
                                 ComputeAttack::wrong_data,
                                 ComputeAttack::stale_checkpoint,
                                 ComputeAttack::silent,
                                 ComputeAttack::data_order,
                                 ComputeAttack::hyper_parameter,
                                 ComputeAttack::poison_nan,
                                 ComputeAttack::poison_norm,
                                 ComputeAttack::copy_message,
                                 ComputeAttack::wrong_mask};

class SkippingRunner final : public ForgingRunner {
public:
    SkippingRunner(AttackSteps steps, const Program& program, Inputs inputs, ThreadPool& pool)
        : ForgingRunner(program, std::move(inputs), pool), steps_(steps) {}

protected:
    std::optional<std::vector<Tensor>> forged(const State& before) override {
        if (before.step < steps_.first || before.step > steps_.last) return std::nullopt;
        return before.tensors;
    }

private:
    AttackSteps steps_;
};

/// Remembers the state at the start of the segment and returns to it in the segment's last step.
class StaleRunner final : public ForgingRunner {
public:
    StaleRunner(std::uint64_t start, std::uint64_t last, const Program& program, Inputs inputs, ThreadPool& pool)
        : ForgingRunner(program, std::move(inputs), pool), start_(start), last_(last) {}

    std::optional<std::vector<kernels::Metric>> attempt(State& state, const kernels::StopToken& stop) override {
        if (state.step == start_) stale_ = state.tensors;
        return ForgingRunner::attempt(state, stop);
    }

protected:
    std::optional<std::vector<Tensor>> forged(const State& before) override {
        if (before.step != last_) return std::nullopt;
        return stale_ ? stale_ : before.tensors;
    }

private:
    std::uint64_t start_, last_;
    std::optional<std::vector<Tensor>> stale_;
};

/// Computes some steps with a dishonest runner and all others honestly.
class SteppedRunner : public StepRunner {
public:
    void set_inputs(Inputs inputs) override {
        honest_.set_inputs(inputs);
        wrong_->set_inputs(tampered(std::move(inputs)));
    }
    std::optional<std::vector<kernels::Metric>> attempt(State& state, const kernels::StopToken& stop) override {
        return at(state).attempt(state, stop);
    }
    std::vector<Hash32> trace(const State& state) override { return at(state).trace(state); }
    std::vector<Tensor> outputs(const State& state, const std::vector<std::uint32_t>& ops) override {
        return at(state).outputs(state, ops);
    }

protected:
    SteppedRunner(AttackSteps steps, const Program& program, const Inputs& inputs, ThreadPool& pool)
        : steps_(steps), honest_(program, inputs, pool) {}
    /// The inputs of the dishonest runner.
    virtual Inputs tampered(Inputs inputs) { return inputs; }
    std::unique_ptr<ProgramRunner> wrong_;

private:
    ProgramRunner& at(const State& state) {
        return state.step < steps_.first || state.step > steps_.last ? honest_ : *wrong_;
    }
    AttackSteps steps_;
    ProgramRunner honest_;
};

/// Trains with the rows of the first data set rotated by one; the other data sets (labels) are unchanged.
class OtherDataRunner final : public SteppedRunner {
public:
    OtherDataRunner(AttackSteps steps, const Program& program, Inputs inputs, ThreadPool& pool)
        : SteppedRunner(steps, program, inputs, pool) {
        wrong_ = std::make_unique<ProgramRunner>(program, rotated_first(std::move(inputs)), pool);
    }

protected:
    Inputs tampered(Inputs inputs) override { return rotated_first(std::move(inputs)); }

private:
    Inputs rotated_first(Inputs inputs) {
        other_ = rotated(inputs);
        if (!inputs.datasets.empty()) inputs.datasets.front() = &other_;
        return inputs;
    }
    static Tensor rotated(const Inputs& inputs) {
        if (inputs.datasets.empty()) return {};
        Tensor data = *inputs.datasets.front();
        const std::uint64_t rows = data.dims.empty() ? 1 : std::max<std::uint64_t>(1, data.dims.front());
        const auto row = static_cast<std::ptrdiff_t>(data.data.size() / rows);
        std::rotate(data.data.begin(), data.data.begin() + row, data.data.end());
        return data;
    }
    Tensor other_;
};

/// Draws the samples with another seed than the task's.
class OtherOrderRunner final : public SteppedRunner {
public:
    OtherOrderRunner(AttackSteps steps, const Program& program, Inputs inputs, ThreadPool& pool)
        : SteppedRunner(steps, program, inputs, pool) {
        wrong_ = std::make_unique<ProgramRunner>(program, other_seed(std::move(inputs)), pool);
    }

protected:
    Inputs tampered(Inputs inputs) override { return other_seed(std::move(inputs)); }

private:
    static Inputs other_seed(Inputs inputs) {
        inputs.seed ^= 1;
        return inputs;
    }
};

/// Runs the program with all its rank-0 float constants doubled, among them the learning rate.
class OtherConstantsRunner final : public SteppedRunner {
public:
    OtherConstantsRunner(AttackSteps steps, const Program& program, Inputs inputs, ThreadPool& pool)
        : SteppedRunner(steps, program, inputs, pool), other_(doubled(program)) {
        wrong_ = std::make_unique<ProgramRunner>(other_, std::move(inputs), pool);
    }

private:
    static Program doubled(Program program) {
        for (std::uint32_t i = 0; i < program.constants; ++i) {
            const kernels::TensorRecord& record = program.tensors[program.states + i];
            if (record.dtype != kernels::DType::f32 || !record.dims.empty()) continue;
            std::uint8_t* bits = program.constant_data[i].data.data();
            const std::uint32_t exponent = load_u32(bits) >> 23 & 0xff;
            if (exponent > 0 && exponent < 254) store_u32(bits, load_u32(bits) + (1u << 23));
        }
        return program;
    }
    Program other_;
};

}  // namespace

std::string_view slug(ComputeAttack attack) noexcept {
    switch (attack) {
        case ComputeAttack::ulp: return "ulp";
        case ComputeAttack::skip_steps: return "skip_steps";
        case ComputeAttack::wrong_data: return "wrong_data";
        case ComputeAttack::stale_checkpoint: return "stale_checkpoint";
        case ComputeAttack::silent: return "silent";
        case ComputeAttack::data_order: return "data_order";
        case ComputeAttack::hyper_parameter: return "hyper_parameter";
        case ComputeAttack::poison_nan: return "poison_nan";
        case ComputeAttack::poison_norm: return "poison_norm";
        case ComputeAttack::copy_message: return "copy_message";
        case ComputeAttack::wrong_mask: return "wrong_mask";
    }
    return "unknown";
}

std::optional<ComputeAttack> parse_compute_attack(std::string_view text) noexcept {
    const auto found =
        std::find_if(kAttacks.begin(), kAttacks.end(), [&](ComputeAttack attack) { return slug(attack) == text; });
    if (found == kAttacks.end()) return std::nullopt;
    return *found;
}

AttackSteps attack_steps(ComputeAttack attack, const Schedule& schedule, std::optional<std::uint64_t> segment) {
    ensure(schedule.steps > 0, "a task with steps");
    const std::uint64_t index = std::min(segment.value_or(schedule.segments() - 1), schedule.segments() - 1);
    const std::uint64_t first = schedule.step_of(index), last = schedule.step_of(index + 1) - 1;
    const std::uint64_t middle = first + (last - first + 1) / 2;
    switch (attack) {
        case ComputeAttack::ulp:  // Earlier changes vanish: moments decay and products round until no bit differs.
            return {last, last};
        case ComputeAttack::skip_steps: return {middle, last};
        case ComputeAttack::stale_checkpoint: return {last, last};
        default: return {first, last};
    }
}

std::unique_ptr<StepRunner> make_attacker(ComputeAttack attack, const Schedule& schedule, const Program& program,
                                          Inputs inputs, ThreadPool& pool, std::optional<std::uint64_t> segment) {
    const AttackSteps steps = attack_steps(attack, schedule, segment);
    switch (attack) {
        case ComputeAttack::ulp: {
            const auto wrong = [step = steps.first](std::uint64_t at) { return at == step; };
            return std::make_unique<UlpRunner>(wrong, program, std::move(inputs), pool);
        }
        case ComputeAttack::skip_steps:
            return std::make_unique<SkippingRunner>(steps, program, std::move(inputs), pool);
        case ComputeAttack::wrong_data:
            return std::make_unique<OtherDataRunner>(steps, program, std::move(inputs), pool);
        case ComputeAttack::data_order:
            return std::make_unique<OtherOrderRunner>(steps, program, std::move(inputs), pool);
        case ComputeAttack::hyper_parameter:
            return std::make_unique<OtherConstantsRunner>(steps, program, std::move(inputs), pool);
        case ComputeAttack::stale_checkpoint: {
            const std::uint64_t start = steps.last / schedule.interval * schedule.interval;
            return std::make_unique<StaleRunner>(start, steps.last, program, std::move(inputs), pool);
        }
        case ComputeAttack::silent:
        case ComputeAttack::poison_nan:
        case ComputeAttack::poison_norm:
        case ComputeAttack::copy_message:
        case ComputeAttack::wrong_mask: break;
    }
    return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
}

RunnerFactory attacking_runners(ComputeAttack attack, std::optional<std::uint64_t> segment, MessageStore* messages) {
    return [attack, segment, messages](const TaskTerms& terms, const kernels::Program& program, kernels::Inputs inputs,
                                       kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
        if (terms.group)
            return make_member_attacker(attack, terms, program, std::move(inputs), pool, segment, messages);
        return make_attacker(attack, terms.schedule, program, std::move(inputs), pool, segment);
    };
}

}  // namespace retrace::solver
