// SPDX-License-Identifier: MIT
// Whole trainings give the same root on every back end and thread count, and that root is published.
#include "kernels/builder/training.hpp"

#include <gmock/gmock.h>

#include <array>
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

TEST(Training, KeepsMetricsOfEachStepInItsStateAndComputesTheSame) {
    Recipe kept = golden::recipes()["mlp"];
    kept.training.clip_norm = 0.5f;
    const TrainingPrograms plain = golden::programs(kept);
    kept.training.keep_metrics = true;
    const TrainingPrograms programs = golden::programs(kept);
    const std::uint32_t first = plain.train.states;
    ASSERT_EQ(programs.train.states, first + 3);
    EXPECT_EQ(programs.init.states, programs.train.states);
    EXPECT_EQ(programs.eval.states, programs.train.states);
    const std::array names{kAccuracyTensor, kGradientNormTensor, kLossTensor};
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(programs.train.tensors[first + i].name, names[i]);
    for (std::size_t op = 0; op < plain.train.ops.size(); ++op)
        EXPECT_EQ(programs.train.ops[op].code, plain.train.ops[op].code) << "numbers of ops are those without metrics";

    ThreadPool pool(1);
    const auto [x, y] = golden::data(kept.model);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    State other = run_initialiser(plain.init, golden::kSeed, pool);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(state.tensors[first + i].bits(0), 0u);
    Executor executor(programs.train, pool, Backend::cpu), same(plain.train, pool, Backend::cpu);
    for (int i = 0; i < 5; ++i) {
        const float loss = executor.step(state, {golden::kSeed, {&x, &y}})[0].value;
        EXPECT_EQ(same.step(other, {golden::kSeed, {&x, &y}})[0].value, loss);
        EXPECT_EQ(state.tensors[first + 2].bits(0), std::bit_cast<std::uint32_t>(loss)) << "step " << i;
    }
    for (std::uint32_t i = 0; i < first; ++i) EXPECT_EQ(state.tensors[i].data, other.tensors[i].data) << i;
}

/// The number of a metric after one step of the recipe.
float metric_after_a_step(Recipe recipe, const char* name) {
    recipe.training.keep_metrics = true;
    const TrainingPrograms programs = golden::programs(recipe);
    ThreadPool pool(1);
    const auto [x, y] = golden::data(recipe.model);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    Executor(programs.train, pool, Backend::cpu).step(state, {golden::kSeed, {&x, &y}});
    for (std::uint32_t i = 0; i < programs.train.states; ++i)
        if (programs.train.tensors[i].name == name) return std::bit_cast<float>(state.tensors[i].bits(0));
    return -1.0f;
}

/// On the same weights and the same rows the evaluation program counts the same classes as right.
TEST(Training, ItsAccuracyIsThatOfTheEvaluation) {
    Recipe recipe = golden::recipes()["mlp"];
    recipe.training.order = DataOrder::sequential;
    const float accuracy = metric_after_a_step(recipe, kAccuracyTensor);
    const std::uint64_t batch = recipe.training.batch;
    const TrainingPrograms programs =
        build_training(recipe.model, recipe.training, recipe.training.samples, batch).value();
    ThreadPool pool(1);
    const auto [x, y] = golden::data(recipe.model);
    State state = run_initialiser(programs.init, golden::kSeed, pool);
    float correct = -1.0f;
    for (const Metric& metric : Executor(programs.eval, pool, Backend::cpu).step(state, {golden::kSeed, {&x, &y}}))
        if (metric.name == "correct") correct = metric.value;
    EXPECT_EQ(accuracy, correct / static_cast<float>(batch));
}

TEST(Training, TheNormOfItsGradientsIsThatBeforeTheyAreClipped) {
    Recipe recipe = golden::recipes()["mlp"];
    EXPECT_EQ(metric_after_a_step(recipe, kGradientNormTensor), -1.0f) << "without clipping there is none";
    recipe.training.clip_norm = 0.5f;
    const float norm = metric_after_a_step(recipe, kGradientNormTensor);
    EXPECT_GT(norm, 0.0f);
    recipe.training.clip_norm = 0.25f;
    EXPECT_EQ(metric_after_a_step(recipe, kGradientNormTensor), norm);
}

}  // namespace
}  // namespace retrace::kernels
