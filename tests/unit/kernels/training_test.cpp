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

Tensor labels() {
    Tensor y = zeros(DType::u8, {kSamples});
    for (std::uint64_t i = 0; i < kSamples; ++i) y.data[i] = static_cast<std::uint8_t>(i % 10);
    return y;
}

struct Outcome {
    std::string root;
    float loss = 0;
};

Outcome train(const Recipe& run, int steps, Backend backend, unsigned threads) {
    const TrainingPrograms programs = *build_training(run.model, run.training, kSamples, 16);
    ThreadPool pool(threads);
    const Tensor x = pixels(run.model), y = labels();
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

TEST(Training, golden_roots_on_any_number_of_threads) {
    for (const auto& [name, run] : {std::pair{"mlp", mlp()}, std::pair{"cnn", cnn()}}) {
        const std::string expected = golden()[std::string(name) + " 200"];
        for (const unsigned threads : {1u, 2u, 3u}) {
            EXPECT_EQ(train(run, 200, Backend::cpu, threads).root, expected) << name << " on " << threads;
        }
    }
}

TEST(Training, golden_roots_on_the_reference) {
    EXPECT_EQ(train(mlp(), 200, Backend::reference, 2).root, golden()["mlp 200"]);
    EXPECT_EQ(train(cnn(), 200, Backend::reference, 2).root, golden()["cnn 200"]);
}

TEST(Training, the_loss_falls) {
    EXPECT_LT(train(mlp(), 200, Backend::cpu, 2).loss, 0.5f * train(mlp(), 1, Backend::cpu, 2).loss);
    EXPECT_LT(train(cnn(), 200, Backend::cpu, 2).loss, 0.8f * train(cnn(), 1, Backend::cpu, 2).loss);
}

TEST(Training, one_bit_of_one_weight_changes_the_root) {
    Recipe other = mlp();
    other.training.weight_decay = 0.010000001f;
    EXPECT_NE(train(mlp(), 3, Backend::cpu, 1).root, train(other, 3, Backend::cpu, 1).root);
}

}  // namespace
}  // namespace retrace::kernels
