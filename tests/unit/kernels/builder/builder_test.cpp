// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/optimizer.hpp"
#include "kernels/builder/training.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/gradient_check.hpp"

namespace retrace::kernels {
namespace {

using testing::expect_gradients;
using testing::gradient_program;
using testing::GradientProgram;
using ::testing::HasSubstr;
using testing::noise;

TEST(Gradients, OfLinearLayersAndRelu) {
    expect_gradients({{4, 9}, {12, 9}, {12}, {5, 12}}, [](Tape& tape, const std::vector<Value>& p) {
        return linear(tape, relu(tape, linear(tape, p[0], p[1], p[2], Precision::f32)), p[3], std::nullopt,
                      Precision::f32);
    });
}

TEST(Gradients, OfLowRankCorrections) {
    expect_gradients({{4, 9}, {12, 9}, {12}, {3, 9}, {12, 3}}, [](Tape& tape, const std::vector<Value>& p) {
        return lora_linear(tape, p[0], p[1], p[2], {p[3], p[4], 6.0f}, Precision::f32);
    });
}

TEST(Gradients, OfConvolution) {
    expect_gradients({{2, 3, 6, 5}, {4, 3, 3, 3}, {4}}, [](Tape& tape, const std::vector<Value>& p) {
        return view_as(tape, conv2d(tape, p[0], p[1], p[2], 2, 1, Precision::f32), {2, 36});
    });
}

TEST(Gradients, OfOverlappingMaximumPooling) {
    expect_gradients({{2, 2, 7, 7}}, [](Tape& tape, const std::vector<Value>& p) {
        return view_as(tape, max_pool2d(tape, p[0], {3, 3, 2, 1}), {2, 32});
    });
}

TEST(Gradients, OfAveragePooling) {
    expect_gradients({{2, 2, 5, 5}}, [](Tape& tape, const std::vector<Value>& p) {
        return view_as(tape, average_pool2d(tape, p[0], {3, 3, 2, 1}), {2, 18});
    });
}

TEST(Gradients, OfBatchNorm) {
    expect_gradients({{3, 2, 3, 3}, {2}, {2}}, [](Tape& tape, const std::vector<Value>& p) {
        return view_as(tape, batch_norm2d(tape, p[0], p[1], p[2]).y, {3, 18});
    });
}

TEST(BatchNorm, HasMeanZeroAndTheFrozenFormWithTheSameStatisticsHasTheSameBits) {
    Graph g;
    Tape tape(g);
    const Value x = g.state("x", DType::f32, {4, 2, 3, 3}), frozen = g.state("frozen", DType::f32, {4, 2, 3, 3});
    const Value gain = g.constant(DType::f32, {2}, {0, 0, 128, 63, 0, 0, 0, 64}), shift = fill(g, 0.0f, {2});
    const BatchNorm norm = batch_norm2d(tape, x, gain, shift);
    g.set_next(x, norm.y);
    g.set_next(frozen, batch_norm2d_frozen(g, x, gain, shift, norm.mean, norm.variance));
    const Program program = *g.build();
    ThreadPool pool(1);
    State state{0, {noise({4, 2, 3, 3}, 1), zeros(DType::f32, {4, 2, 3, 3})}};
    Executor(program, pool).step(state, {});
    EXPECT_EQ(state.tensors[0], state.tensors[1]);
    double sums[2] = {}, squares[2] = {};
    for (std::uint64_t i = 0; i < state.tensors[0].elements(); ++i) {
        const double value = state.tensors[0].f32()[i];
        sums[i / 9 % 2] += value;
        squares[i / 9 % 2] += value * value;
    }
    EXPECT_NEAR(sums[0], 0, 1e-4);
    EXPECT_NEAR(squares[0] / 36, 1, 1e-3);
    EXPECT_NEAR(squares[1] / 36, 4, 4e-3);
}

TEST(Gradients, OfGeluAndSilu) {
    expect_gradients({{4, 5}}, [](Tape& tape, const std::vector<Value>& p) { return gelu(tape, p[0]); });
    expect_gradients({{4, 5}}, [](Tape& tape, const std::vector<Value>& p) { return silu(tape, p[0]); });
}

TEST(Gradients, OfLayerNormAndRmsNorm) {
    expect_gradients({{4, 7}, {7}, {7}},
                     [](Tape& tape, const std::vector<Value>& p) { return layer_norm(tape, p[0], p[1], p[2]); });
    expect_gradients({{4, 7}, {7}}, [](Tape& tape, const std::vector<Value>& p) { return rms_norm(tape, p[0], p[1]); });
}

TEST(Gradients, OfAttention) {
    for (const bool causal : {false, true}) {
        expect_gradients({{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, [=](Tape& tape, const std::vector<Value>& p) {
            return view_as(tape, attention(tape, p[0], p[1], p[2], causal, Precision::f32), {4, 6});
        });
    }
}

TEST(Gradients, OfHeadsAndRotaryPositions) {
    expect_gradients({{6, 8}}, [](Tape& tape, const std::vector<Value>& p) {
        return merge_heads(tape, rotary(tape, split_heads(tape, p[0], 2, 2)), 2, 2);
    });
}

TEST(Gradients, OfEmbeddingsPositionsGatesAndMeans) {
    expect_gradients({{5, 6}, {4, 6}}, [](Tape& tape, const std::vector<Value>& p) {
        Graph& g = tape.graph();
        const Value index = g.constant(DType::i32, {8}, [] {
            Bytes bytes;
            for (const std::uint8_t token : {0, 3, 3, 4, 1, 0, 3, 2}) bytes.insert(bytes.end(), {token, 0, 0, 0});
            return bytes;
        }());
        const Value x = view_as(tape, embedding(tape, p[0], index), {2, 24});
        const Value y = view_as(tape, add_row(tape, x, p[1]), {8, 6});
        return mean_tokens(tape, sum(tape, y, product(tape, y, y)), 2);
    });
}

TEST(Gradients, OfDropout) {
    expect_gradients({{6, 6}}, [](Tape& tape, const std::vector<Value>& p) { return dropout(tape, p[0], 0.4f, "d"); });
}

TEST(Rotary, TurnsPositionsByTheirAngles) {
    Graph g;
    Tape tape(g);
    const Value x = g.state("x", DType::f32, {1, 3, 4});
    g.set_next(x, rotary(tape, x));
    const Program program = *g.build();
    ThreadPool pool(1);
    State state{0, {noise({1, 3, 4}, 1)}};
    const Tensor before = state.tensors[0];
    Executor(program, pool).step(state, {});
    for (int t = 0; t < 3; ++t) {
        for (int i = 0; i < 2; ++i) {
            const double angle = t * std::pow(10000.0, -i / 2.0);
            const double a = before.f32()[4 * t + i], b = before.f32()[4 * t + 2 + i];
            EXPECT_NEAR(state.tensors[0].f32()[4 * t + i], a * std::cos(angle) - b * std::sin(angle), 1e-6);
            EXPECT_NEAR(state.tensors[0].f32()[4 * t + 2 + i], b * std::cos(angle) + a * std::sin(angle), 1e-6);
        }
    }
}

TEST(Optimizer, ClippingScalesAllGradientsToTheNorm) {
    Graph g;
    TrainingSpec spec;
    spec.optimizer = Optimizer::sgd;
    spec.learning_rate = 1.0f;
    spec.clip_norm = 1.0f;
    const Value a = g.state("a", DType::f32, {1}), b = g.state("b", DType::f32, {1});
    add_optimizer(g, spec, {{"a", a, fill(g, 3.0f, {1})}, {"b", b, fill(g, 4.0f, {1})}});
    const Program program = *g.build();
    ThreadPool pool(1);
    State state;
    for (std::uint32_t i = 0; i < program.states; ++i) state.tensors.push_back(zeros(DType::f32, {1}));
    Executor(program, pool).step(state, {});
    EXPECT_NEAR(state.tensors[0].f32()[0], -0.6, 1e-6);
    EXPECT_NEAR(state.tensors[1].f32()[0], -0.8, 1e-6);
}

TEST(Gradients, AddUpWhereAValueIsUsedTwiceAndAreZeroWhereItIsNotUsed) {
    const GradientProgram checked = gradient_program({{3, 4}, {4, 4}, {7}}, [](Tape& tape,
                                                                               const std::vector<Value>& p) {
        return linear(tape, linear(tape, p[0], p[1], std::nullopt, Precision::f32), p[1], std::nullopt, Precision::f32);
    });
    ThreadPool pool(1);
    State state = checked.state;
    Executor(checked.program, pool).step(state, {});
    EXPECT_EQ(state.tensors[2], zeros(DType::f32, {7}));
    expect_gradients({{3, 4}, {4, 4}}, [](Tape& tape, const std::vector<Value>& p) {
        return linear(tape, linear(tape, p[0], p[1], std::nullopt, Precision::f32), p[1], std::nullopt, Precision::f32);
    });
}

TEST(CrossEntropy, IgnoresRowsThatAreNotValid) {
    Graph g;
    const Value logits = g.state("logits", DType::f32, {2, 3});
    const Value labels = g.constant(DType::i32, {2, 1}, {2, 0, 0, 0, 1, 0, 0, 0});
    const Loss loss = softmax_cross_entropy(g, logits, labels, g.constant(DType::boolean, {2, 1}, {1, 0}));
    g.set_metric(loss.loss, "loss");
    g.set_next(logits, loss.logits_gradient);
    const Program program = *g.build();
    ThreadPool pool(1);
    State state{0, {noise({2, 3}, 1)}};
    const float* x = state.tensors[0].f32();
    const double total = std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2]);
    const double expected = (std::log(total) - x[2]) / 2;
    const double slope = (std::exp(x[2]) / total - 1) / 2;
    Executor executor(program, pool);
    EXPECT_NEAR(executor.step(state, {})[0].value, expected, 1e-6);
    EXPECT_NEAR(state.tensors[0].f32()[2], slope, 1e-6);
    for (int i = 3; i < 6; ++i) EXPECT_EQ(state.tensors[0].f32()[i], 0.0f);
}

/// Learning rates of the first steps.
std::vector<float> rates(const TrainingSpec& spec, int steps) {
    Graph g;
    const Value rate = learning_rate(g, spec);
    g.set_metric(g.op(OpCode::max, {rate, g.scalar(0.0f)}), "rate");
    const Program program = *g.build();
    ThreadPool pool(1);
    Executor executor(program, pool);
    State state;
    std::vector<float> out;
    for (int i = 0; i < steps; ++i) out.push_back(executor.step(state, {})[0].value);
    return out;
}

TEST(Schedule, WarmsUpLinearlyAndDecaysAsACosine) {
    TrainingSpec spec;
    spec.learning_rate = 0.5f;
    EXPECT_THAT(rates(spec, 2), ::testing::ElementsAre(0.5f, 0.5f));
    spec.warmup_steps = 4;
    spec.steps = 12;
    EXPECT_THAT(rates(spec, 6), ::testing::ElementsAre(0.125f, 0.25f, 0.375f, 0.5f, 0.5f, 0.5f));
    spec.schedule = "cosine";
    const std::vector<float> cosine = rates(spec, 14);
    for (int t = 4; t <= 12; ++t) {
        EXPECT_NEAR(cosine[static_cast<std::size_t>(t)], 0.25 * (1 + std::cos(3.14159265358979 * (t - 4) / 8)), 1e-6)
            << t;
    }
    EXPECT_EQ(cosine[13], cosine[12]);
}

/// Two steps of an optimiser on one parameter whose gradient is the parameter itself.
std::vector<float> two_steps(const TrainingSpec& spec, float start) {
    Graph g;
    const Value p = g.state("p", DType::f32, {1});
    add_optimizer(g, spec, {{"p", p, g.op(OpCode::mul, {p, g.scalar(1.0f)})}});
    const Program program = *g.build();
    ThreadPool pool(1);
    Executor executor(program, pool);
    State state;
    for (std::uint32_t i = 0; i < program.states; ++i) state.tensors.push_back(zeros(DType::f32, {1}));
    state.tensors[0].f32()[0] = start;
    executor.step(state, {});
    executor.step(state, {});
    std::vector<float> out;
    for (const Tensor& tensor : state.tensors) out.push_back(tensor.f32()[0]);
    return out;
}

TEST(Optimizer, AdamwFollowsItsFormulas) {
    TrainingSpec spec;
    spec.learning_rate = 0.1f;
    spec.weight_decay = 0.2f;
    double p = 3, m = 0, v = 0;
    for (int t = 1; t <= 2; ++t) {
        const double gradient = p;
        m = 0.9 * m + 0.1 * gradient;
        v = 0.999 * v + 0.001 * gradient * gradient;
        p = p * (1 - 0.1 * 0.2) - 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    }
    const std::vector<float> found = two_steps(spec, 3.0f);
    EXPECT_NEAR(found[0], p, 1e-5);
    EXPECT_NEAR(found[1], m, 1e-6);
    EXPECT_NEAR(found[2], v, 1e-6);
}

TEST(Optimizer, SgdWithMomentumFollowsItsFormulas) {
    TrainingSpec spec;
    spec.optimizer = Optimizer::sgd;
    spec.learning_rate = 0.1f;
    spec.weight_decay = 0.5f;
    double p = 2, velocity = 0;
    for (int t = 1; t <= 2; ++t) {
        velocity = 0.9 * velocity + p + 0.5 * p;
        p -= 0.1 * velocity;
    }
    const std::vector<float> found = two_steps(spec, 2.0f);
    EXPECT_NEAR(found[0], p, 1e-6);
    EXPECT_NEAR(found[1], velocity, 1e-6);
}

TEST(BuildTraining, ProgramsShareTheirStateTensorsAndFollowThePrecisionPolicy) {
    TrainingSpec training;
    training.samples = 1000;
    const Result<TrainingPrograms> built = build_training({}, training, 100, 30);
    ASSERT_TRUE(built) << built.error().message;
    ASSERT_EQ(built->train.states, 12u);  // two layers, weight and bias, each with two moments
    for (std::uint32_t i = 0; i < 12; ++i) {
        EXPECT_EQ(built->train.tensors[i].name, built->init.tensors[i].name);
        EXPECT_EQ(built->train.tensors[i].dims, built->init.tensors[i].dims);
        EXPECT_EQ(built->train.tensors[i].name, built->eval.tensors[i].name);
        EXPECT_NE(built->train.tensors[i].writer, kNoWriter);
        EXPECT_NE(built->init.tensors[i].writer, kNoWriter);
        EXPECT_EQ(built->eval.tensors[i].writer, kNoWriter);
    }
    std::vector<std::uint64_t> precisions;
    for (const OpRecord& op : built->train.ops) {
        if (op.code == OpCode::matmul) precisions.push_back(op.attributes[0]);
    }
    // Layer, head; then the head's input gradient (K = 10: f32), its weight gradient, the layer's weight gradient.
    EXPECT_THAT(precisions, ::testing::ElementsAre(3, 4, 1, 4, 3));
}

std::string refusal(const ModelSpec& model, const TrainingSpec& training, std::uint64_t eval_samples = 10,
                    std::uint64_t eval_batch = 5) {
    const auto built = build_training(model, training, eval_samples, eval_batch);
    return built ? "built" : built.error().message;
}

TEST(BuildTraining, NamesTheFieldThatIsWrong) {
    TrainingSpec good;
    good.samples = 1000;
    ASSERT_EQ(refusal({}, good), "built");
    ModelSpec model;
    model.kind = "perceptron";
    EXPECT_THAT(refusal(model, good), HasSubstr("model kind \"perceptron\" unknown"));
    model = {};
    model.input = {1, 0, 28};
    EXPECT_THAT(refusal(model, good), HasSubstr("input"));
    model = {};
    model.hidden = {0};
    EXPECT_THAT(refusal(model, good), HasSubstr("hidden"));
    model = {};
    model.kind = "gpt";
    model.input = {1, 28, 28};
    EXPECT_THAT(refusal(model, good), HasSubstr("number of tokens"));
    model.input = {16};
    model.heads = 5;
    EXPECT_THAT(refusal(model, good), HasSubstr("heads"));
    model = {};
    model.kind = "vit";
    model.patch = 5;
    EXPECT_THAT(refusal(model, good), HasSubstr("patch"));
    model = {};
    model.kind = "lenet";
    model.input = {784};
    EXPECT_THAT(refusal(model, good), HasSubstr("lenet"));
    TrainingSpec bad = good;
    bad.batch = 1001;
    EXPECT_THAT(refusal({}, bad), HasSubstr("batch"));
    bad = good;
    bad.samples = 0;
    EXPECT_THAT(refusal({}, bad), HasSubstr("samples"));
    bad = good;
    bad.schedule = "linear";
    EXPECT_THAT(refusal({}, bad), HasSubstr("schedule \"linear\" unknown"));
    EXPECT_THAT(refusal({}, good, 0, 5), HasSubstr("eval_samples"));
    EXPECT_THAT(refusal({}, good, 10, 11), HasSubstr("eval_batch"));
}

}  // namespace
}  // namespace retrace::kernels
