// SPDX-License-Identifier: MIT
// Compares a GPT trained by low-rank corrections with a double-precision version (lora_reference.hpp): its loss, the
// gradients of both matrices of every correction, and the tensors that must not change.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/builder/training.hpp"
#include "kernels/exec/executor.hpp"
#include "tests/unit/kernels/gradient_check.hpp"
#include "tests/unit/kernels/lora_reference.hpp"

namespace retrace::kernels {
namespace {

using testing::ReferenceGpt;

constexpr std::uint64_t kTokens = 8, kVocabulary = 17, kBatch = 8;

/// Wide enough for digit slices: K is at least 72 in the forward products, 64 in the gradients of weights.
ModelSpec model() {
    ModelSpec spec;
    spec.kind = "gpt";
    spec.input = {kTokens};
    spec.classes = kVocabulary;
    spec.width = 72;
    spec.layers = 2;
    spec.heads = 3;
    spec.lora_rank = 3;
    spec.lora_alpha = 5.0f;
    return spec;
}

struct Run {
    Program program;
    State start, state;
    Tensor x = zeros(DType::u8, {kBatch, kTokens}), y = x;
    Inputs inputs{11, {&x, &y}};
    float loss = 0;  ///< Loss of the first step.
};

bool ends_with(const std::string& name, const std::string& end) {
    return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

/// Runs `steps` steps from nonzero corrections, so that both of their matrices have gradients.
std::unique_ptr<Run> run(TrainingSpec training, int steps, Backend backend = Backend::cpu) {
    training.samples = training.batch = kBatch;
    const auto programs = build_training(model(), training, kBatch, kBatch);
    EXPECT_TRUE(programs) << programs.error().message;
    auto out = std::make_unique<Run>();
    out->program = programs->train;
    for (std::size_t i = 0; i < out->x.data.size(); ++i) {
        out->x.data[i] = static_cast<std::uint8_t>((i * 7 + i / 5) % kVocabulary);
        out->y.data[i] = static_cast<std::uint8_t>((i * 5 + 3) % kVocabulary);
    }
    ThreadPool pool(2);
    out->start = run_initialiser(programs->init, 11, pool);
    for (std::uint32_t i = 0; i < out->program.states; ++i) {
        if (!ends_with(out->program.tensors[i].name, ".lora_up")) continue;
        Tensor& up = out->start.tensors[i];
        const Tensor noise = testing::noise(up.dims, i);
        for (std::uint64_t n = 0; n < up.elements(); ++n) up.f32()[n] = 0.1f * noise.f32()[n];
    }
    out->state = out->start;
    Executor executor(out->program, pool, backend);
    for (int step = 0; step < steps; ++step) {
        const float loss = executor.step(out->state, out->inputs)[0].value;
        if (step == 0) out->loss = loss;
    }
    return out;
}

ReferenceGpt reference_of(const Run& run) {
    const ModelSpec spec = model();
    ReferenceGpt out{kTokens, kVocabulary, spec.width, spec.layers, spec.heads, spec.lora_rank, spec.lora_alpha, {}};
    for (std::uint32_t i = 0; i < run.program.states; ++i) {
        const Tensor& tensor = run.start.tensors[i];
        std::vector<double>& values = out.tensors[run.program.tensors[i].name];
        for (std::uint64_t n = 0; n < tensor.elements(); ++n) values.push_back(tensor.f32()[n]);
    }
    return out;
}

struct Bounds {
    Precision precision;
    double loss, gradient;  ///< Relative errors; for gradients, of a whole matrix.
};

class LowRankAgreement : public ::testing::TestWithParam<Bounds> {};

TEST_P(LowRankAgreement, LossAndGradientsAreThoseOfDoublePrecision) {
    TrainingSpec training;
    training.optimizer = Optimizer::sgd;  // its first momentum is the gradient itself
    training.precision = GetParam().precision;
    const auto ours = run(training, 1);
    ReferenceGpt reference = reference_of(*ours);
    EXPECT_NEAR(ours->loss / reference.loss(ours->x.data, ours->y.data), 1, GetParam().loss);
    int matrices = 0;
    for (std::uint32_t i = 0; i < ours->program.states; ++i) {
        const std::string& name = ours->program.tensors[i].name;
        if (!ends_with(name, ".momentum")) continue;
        const std::string matrix = name.substr(0, name.size() - 9);
        const Tensor& gradient = ours->state.tensors[i];
        double error = 0, size = 0;
        for (std::uint64_t n = 0; n < gradient.elements(); n += 1 + gradient.elements() / 5) {
            const double expected = reference.slope(matrix, n, ours->x.data, ours->y.data);
            error += std::pow(gradient.f32()[n] - expected, 2);
            size += expected * expected;
        }
        EXPECT_LT(std::sqrt(error / size), GetParam().gradient) << matrix;
        ++matrices;
    }
    EXPECT_EQ(matrices, 2 * 2 * 6) << "down and up of six linear layers in two blocks";
}

INSTANTIATE_TEST_SUITE_P(Precisions, LowRankAgreement,
                         ::testing::Values(Bounds{Precision::f32, 1e-6, 1e-5}, Bounds{Precision::i8x3, 1e-6, 1e-4},
                                           Bounds{Precision::i8x2, 1e-4, 1e-2}),
                         [](const auto& info) { return "p" + std::to_string(static_cast<int>(info.param.precision)); });

TEST(LowRank, DecayClippingAndScheduleLeaveEveryBitOfTheFrozenWeights) {
    TrainingSpec training;
    training.weight_decay = 0.1f;
    training.clip_norm = 0.5f;
    training.schedule = "cosine";
    training.steps = 4;
    training.learning_rate = 0.02f;
    const auto ours = run(training, 4);
    for (std::uint32_t i = 0; i < ours->program.states; ++i) {
        const std::string& name = ours->program.tensors[i].name;
        const bool correction = name.find(".lora_") != std::string::npos;
        EXPECT_EQ(ours->state.tensors[i].data != ours->start.tensors[i].data, correction) << name;
    }
    EXPECT_EQ(run(training, 4, Backend::reference)->state, ours->state);
}

}  // namespace
}  // namespace retrace::kernels
