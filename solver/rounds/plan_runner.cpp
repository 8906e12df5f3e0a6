// SPDX-License-Identifier: MIT
#include "solver/rounds/plan_runner.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "merkle/base/ensure.hpp"

namespace retrace::solver {

using kernels::Phase;
using kernels::Position;
using kernels::State;

PlanRunner::PlanRunner(const CommittedPlan& plan, std::uint64_t task_seed, std::vector<const kernels::Tensor*> data,
                       MakeRunner make, kernels::ThreadPool& pool)
    : plan_(plan), seed_(task_seed), data_(std::move(data)), make_(std::move(make)), pool_(pool) {}

PlanRunner::At PlanRunner::place_of(Phase phase, kernels::Inputs inputs, Position position) {
    const kernels::CommittedProgram& program = plan_.program(phase);
    OfPhase& of = phases_[phase];
    if (of.runner == nullptr) {
        of.runner = make_(program.program(), inputs);
        if (of.runner == nullptr)
            throw std::runtime_error("the chosen device cannot run phase " +
                                     std::to_string(static_cast<unsigned>(phase)) + " of the plan");
    } else if (!inputs.datasets.empty() || inputs.seed != of.inputs.seed) {
        const bool same = phase == Phase::inner && inputs.seed == of.inputs.seed;  // Messages change behind pointers.
        if (!same) of.runner->set_inputs(inputs);
    }
    of.inputs = std::move(inputs);
    return {*of.runner, program, of.inputs, position};
}

PlanRunner::At PlanRunner::at(const kernels::SegmentPositions& segment, std::uint64_t place, std::uint32_t run,
                              const kernels::MessageSource& messages) {
    const Position position = segment.at(place);
    kernels::Inputs inputs;
    inputs.seed = plan_.has_member_seed(position.phase) ? kernels::member_seed(seed_, run) : seed_;
    if (position.phase == Phase::inner) {
        inputs.datasets = data_;
    } else if (kernels::reads_message(position.phase)) {
        const kernels::Message message = messages(position);
        facts_ = kernels::fact_tensor(message.facts);
        inputs.datasets = message.tensors;
        inputs.datasets.push_back(&facts_);
    }
    return place_of(position.phase, std::move(inputs), position);
}

PlanRunner::At PlanRunner::at_init() { return place_of(Phase::init, {seed_, {}}, {Phase::init, 0, 0, 0}); }

PlanRunner::At PlanRunner::at_enter(std::uint64_t base, const std::vector<const kernels::Tensor*>& shared) {
    return place_of(Phase::enter, {seed_, shared}, {Phase::enter, 0, 0, base * plan_.steps_max()});
}

std::optional<State> PlanRunner::first_state(const At& at, std::uint64_t base, const kernels::StopToken& stop) {
    State state = blank_state(at.program.program());
    state.step = at.position.op_step;
    const bool made = at.runner.attempt(state, stop).has_value();
    phases_.erase(at.position.phase);  // It is not needed again.
    if (!made) return std::nullopt;
    state.step = kernels::header_step(base, 0);
    return state;
}

std::optional<State> PlanRunner::init(const kernels::StopToken& stop) { return first_state(at_init(), 0, stop); }

std::optional<State> PlanRunner::enter(std::uint64_t base, const std::vector<const kernels::Tensor*>& shared,
                                       const kernels::StopToken& stop) {
    return first_state(at_enter(base, shared), base, stop);
}

std::optional<std::uint64_t> PlanRunner::run_inner(State& state, const kernels::SegmentPositions& segment,
                                                   std::uint64_t first, std::uint64_t last, const At& at,
                                                   const kernels::StopToken& stop, const Watch& watch, const Keep& keep,
                                                   bool& goes_on) {
    std::uint64_t place = first;
    const auto training = at.runner.train(at.program, state, pool_);
    while (goes_on && place < last && segment.at(place).phase == Phase::inner) {
        const auto metrics = training->attempt(stop);
        if (!metrics) return std::nullopt;
        ++place;
        if (watch) goes_on = watch(place, segment.at(place - 1), *metrics);
        if (goes_on) keep(place, [&]() -> const State& { return training->state(); });
    }
    (void)training->state();  // Brings `state` up to date.
    return place;
}

std::optional<std::uint64_t> PlanRunner::run(State& state, const kernels::SegmentPositions& segment,
                                             std::uint64_t first, std::uint64_t last, std::uint32_t run,
                                             const kernels::MessageSource& messages, const kernels::StopToken& stop,
                                             const Watch& watch, Copies* copies) {
    ensure(first <= last && last <= segment.count(), "positions of the segment");
    std::uint64_t place = first;
    bool goes_on = true;
    using Clock = std::chrono::steady_clock;
    Clock::time_point next = Clock::now() + (copies != nullptr ? copies->every : std::chrono::milliseconds(0));
    const Keep keep = [&](std::uint64_t reached, const std::function<const State&()>& source) {
        const Clock::time_point begin = Clock::now();
        if (copies == nullptr || reached == last || begin < next) return;
        try {
            copies->newest = source();
            copies->newest->step = kernels::header_step(segment.span().base, reached);
        } catch (const std::bad_alloc&) {
            copies->newest.reset();  // Without memory for a copy it goes on; a stop then costs more work.
        }
        constexpr int kShare = 20;
        const Clock::time_point end = Clock::now();
        if (copies->every.count() != 0) next = end + std::max<Clock::duration>(copies->every, kShare * (end - begin));
    };
    while (goes_on && place < last) {
        const At now = at(segment, place, run, messages);
        state.step = now.position.op_step;
        if (now.position.phase == Phase::inner) {
            const auto reached = run_inner(state, segment, place, last, now, stop, watch, keep, goes_on);
            if (!reached) return std::nullopt;
            place = *reached;
        } else {
            const auto metrics = now.runner.attempt(state, stop);
            if (!metrics) return std::nullopt;
            ++place;
            if (watch) goes_on = watch(place, now.position, *metrics);
            if (goes_on) keep(place, [&]() -> const State& { return state; });
        }
        state.step = kernels::header_step(segment.span().base, place);
    }
    return place;
}

bool PlanRunner::on_device() {
    if (!phases_.contains(Phase::inner)) place_of(Phase::inner, {seed_, data_}, {Phase::inner, 0, 0, 0});
    return phases_.at(Phase::inner).runner->on_device();
}

}  // namespace retrace::solver
