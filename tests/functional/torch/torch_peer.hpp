// SPDX-License-Identifier: MIT
// LibTorch for the tests: creates TorchScript files and trains them itself. Only torch_peer.cpp includes LibTorch's
// headers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace retrace::testing {

/// Creates one of these models as a TorchScript file with submodules and random weights.
/// "mlp", "cnn" (batch norm, pooling), "resnet", "vit", "lora" take images [1, 28, 28]; "gpt" takes tokens.
/// The others are for refusals: "branch" (control flow that depends on data), "noise", "sorting", "double", "tuple",
/// "nested", "no_parameters", "writes_file".
void make_model(const std::string& name, const std::filesystem::path& path);

struct PeerData {
    bool tokens = false;
    std::uint64_t samples = 0;
    std::vector<std::int64_t> sample;             ///< Extents of a sample.
    std::vector<float> x;                         ///< Images.
    std::vector<std::int64_t> tokens_in, labels;  ///< Tokens; a label for each sample, or for each token.
};
struct PeerTraining {
    bool adamw = true;
    double lr = 1e-3, momentum = 0.9, weight_decay = 0;
    std::uint64_t batch = 32, steps = 50;
    bool cosine = false;  ///< The rate falls to 0 over the steps: lr/2 · (1 + cos(π·step/steps)).
};
/// Returns the cross entropy of each step, with batches in file order. The trained model is written to `trained` unless
/// that is empty.
std::vector<double> train_model(const std::filesystem::path& path, const PeerData& data, const PeerTraining& training,
                                const std::filesystem::path& trained);
struct PeerResult {
    double loss = 0, accuracy = 0;
};
/// Evaluates in evaluation mode, `batch` samples at a time.
PeerResult evaluate_model(const std::filesystem::path& path, const PeerData& data, std::uint64_t batch);

/// A model around one op: y = x · scale + shift, then `body` (lines of TorchScript that change y; weights are
/// self.NAME), then a linear head with five classes.
struct OpModel {
    std::string name, body;
    std::vector<std::int64_t> sample;
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> weights;
};
void make_op_model(const OpModel& model, std::uint64_t batch, const std::filesystem::path& path);
/// Numbers in (-1, 1); the elements of a sample are all different.
std::vector<float> op_samples(std::uint64_t count);

struct PeerStep {
    double loss = 0, eval_loss = 0;  ///< Cross entropy of one batch in both modes, before training.
    std::map<std::string, std::vector<float>> gradients;
};
PeerStep step_of(const std::filesystem::path& path, const std::vector<std::int64_t>& sizes, const std::vector<float>& x,
                 const std::vector<std::int64_t>& labels);

}  // namespace retrace::testing
