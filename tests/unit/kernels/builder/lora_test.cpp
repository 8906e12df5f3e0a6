// SPDX-License-Identifier: MIT
// Training of low-rank corrections (LoRA): the computation, the state, and the tensors that a training changes.
#include <gmock/gmock.h>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/training.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/gradient_check.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;
using testing::noise;

TEST(LowRank, IsTheLinearLayerOfTheSumOfBothWeights) {
    constexpr std::uint64_t kRows = 5, kIn = 70, kOut = 33, kRank = 4;
    constexpr double kFactor = 10.0 / kRank;
    const Tensor x = noise({kRows, kIn}, 1), w = noise({kOut, kIn}, 2), b = noise({kOut}, 3),
                 down = noise({kRank, kIn}, 4), up = noise({kOut, kRank}, 5);
    Graph g;
    Tape tape(g);
    std::vector<Value> in;
    State state;
    for (const Tensor* tensor : {&x, &w, &b, &down, &up}) {
        in.push_back(g.state("t" + std::to_string(in.size()), DType::f32, tensor->dims));
        state.tensors.push_back(*tensor);
    }
    g.set_next(g.state("y", DType::f32, {kRows, kOut}),
               lora_linear(tape, in[0], in[1], in[2], {in[3], in[4], 10.0f}, Precision::f32));
    state.tensors.push_back(zeros(DType::f32, {kRows, kOut}));
    const Program program = *g.build();
    ThreadPool pool(1);
    Executor(program, pool).step(state, {});
    const Tensor& y = state.tensors.back();
    for (std::uint64_t row = 0; row < kRows; ++row) {
        for (std::uint64_t col = 0; col < kOut; ++col) {
            double sum = b.f32()[col];
            for (std::uint64_t k = 0; k < kIn; ++k) {
                double weight = w.f32()[col * kIn + k];
                for (std::uint64_t r = 0; r < kRank; ++r)
                    weight += kFactor * up.f32()[col * kRank + r] * down.f32()[r * kIn + k];
                sum += x.f32()[row * kIn + k] * weight;
            }
            EXPECT_NEAR(y.f32()[row * kOut + col], sum, 1e-4) << row << ", " << col;
        }
    }
}

ModelSpec small_gpt(std::uint64_t rank) {
    ModelSpec model;
    model.kind = "gpt";
    model.input = {8};
    model.classes = 17;
    model.width = 24;
    model.layers = 1;
    model.heads = 2;
    model.lora_rank = rank;
    model.lora_alpha = 8.0f;
    return model;
}

TrainingSpec short_training() {
    TrainingSpec training;
    training.samples = 12;
    training.batch = 4;
    training.learning_rate = 0.05f;
    return training;
}

bool is_correction(const std::string& name) { return name.find(".lora_") != std::string::npos; }

TEST(LowRank, OnlyTheCorrectionsAreTrainedAndHaveMoments) {
    const auto built = build_training(small_gpt(2), short_training(), 4, 4);
    ASSERT_TRUE(built) << built.error().message;
    int corrections = 0, frozen = 0;
    for (std::uint32_t i = 0; i < built->train.states; ++i) {
        const TensorRecord& record = built->train.tensors[i];
        EXPECT_EQ(record.writer != kNoWriter, is_correction(record.name)) << record.name;
        (is_correction(record.name) ? corrections : frozen) += 1;
    }
    EXPECT_EQ(corrections, 3 * 2 * 6);      // value and two moments; down and up; six linear layers
    EXPECT_EQ(frozen, 2 + 4 + 12 + 2 + 1);  // embeddings, norms of the block, its layers, the last norm, head
}

TEST(LowRank, BeginsWhereTheFrozenModelIsAndLearns) {
    const auto lora = build_training(small_gpt(2), short_training(), 4, 4);
    const auto whole = build_training(small_gpt(0), short_training(), 4, 4);
    ASSERT_TRUE(lora && whole);
    ThreadPool pool(1);
    Tensor x = zeros(DType::u8, {12, 8}), y = x;
    for (std::size_t i = 0; i < x.data.size(); ++i) {
        x.data[i] = static_cast<std::uint8_t>(i % 7);
        y.data[i] = static_cast<std::uint8_t>((i + 1) % 7);
    }
    const Inputs inputs{5, {&x, &y}};
    State state = run_initialiser(lora->init, 5, pool), start = state, plain = run_initialiser(whole->init, 5, pool);
    Executor executor(lora->train, pool), full(whole->train, pool);
    const float first = executor.step(state, inputs)[0].value;
    EXPECT_EQ(first, full.step(plain, inputs)[0].value) << "corrections begin as nothing";
    float last = first;
    for (int step = 0; step < 20; ++step) last = executor.step(state, inputs)[0].value;
    EXPECT_LT(last, 0.8f * first);
    for (std::uint32_t i = 0; i < lora->train.states; ++i) {
        const std::string& name = lora->train.tensors[i].name;
        EXPECT_EQ(state.tensors[i] != start.tensors[i], is_correction(name)) << name;
    }
    EXPECT_EQ(executor.trace(state, inputs), Executor(lora->train, pool, Backend::reference).trace(state, inputs));
}

TEST(LowRank, WhatItCannotBeIsRefusedByName) {
    const auto refusal = [](const ModelSpec& model) {
        const auto built = build_training(model, short_training(), 4, 4);
        return built ? "built" : built.error().message;
    };
    EXPECT_THAT(refusal(small_gpt(25)), HasSubstr("lora_rank is larger than width"));
    ModelSpec model = small_gpt(2);
    model.lora_alpha = 0.0f;
    EXPECT_THAT(refusal(model), HasSubstr("lora_alpha"));
    ModelSpec mlp;
    mlp.input = {4};
    mlp.lora_rank = 2;
    EXPECT_THAT(refusal(mlp), HasSubstr("lora_rank is for transformers"));
}

}  // namespace
}  // namespace retrace::kernels
