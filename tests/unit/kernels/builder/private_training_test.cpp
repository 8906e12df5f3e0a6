// SPDX-License-Identifier: MIT
// Trainings with differential privacy, beside the gradients of single examples.
#include "kernels/builder/private_training.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/exec/executor.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSamples = 8, kPixels = 12;

class PrivateTraining : public ::testing::Test {
protected:
    PrivateTraining() {
        std::uint32_t word = 99;
        for (Tensor* tensor : {&x_, &y_})
            for (std::uint8_t& byte : tensor->data) {
                word = word * 1664525 + 1013904223;
                byte = static_cast<std::uint8_t>((word >> 24) % (tensor == &y_ ? 3 : 256));
            }
        for (std::uint64_t i = 0; i < 8; ++i) reinterpret_cast<std::int32_t*>(key_.data.data())[i] = 7;
        model_.hidden = {10, 6};
        model_.input = {kPixels};
        model_.classes = 3;
        training_.samples = kSamples;
        training_.batch = kSamples;
        training_.order = DataOrder::sequential;
        training_.optimizer = Optimizer::sgd;
        training_.momentum = 0.0f;
        training_.learning_rate = 1.0f;
        training_.precision = Precision::f32;
    }
    TrainingPrograms programs(const PrivateSpec& terms) const {
        return build_private_training(model_, training_, terms, kSamples, kSamples).value();
    }
    /// The parameters' changes in step `step` of the first state.
    std::vector<std::vector<double>> changes(const Program& train, const Program& init, std::uint64_t step, bool key) {
        State state = run_initialiser(init, 5, pool_);
        const State before = state;
        state.step = step;
        Inputs inputs{5, {&x_, &y_}};
        if (key) inputs.datasets.push_back(&key_);
        Executor(train, pool_).step(state, inputs);
        std::vector<std::vector<double>> out;
        for (std::size_t t = 0; t < state.tensors.size(); ++t) {
            out.emplace_back();
            for (std::uint64_t e = 0; e < state.tensors[t].elements(); ++e)
                out.back().push_back(double{before.tensors[t].f32()[e]} - double{state.tensors[t].f32()[e]});
        }
        return out;
    }

    Tensor x_ = zeros(DType::u8, {kSamples, kPixels}), y_ = zeros(DType::u8, {kSamples}), key_ = zeros(DType::i32, {8});
    ModelSpec model_;
    TrainingSpec training_;
    ThreadPool pool_{1};
};

double norm(const std::vector<std::vector<double>>& x) {
    double out = 0;
    for (const auto& part : x)
        for (const double value : part) out += value * value;
    return std::sqrt(out);
}

TEST_F(PrivateTraining, EachExampleIsScaledToTheClipNorm) {
    TrainingSpec one = training_;
    one.batch = 1;
    const TrainingPrograms single = build_training(model_, one, kSamples, kSamples).value();
    std::vector<std::vector<std::vector<double>>> examples;
    double least = 1e9, greatest = 0;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        examples.push_back(changes(single.train, single.init, i, false));
        least = std::min(least, norm(examples.back()));
        greatest = std::max(greatest, norm(examples.back()));
    }
    ASSERT_LT(least, 0.9 * greatest);
    for (const double clip : {least / 2, (least + greatest) / 2, 2 * greatest}) {
        const TrainingPrograms made = programs({static_cast<float>(clip), 0.0f});
        EXPECT_EQ(made.train.datasets, 2u);
        const auto found = changes(made.train, made.init, 0, false);
        for (std::size_t t = 0; t < found.size(); ++t)
            for (std::size_t e = 0; e < found[t].size(); ++e) {
                double wanted = 0;
                for (const auto& example : examples) wanted += example[t][e] * std::min(1.0, clip / norm(example));
                EXPECT_NEAR(found[t][e], wanted / kSamples, 1e-5) << clip << ": tensor " << t << ", element " << e;
            }
    }
}

TEST_F(PrivateTraining, NoiseIsNormalAndFollowsFromKeyAndStep) {
    model_.hidden = {400};
    const PrivateSpec silent{0.5f, 0.0f}, noisy{0.5f, 3.0f};
    const TrainingPrograms plain = programs(silent), made = programs(noisy);
    const auto without = changes(plain.train, plain.init, 0, false), with = changes(made.train, made.init, 0, true);
    double sum = 0, squares = 0, fourth = 0, count = 0;
    for (std::size_t t = 0; t < with.size(); ++t)
        for (std::size_t e = 0; e < with[t].size(); ++e) {
            const double noise = (with[t][e] - without[t][e]) * kSamples / (3.0 * 0.5);
            sum += noise;
            squares += noise * noise;
            fourth += noise * noise * noise * noise;
            ++count;
        }
    // Five deviations of each mean.
    EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
    EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
    EXPECT_NEAR(fourth / count, 3, 5 * std::sqrt(96 / count));
    EXPECT_EQ(changes(made.train, made.init, 0, true), with);
    EXPECT_NE(changes(made.train, made.init, 1, true), with);
    reinterpret_cast<std::int32_t*>(key_.data.data())[7] = 8;
    EXPECT_NE(changes(made.train, made.init, 0, true), with);
}

TEST_F(PrivateTraining, WhatHasNoExactNormsIsRefused) {
    const auto refusal = [&](const ModelSpec& model, const TrainingSpec& training, const PrivateSpec& terms) {
        const auto made = build_private_training(model, training, terms, kSamples, kSamples);
        return made ? "" : made.error().message;
    };
    ModelSpec other = model_;
    other.kind = "lenet";
    EXPECT_THAT(refusal(other, training_, {}), HasSubstr("model mlp"));
    TrainingSpec loss = training_;
    loss.loss = LossKind::mse;
    EXPECT_THAT(refusal(model_, loss, {}), HasSubstr("cross_entropy"));
    for (const float value : {0.0f, -1.0f, NAN, INFINITY})
        EXPECT_THAT(refusal(model_, training_, {value, 1.0f}), HasSubstr("clip")) << value;
    for (const float value : {-1.0f, NAN, INFINITY})
        EXPECT_THAT(refusal(model_, training_, {1.0f, value}), HasSubstr("noise")) << value;
}

}  // namespace
}  // namespace retrace::kernels
