// SPDX-License-Identifier: MIT
// Whole trainings give the same root on every back end and thread count, and that root is published.
#include "kernels/builder/training.hpp"

#include <gmock/gmock.h>

#include <bit>

#include "kernels/commit/commitment.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"

namespace retrace::kernels {
namespace {

struct Outcome {
    std::string root;
    float loss = 0;
};

using golden::Recipe;

Outcome train(const Recipe& run, int steps, Backend backend, unsigned threads, Fusion fusion = Fusion::runs) {
    const TrainingPrograms programs = golden::programs(run);
    ThreadPool pool(threads);
    const auto [x, y] = golden::data(run.model);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    Executor executor(programs.train, pool, backend, fusion);
    Outcome out;
    for (int i = 0; i < steps; ++i) out.loss = executor.step(state, {golden::kSeed, {&x, &y}})[0].value;
    const CommittedProgram committed(programs.train);
    out.root = to_hex(view(commit_state(committed.root(), state, pool).root));
    return out;
}

class GoldenTraining : public ::testing::TestWithParam<std::string> {
protected:
    const Recipe recipe = golden::recipes()[GetParam()];
    const std::string expected = golden::roots(RETRACE_VECTORS "/numerics_training/golden.txt")[GetParam() + " 200"];
};

TEST_P(GoldenTraining, RootOnAnyNumberOfThreads) {
    for (const unsigned threads : {1u, 2u, 3u}) {
        EXPECT_EQ(train(recipe, 200, Backend::cpu, threads).root, expected) << "threads: " << threads;
    }
}

TEST_P(GoldenTraining, RootWhateverRunsTogether) {
    for (const Fusion fusion : {Fusion::none, Fusion::elements}) {
        EXPECT_EQ(train(recipe, 200, Backend::cpu, 2, fusion).root, expected) << static_cast<int>(fusion);
    }
}

TEST_P(GoldenTraining, RootOnTheReference) { EXPECT_EQ(train(recipe, 200, Backend::reference, 2).root, expected); }

TEST_P(GoldenTraining, TheLossFalls) {
    EXPECT_LT(train(recipe, 200, Backend::cpu, 2).loss, 0.8f * train(recipe, 1, Backend::cpu, 2).loss);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTraining, ::testing::ValuesIn(golden::names()),
                         [](const auto& info) { return info.param; });

TEST(Training, OneBitOfOneWeightChangesTheRoot) {
    const Recipe mlp = golden::recipes()["mlp"];
    Recipe other = mlp;
    other.training.weight_decay = 0.010000001f;
    EXPECT_NE(train(mlp, 3, Backend::cpu, 1).root, train(other, 3, Backend::cpu, 1).root);
}

TEST(Training, KeepsTheLossOfEachStepInItsStateAndComputesTheSame) {
    Recipe kept = golden::recipes()["mlp"];
    const TrainingPrograms plain = golden::programs(kept);
    kept.training.keep_loss = true;
    const TrainingPrograms programs = golden::programs(kept);
    ASSERT_EQ(programs.train.states, plain.train.states + 1);
    EXPECT_EQ(programs.init.states, programs.train.states);
    EXPECT_EQ(programs.eval.states, programs.train.states);
    const std::uint32_t at = plain.train.states;
    EXPECT_EQ(programs.train.tensors[at].name, kLossTensor);

    ThreadPool pool(1);
    const auto [x, y] = golden::data(kept.model);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    State other = run_initialiser(plain.init, golden::kSeed, pool);
    EXPECT_EQ(state.tensors[at].bits(0), 0u);
    Executor executor(programs.train, pool, Backend::cpu), same(plain.train, pool, Backend::cpu);
    for (int i = 0; i < 5; ++i) {
        const float loss = executor.step(state, {golden::kSeed, {&x, &y}})[0].value;
        EXPECT_EQ(same.step(other, {golden::kSeed, {&x, &y}})[0].value, loss);
        EXPECT_EQ(state.tensors[at].bits(0), std::bit_cast<std::uint32_t>(loss)) << "step " << i;
    }
    for (std::uint32_t i = 0; i < at; ++i) EXPECT_EQ(state.tensors[i].data, other.tensors[i].data) << i;
}

}  // namespace
}  // namespace retrace::kernels
