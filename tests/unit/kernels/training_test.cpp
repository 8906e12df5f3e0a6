// SPDX-License-Identifier: MIT
// Whole trainings give one root on every back end and thread count, and that root is published.
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "kernels/builder/training.hpp"
#include "kernels/commit/commitment.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kSamples = 256, kSeed = 20260101;

struct Recipe {
    ModelSpec model;
    TrainingSpec training;
};

Recipe mlp() {
    Recipe run;
    run.model.input = {1, 17, 17};  // K = 289: two links, the second one short
    run.model.hidden = {40, 33};
    run.training.samples = kSamples;
    run.training.batch = 24;
    run.training.steps = 200;
    run.training.schedule = "cosine";
    run.training.warmup_steps = 10;
    run.training.weight_decay = 0.01f;
    return run;
}

Recipe cnn() {
    Recipe run;
    run.model.kind = "lenet";
    run.model.input = {1, 12, 12};
    run.training.samples = kSamples;
    run.training.batch = 4;
    run.training.steps = 200;
    run.training.optimizer = Optimizer::sgd;
    run.training.learning_rate = 0.01f;
    return run;
}

Recipe transformer(const std::string& kind) {
    Recipe run;
    run.model.kind = kind;
    run.model.input = kind == "vit" ? std::vector<std::uint64_t>{1, 12, 12} : std::vector<std::uint64_t>{8};
    run.model.classes = kind == "vit" ? 10 : 11;
    run.model.width = 16;  // the four times wider layer and the 64 tokens of a batch are enough for digit slices
    run.model.heads = 2;
    run.model.layers = 1;
    run.training.samples = kSamples;
    run.training.batch = 8;
    run.training.steps = 200;
    run.training.schedule = "cosine";
    run.training.warmup_steps = 20;
    run.training.learning_rate = 3e-3f;
    run.training.clip_norm = 1.0f;
    return run;
}

/// Every training whose roots are published.
std::map<std::string, Recipe> recipes() {
    return {{"mlp", mlp()}, {"cnn", cnn()}, {"gpt", transformer("gpt")}, {"llama", transformer("llama")},
            {"vit", transformer("vit")}};
}

/// Pixels and labels that a net can learn, made of integers alone.
Tensor pixels(const ModelSpec& model) {
    Dims dims{kSamples};
    dims.insert(dims.end(), model.input.begin(), model.input.end());
    Tensor x = zeros(DType::u8, dims);
    const std::uint64_t size = x.elements() / kSamples;
    for (std::uint64_t i = 0; i < x.elements(); ++i) {
        const std::uint64_t label = i / size % 10, noise = (i * 2654435761u >> 7) % 64;
        x.data[i] = static_cast<std::uint8_t>((i % size) % (label + 2) * 19 + noise);
    }
    return x;
}

/// Token t of sample s; the label of a token is the next one.
std::uint8_t token(std::uint64_t s, std::uint64_t t) {
    return static_cast<std::uint8_t>((s * 7 + t * (s % 3 + 1)) % 11);
}

std::pair<Tensor, Tensor> data(const ModelSpec& model) {
    if (model.kind == "gpt" || model.kind == "llama") {
        const std::uint64_t tokens = model.input[0];
        Tensor x = zeros(DType::u8, {kSamples, tokens}), y = x;
        for (std::uint64_t i = 0; i < x.elements(); ++i) {
            x.data[i] = token(i / tokens, i % tokens);
            y.data[i] = token(i / tokens, i % tokens + 1);
        }
        return {x, y};
    }
    Tensor y = zeros(DType::u8, {kSamples});
    for (std::uint64_t i = 0; i < kSamples; ++i) y.data[i] = static_cast<std::uint8_t>(i % 10);
    return {pixels(model), y};
}

struct Outcome {
    std::string root;
    float loss = 0;
};

Outcome train(const Recipe& run, int steps, Backend backend, unsigned threads) {
    const TrainingPrograms programs = *build_training(run.model, run.training, kSamples, 16);
    ThreadPool pool(threads);
    const auto [x, y] = data(run.model);
    State state = run_initialiser(programs.init, kSeed, pool);
    Executor executor(programs.train, pool, backend);
    Outcome out;
    for (int i = 0; i < steps; ++i) out.loss = executor.step(state, {kSeed, {&x, &y}})[0].value;
    const CommittedProgram committed(programs.train);
    out.root = to_hex(view(commit_state(committed.root(), state, pool).root));
    return out;
}

/// Lines "NAME STEPS ROOT" of the published file.
std::map<std::string, std::string> golden() {
    std::ifstream in(RETRACE_VECTORS "/numerics_training/golden.txt");
    std::map<std::string, std::string> roots;
    std::string name, steps, root;
    while (in >> name >> steps >> root) roots[name + " " + steps] = root;
    return roots;
}

class GoldenTraining : public ::testing::TestWithParam<std::string> {
protected:
    const Recipe recipe = recipes()[GetParam()];
    const std::string expected = golden()[GetParam() + " 200"];
};

TEST_P(GoldenTraining, root_on_any_number_of_threads) {
    for (const unsigned threads : {1u, 2u, 3u}) {
        EXPECT_EQ(train(recipe, 200, Backend::cpu, threads).root, expected) << "threads: " << threads;
    }
}

TEST_P(GoldenTraining, root_on_the_reference) {
    EXPECT_EQ(train(recipe, 200, Backend::reference, 2).root, expected);
}

TEST_P(GoldenTraining, the_loss_falls) {
    EXPECT_LT(train(recipe, 200, Backend::cpu, 2).loss, 0.8f * train(recipe, 1, Backend::cpu, 2).loss);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTraining, ::testing::Values("mlp", "cnn", "gpt", "llama", "vit"),
                         [](const auto& info) { return info.param; });

TEST(Training, one_bit_of_one_weight_changes_the_root) {
    Recipe other = mlp();
    other.training.weight_decay = 0.010000001f;
    EXPECT_NE(train(mlp(), 3, Backend::cpu, 1).root, train(other, 3, Backend::cpu, 1).root);
}

}  // namespace
}  // namespace retrace::kernels
