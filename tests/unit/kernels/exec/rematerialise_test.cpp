// SPDX-License-Identifier: MIT
// Recomputing activations changes the cost of a step, but not its results.
#include "kernels/exec/rematerialise.hpp"

#include <gtest/gtest.h>

#include "kernels/builder/training.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/exec/plan.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/raw_program.hpp"

namespace retrace::kernels {
namespace {

TrainingPrograms training(const std::string& kind, std::uint64_t tokens = 8, std::uint64_t layers = 2) {
    ModelSpec model;
    model.kind = kind;
    model.input = kind == "lenet" ? std::vector<std::uint64_t>{1, 12, 12} : std::vector<std::uint64_t>{tokens};
    model.classes = 10;
    model.width = 16;
    model.heads = 2;
    model.layers = layers;
    TrainingSpec spec;
    spec.samples = 64;
    spec.batch = 4;
    spec.clip_norm = 1.0f;
    return *build_training(model, spec, 64, 8);
}

struct StepData {
    Tensor x, y;
};
StepData data(const Program& program) {
    const auto filled = [&](std::uint32_t index, std::uint64_t factor) {
        const TensorRecord& record = program.tensors[program.states + program.constants + index];
        Tensor out = zeros(record.dtype, record.dims);
        for (std::size_t i = 0; i < out.data.size(); ++i) out.data[i] = static_cast<std::uint8_t>(i * factor % 10);
        return out;
    };
    return {filled(0, 7), filled(1, 3)};
}

State trained(const Program& program, const Program& init, Backend backend) {
    ThreadPool pool(2);
    const auto [x, y] = data(program);
    State state = run_initialiser(init, 7, pool);
    Executor executor(program, pool, backend);
    for (int i = 0; i < 2; ++i) executor.step(state, {7, {&x, &y}});
    return state;
}

class Recomputation : public ::testing::TestWithParam<std::string> {};

TEST_P(Recomputation, GivesTheStatesOfTheReference) {
    const TrainingPrograms programs = training(GetParam());
    const State expected = trained(programs.train, programs.init, Backend::reference);
    for (const RematerialiseLimits limits : {RematerialiseLimits{1, 8}, RematerialiseLimits{1, 1}}) {
        const Program rewritten = rematerialise(programs.train, limits);
        ASSERT_TRUE(check(rewritten));
        EXPECT_GT(rewritten.ops.size(), programs.train.ops.size());
        EXPECT_EQ(trained(rewritten, programs.init, Backend::cpu), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Recomputation, ::testing::Values("gpt", "llama", "lenet"));

TEST(RecomputationPlan, ATransformerTakesAFifthLessMemory) {
    const Program program = training("gpt", 128, 6).train;
    const Program rewritten = rematerialise(program, {4096, 32});
    const PlanOptions apart{false, true, Fusion::elements};
    EXPECT_LT(5 * plan_memory(rewritten, apart).bytes, 4 * plan_memory(program, apart).bytes);
}

/// Clocks are derived from the cost of the original program, which may come from a stranger: many distant readers of
/// one element each, of a large product or of a chain of elementwise ops.
TEST(RecomputationPlan, WhatIsComputedAgainCostsAPartOfTheStep) {
    for (const bool product : {false, true}) {
        testing::RawProgram raw({{512, 64}, {1, 1}});
        const Dims dims = product ? Dims{512, 512} : Dims{512, 64};
        std::uint32_t large = product ? raw.op(OpCode::matmul, {0, 0}, dims, {1, 0, 1}) : 0;
        for (int i = 0; i < 4; ++i) large = raw.op(OpCode::neg, {large}, dims);
        std::uint32_t sum = 1;
        for (int reader = 0; reader < 50; ++reader) {
            for (int i = 0; i < 40; ++i) sum = raw.op(OpCode::neg, {sum}, {1, 1});
            sum = raw.op(OpCode::add, {sum, raw.op(OpCode::slice, {large}, {1, 1}, {0, 0, 1, 1})}, {1, 1});
        }
        raw.set_next(sum, 1);
        const Program& p = raw.program;
        ASSERT_TRUE(check(p)) << check(p).error().message;
        RematerialiseLimits limits{1024, 32, 64};
        EXPECT_LE(2 * step_cost(rematerialise(p, limits)), 3 * step_cost(p));
        limits.cost_percent = 100'000;
        EXPECT_GT(step_cost(rematerialise(p, limits)), 5 * step_cost(p)) << "or this tests nothing";
    }
}

TEST(RecomputationPlan, AProgramWithNothingToGainStaysAsItIs) {
    const Program program = training("gpt").train;
    EXPECT_EQ(rematerialise(program), program);  // no tensor reaches the default size
}

}  // namespace
}  // namespace retrace::kernels
