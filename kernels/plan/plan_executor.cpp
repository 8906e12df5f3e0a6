// SPDX-License-Identifier: MIT
#include "kernels/plan/plan_executor.hpp"

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {

Tensor fact_tensor(const MessageFacts& facts) {
    Tensor out = zeros(DType::i32, kFactDims);
    std::uint8_t* at = out.data.data();
    for (const std::uint32_t value : {facts.weight, facts.total, facts.age, facts.steps}) {
        store_u32(at, value);
        at += 4;
    }
    return out;
}

std::uint64_t member_seed(std::uint64_t task_seed, std::uint32_t run) {
    Writer out;
    out.raw(view(std::string_view("retrace/member-seed/1"))).u64(task_seed).u32(run);
    const Hash32 hash = merkle::sha256(out.data());
    Reader in(view(hash));
    return in.u64();
}

struct PlanExecutor::Impl {
    const GroupPlan& plan;
    ThreadPool& pool;
    Backend backend;
    std::map<Phase, Executor> executors;

    std::vector<Metric> step(State& state, Phase phase, std::uint64_t op_step, const Inputs& inputs) {
        const PhaseProgram& program = plan.at(phase);
        const auto executor = executors.try_emplace(phase, program.program, pool, backend).first;
        state.step = op_step;
        return executor->second.step(state, inputs);
    }

    /// A state whose tensors a phase is about to write.
    State blank() const {
        State out;
        const Program& program = plan.phases.front().program;
        for (std::uint32_t t = 0; t < program.states; ++t)
            out.tensors.push_back(zeros(program.tensors[t].dtype, program.tensors[t].dims));
        return out;
    }
};

PlanExecutor::PlanExecutor(const GroupPlan& plan, ThreadPool& pool, Backend backend)
    : impl_(std::make_unique<Impl>(Impl{plan, pool, backend, {}})) {}

PlanExecutor::~PlanExecutor() = default;

State PlanExecutor::init(std::uint64_t task_seed) {
    State state = impl_->blank();
    impl_->step(state, Phase::init, 0, {task_seed, {}});
    state.step = header_step(0, 0);
    return state;
}

State PlanExecutor::enter(std::uint64_t base, const std::vector<const Tensor*>& shared, std::uint64_t task_seed) {
    State state = impl_->blank();
    impl_->step(state, Phase::enter, base * impl_->plan.steps_max, {task_seed, shared});
    state.step = header_step(base, 0);
    return state;
}

std::vector<std::vector<Metric>> PlanExecutor::run(State& state, const SegmentPositions& segment, std::uint64_t first,
                                                   std::uint64_t last, const MemberInputs& inputs,
                                                   const MessageSource& messages) {
    ensure(first <= last && last <= segment.count(), "positions of the segment");
    std::vector<std::vector<Metric>> out;
    for (std::uint64_t place = first; place < last; ++place) {
        const Position position = segment.at(place);
        Inputs in;
        in.seed = impl_->plan.at(position.phase).member_seed ? inputs.member_seed : inputs.task_seed;
        Tensor facts;
        if (reads_message(position.phase)) {
            const Message message = messages(position);
            facts = fact_tensor(message.facts);
            in.datasets = message.tensors;
            in.datasets.push_back(&facts);
        } else if (position.phase == Phase::inner) {
            in.datasets = inputs.datasets;
        }
        auto metrics = impl_->step(state, position.phase, position.op_step, in);
        state.step = header_step(segment.span().base, place + 1);
        if (position.phase == Phase::inner) out.push_back(std::move(metrics));
    }
    return out;
}

}  // namespace retrace::kernels
