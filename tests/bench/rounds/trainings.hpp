// SPDX-License-Identifier: MIT
// The trainings that bench_rounds compares: the same model, data and number of steps on one machine and in a group.
#pragma once

#include <string>

#include "kernels/builder/rounds.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "node/tasks/data/dataset.hpp"

namespace retrace::bench {

/// What is trained, and on what. The batch is that of one member; one machine takes those of all members in each step.
struct Recipe {
    kernels::ModelSpec model;
    kernels::TrainingSpec training;  ///< `samples` and `steps` are set below.
    node::DataSet data, test;
    std::uint64_t test_batch = 0;
    std::uint32_t members = 8;
};

/// The GPT of 137,000 parameters on the bytes of the King James Bible (Debian: bible-kjv), a tenth of it for the test.
/// Error: the text is missing.
Result<Recipe> text_recipe();
/// LeNet on Fashion-MNIST (Debian: dataset-fashion-mnist). Error: the images are missing.
Result<Recipe> image_recipe();

struct Score {
    double loss = 0, accuracy = 0;  ///< Over the test data.
};
/// Measures the model among the tensors of `state`, a state of the program `of`: those that `eval` has are found by name.
Score score(const node::DataSet& test, const kernels::Program& eval, const kernels::Program& of,
            const kernels::State& state, kernels::ThreadPool& pool);

/// Trains on one machine.
Score train_alone(const Recipe& recipe, std::uint64_t steps, std::uint64_t seed, kernels::ThreadPool& pool);
/// Trains on one machine for two thirds of the steps, and then in rounds of one step, whose messages are the greatest
/// values of gradients with `bits` bits each.
Score train_gradients(const Recipe& recipe, std::uint32_t bits, std::uint64_t steps, std::uint64_t seed,
                      kernels::ThreadPool& pool);
/// Trains the perceptron 784-128-10 on Fashion-MNIST in rounds of dense updates; each of 8 members has an eighth of the
/// images. If `epsilon` is not 0, with this differential privacy for one example at δ = 10^-5, each member adding noise of
/// its own. Error: the images are missing.
Result<Score> train_apart(double epsilon, std::uint64_t seed, kernels::ThreadPool& pool);
/// Trains in rounds of `spec.inner` steps. `lost` is the share of messages that no record takes.
Score train_group(const Recipe& recipe, const kernels::RoundsSpec& spec, std::uint64_t steps, std::uint64_t seed,
                  double lost, kernels::ThreadPool& pool);

}  // namespace retrace::bench
