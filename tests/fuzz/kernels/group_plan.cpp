// SPDX-License-Identifier: MIT
// Plans: one encoding each, and what passes the checker runs its phases, and leaves two members with other own tensors
// the same shared ones.
#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/plan_executor.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/unit/kernels/plan/small_plan.hpp"

namespace retrace::fuzz {
namespace {

using namespace kernels;

constexpr std::uint64_t kTinyCost = 20'000, kTinyElements = 2'000;

bool is_tiny(const GroupPlan& plan) {
    std::uint64_t elements = 0, cost = 0;
    for (const PhaseProgram& phase : plan.phases) {
        cost += std::min(step_cost(phase.program), kTinyCost + 1);
        for (const TensorRecord& tensor : phase.program.tensors) {
            elements += geometry(tensor.dims).elements();
            if (elements > kTinyElements) return false;
        }
    }
    return cost <= kTinyCost;
}

void fill_own(const GroupPlan& plan, State& state, std::uint8_t value) {
    for (std::size_t t = plan.shared; t < state.tensors.size(); ++t)
        if (state.tensors[t].dtype != DType::boolean)
            for (std::uint8_t& byte : state.tensors[t].data) byte = value;
}

void take_in_a_record(const GroupPlan& plan) {
    static ThreadPool pool(1);
    const Program& first = plan.phases.front().program;
    std::vector<Tensor> shared, message;
    for (std::uint32_t t = 0; t < plan.shared; ++t)
        shared.push_back(zeros(first.tensors[t].dtype, first.tensors[t].dims));
    for (const std::uint32_t t : plan.public_tensors)
        message.push_back(zeros(first.tensors[t].dtype, first.tensors[t].dims));
    std::vector<const Tensor*> given;
    for (const Tensor& tensor : shared) given.push_back(&tensor);
    PlanExecutor executor(plan, pool);
    State one = executor.enter(0, given, 1);
    State other = one;
    fill_own(plan, one, 1);
    fill_own(plan, other, 2);
    const Tensor table = mask_table({{Hash32{}, true}});
    const auto source = [&](const Position& at) {
        if (at.phase == Phase::unmask) return Message{mask_facts(0), {&table}};
        Message out{{1, 1, 0, 1}, {}};
        for (const Tensor& tensor : message) out.tensors.push_back(&tensor);
        return out;
    };
    const std::vector<std::uint32_t> one_message{1}, masks{plan.has_masks() ? 1u : 0u};
    const auto segment = SegmentPositions::make({0, 1, 0, {}}, one_message, plan.steps_max, masks);
    require(segment.has_value(), "a record of one message");
    for (State* state : {&one, &other}) executor.run(*state, *segment, 0, segment->count(), {}, source);
    for (std::uint32_t t = 0; t < plan.shared; ++t)
        require(one.tensors[t] == other.tensors[t], "shared tensors follow from the records alone");
}

}  // namespace

std::vector<Bytes> seeds() { return {encode(testing::small_plan())}; }

void run(View input) {
    Limits limits;
    limits.ops = 500;
    limits.tensors = 1000;
    const auto plan = decode_plan(input, limits);
    if (!plan) return;
    require(equal(encode(*plan), input), "one plan has one encoding");
    require(check(*plan).has_value(), "what decodes has been checked");
    plan_root(*plan);
    if (is_tiny(*plan)) take_in_a_record(*plan);
}

}  // namespace retrace::fuzz
