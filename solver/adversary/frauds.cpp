// SPDX-License-Identifier: MIT
#include "solver/adversary/frauds.hpp"

#include <algorithm>
#include <array>

#include "merkle/base/ensure.hpp"

namespace retrace::solver {
namespace {

using kernels::Inputs;
using kernels::Program;
using kernels::State;
using kernels::Tensor;
using kernels::ThreadPool;

constexpr std::array kFrauds = {Fraud::ulp, Fraud::skip_steps, Fraud::wrong_data, Fraud::stale_checkpoint,
                                Fraud::silent};

class SkippingRunner final : public ForgingRunner {
public:
    SkippingRunner(FraudSteps steps, const Program& program, Inputs inputs, ThreadPool& pool)
        : ForgingRunner(program, std::move(inputs), pool), steps_(steps) {}

protected:
    std::optional<std::vector<Tensor>> forged(const State& before) override {
        if (before.step < steps_.first || before.step > steps_.last) return std::nullopt;
        return before.tensors;
    }

private:
    FraudSteps steps_;
};

/// Remembers the state at the start of the segment and returns to it in the segment's last step.
class StaleRunner final : public ForgingRunner {
public:
    StaleRunner(std::uint64_t start, std::uint64_t last, const Program& program, Inputs inputs,
                ThreadPool& pool)
        : ForgingRunner(program, std::move(inputs), pool), start_(start), last_(last) {}

    std::vector<kernels::Metric> step(State& state) override {
        if (state.step == start_) stale_ = state.tensors;
        return ForgingRunner::step(state);
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

/// Trains on the data sets with their rows moved by one place, labels left where they are.
class OtherDataRunner final : public StepRunner {
public:
    OtherDataRunner(std::uint64_t first, const Program& program, const Inputs& inputs, ThreadPool& pool)
        : first_(first),
          other_(rotated(inputs)),
          honest_(program, inputs, pool),
          wrong_(program, wrong_inputs(inputs), pool) {}

    std::vector<kernels::Metric> step(State& state) override { return at(state).step(state); }
    std::vector<Hash32> trace(const State& state) override { return at(state).trace(state); }
    std::vector<Tensor> outputs(const State& state, const std::vector<std::uint32_t>& ops) override {
        return at(state).outputs(state, ops);
    }

private:
    static Tensor rotated(const Inputs& inputs) {
        if (inputs.datasets.empty()) return {};
        Tensor data = *inputs.datasets.front();
        const std::uint64_t rows = data.dims.empty() ? 1 : std::max<std::uint64_t>(1, data.dims.front());
        const auto row = static_cast<std::ptrdiff_t>(data.data.size() / rows);
        std::rotate(data.data.begin(), data.data.begin() + row, data.data.end());
        return data;
    }
    Inputs wrong_inputs(Inputs inputs) const {
        if (!inputs.datasets.empty()) inputs.datasets.front() = &other_;
        return inputs;
    }
    ProgramRunner& at(const State& state) { return state.step < first_ ? honest_ : wrong_; }

    std::uint64_t first_;
    Tensor other_;
    ProgramRunner honest_, wrong_;
};

}  // namespace

std::string_view slug(Fraud fraud) noexcept {
    switch (fraud) {
        case Fraud::ulp:
            return "ulp";
        case Fraud::skip_steps:
            return "skip_steps";
        case Fraud::wrong_data:
            return "wrong_data";
        case Fraud::stale_checkpoint:
            return "stale_checkpoint";
        case Fraud::silent:
            return "silent";
    }
    return "unknown";
}

std::optional<Fraud> parse_fraud(std::string_view text) noexcept {
    const auto found =
        std::find_if(kFrauds.begin(), kFrauds.end(), [&](Fraud fraud) { return slug(fraud) == text; });
    if (found == kFrauds.end()) return std::nullopt;
    return *found;
}

FraudSteps fraud_steps(Fraud fraud, const Schedule& schedule) {
    ensure(schedule.steps > 0, "a task with steps");
    const std::uint64_t first = schedule.step_of(schedule.segments() - 1), last = schedule.steps - 1;
    const std::uint64_t middle = first + (last - first + 1) / 2;
    switch (fraud) {
        case Fraud::ulp:  // Earlier ones heal: moments decay and products round, until no bit differs any more.
            return {last, last};
        case Fraud::skip_steps:
            return {middle, last};
        case Fraud::stale_checkpoint:
            return {last, last};
        default:
            return {first, last};
    }
}

std::unique_ptr<StepRunner> make_fraud(Fraud fraud, const Schedule& schedule, const Program& program,
                                       Inputs inputs, ThreadPool& pool) {
    const FraudSteps steps = fraud_steps(fraud, schedule);
    switch (fraud) {
        case Fraud::ulp: {
            const auto wrong = [step = steps.first](std::uint64_t at) { return at == step; };
            return std::make_unique<UlpRunner>(wrong, program, std::move(inputs), pool);
        }
        case Fraud::skip_steps:
            return std::make_unique<SkippingRunner>(steps, program, std::move(inputs), pool);
        case Fraud::wrong_data:
            return std::make_unique<OtherDataRunner>(steps.first, program, inputs, pool);
        case Fraud::stale_checkpoint: {
            const std::uint64_t start = schedule.step_of(schedule.segments() - 1);
            return std::make_unique<StaleRunner>(start, steps.last, program, std::move(inputs), pool);
        }
        case Fraud::silent:
            break;
    }
    return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
}

}  // namespace retrace::solver
