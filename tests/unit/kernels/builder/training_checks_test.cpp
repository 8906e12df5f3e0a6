// SPDX-License-Identifier: MIT
// Training parameters that no optimiser can work with, and layers larger than tensors may be.
#include <gmock/gmock.h>

#include <limits>

#include "kernels/builder/models.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;

TrainingSpec small_training() {
    TrainingSpec out;
    out.samples = 8;
    out.batch = 4;
    out.steps = 2;
    return out;
}

std::string refusal(float TrainingSpec::*field, float value) {
    TrainingSpec spec = small_training();
    spec.*field = value;
    const auto built = build_training(ModelSpec{}, spec, 4, 4);
    EXPECT_FALSE(built) << value;
    return built ? "" : built.error().message;
}

TEST(TrainingChecks, NumbersOutOfRangeAreNamed) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    for (const float value : {0.0f, -1.0f, kNan, kInfinity}) {
        EXPECT_THAT(refusal(&TrainingSpec::learning_rate, value), HasSubstr("learning_rate"));
        EXPECT_THAT(refusal(&TrainingSpec::epsilon, value), HasSubstr("epsilon"));
    }
    for (const float value : {-0.5f, 1.0f, kNan, kInfinity}) {
        EXPECT_THAT(refusal(&TrainingSpec::momentum, value), HasSubstr("momentum"));
        EXPECT_THAT(refusal(&TrainingSpec::beta1, value), HasSubstr("beta1"));
        EXPECT_THAT(refusal(&TrainingSpec::beta2, value), HasSubstr("beta2"));
    }
    for (const float value : {-0.5f, kNan, kInfinity}) {
        EXPECT_THAT(refusal(&TrainingSpec::weight_decay, value), HasSubstr("weight_decay"));
        EXPECT_THAT(refusal(&TrainingSpec::clip_norm, value), HasSubstr("clip_norm"));
    }
    EXPECT_TRUE(build_training(ModelSpec{}, small_training(), 4, 4));
}

TEST(TrainingChecks, AParameterWithTheNameOfTheLossIsRefused) {
    ModelSource source = source_of(ModelSpec{}, Precision::f32);
    source.write = [inner = source.write](Tape& tape, Value x, std::uint64_t batch, bool training) {
        auto out = inner(tape, x, batch, training);
        if (out) out->parameters.back().name = kLossTensor;
        return out;
    };
    TrainingSpec spec = small_training();
    EXPECT_TRUE(build_training(source, spec, 4, 4)) << "no loss is kept";
    spec.keep_metrics = true;
    const auto built = build_training(source, spec, 4, 4);
    ASSERT_FALSE(built);
    EXPECT_THAT(built.error().message, HasSubstr("a parameter has the name metrics.loss"));
}

TEST(TrainingChecks, LayersOfTooManyNumbersAreRefused) {
    ModelSpec model;
    model.hidden = {1048576, 1048576};
    const auto wide = build_training(model, small_training(), 4, 4);
    ASSERT_FALSE(wide);
    EXPECT_THAT(wide.error().message, HasSubstr("more than 2^36 weights"));
    model.hidden = {1048576};
    TrainingSpec many = small_training();
    many.samples = many.batch = 1 << 20;
    const auto deep = build_training(model, many, 4, 4);
    ASSERT_FALSE(deep);
    EXPECT_THAT(deep.error().message, HasSubstr("batch makes more than 2^36 numbers"));
}

struct Architecture {
    const char* name;
    ModelSpec model;
    std::uint64_t widest;  ///< Numbers per sample in the widest op.
};

ModelSpec architecture(const std::string& kind, std::vector<std::uint64_t> input, std::uint64_t width,
                       std::uint64_t classes = 10) {
    ModelSpec out;
    out.kind = kind;
    out.input = std::move(input);
    out.width = width;
    out.classes = classes;
    out.heads = 4;
    out.layers = 1;
    return out;
}

/// The widest op is a different one in each architecture.
std::vector<Architecture> architectures() {
    ModelSpec wide = architecture("mlp", {4}, 0);
    wide.hidden = {1 << 20};
    return {{"mlp", wide, 1 << 20},
            {"lenet_first_windows", architecture("lenet", {3, 64, 64}, 0), 25 * 3 * 64 * 64},
            {"lenet_later_windows", architecture("lenet", {1, 128, 128}, 0), 150 * 60 * 60},
            {"lenet_classes", architecture("lenet", {1, 12, 12}, 0, 1 << 20), 1 << 20},
            {"resnet_channels", architecture("resnet", {1, 32, 32}, 64), 9 * 64 * 32 * 32},
            {"resnet_input", architecture("resnet", {512, 32, 32}, 8), 9 * 512 * 32 * 32},
            {"gpt_scores", architecture("gpt", {1024}, 16), 4 * 1024 * 1024},
            {"gpt_up", architecture("gpt", {64}, 4096), 64 * 4 * 4096},
            {"gpt_vocabulary", architecture("gpt", {64}, 64, 1 << 18), std::uint64_t{64} << 18},
            {"llama_gate", architecture("llama", {64}, 3072), 64 * 8 * 1024},
            {"vit_scores", architecture("vit", {3, 256, 256}, 16), std::uint64_t{4} * 4096 * 4096}};
}

/// A batch that is one too large is refused by name; the largest one that fits is built, though it may cost too much to
/// run.
TEST(TrainingChecks, BatchesOfTooManyNumbersAreRefusedInEveryArchitecture) {
    for (const auto& [name, model, widest] : architectures()) {
        SCOPED_TRACE(name);
        TrainingSpec spec = small_training();
        const std::uint64_t most = (std::uint64_t{1} << 36) / widest;
        spec.samples = spec.batch = most;
        const auto fits = build_training(model, spec, 4, 4);
        if (!fits) {
            EXPECT_THAT(fits.error().message, ::testing::Not(HasSubstr("2^36")));
        }
        const auto evaluated = build_training(model, small_training(), most, most);
        if (!evaluated) {
            EXPECT_THAT(evaluated.error().message, ::testing::Not(HasSubstr("2^36")));
        }
        spec.samples = spec.batch = most + 1;
        const auto over = build_training(model, spec, 4, 4);
        ASSERT_FALSE(over);
        EXPECT_EQ(over.error().message, "training batch makes more than 2^36 numbers in a layer");
        EXPECT_FALSE(build_training(model, small_training(), most + 1, most + 1));
    }
}

TEST(TrainingChecks, DataSetsOfTooManyNumbersAreRefused) {
    const ModelSpec model = architecture("lenet", {64, 1024, 1024}, 0);
    TrainingSpec spec = small_training();
    spec.samples = 1025;
    const char* const why = "training samples make a data set of more than 2^36 numbers";
    EXPECT_EQ(build_training(model, spec, 4, 4).error().message, why);
    EXPECT_EQ(build_training(model, small_training(), 1025, 4).error().message, why);
    spec.samples = 1024;
    EXPECT_TRUE(build_training(model, spec, 4, 4));
}

TEST(TrainingChecks, PatchesThatNoLayerReadsAreRefused) {
    ModelSpec model = architecture("vit", {1, 8192, 8192}, 16);
    model.patch = 8192;
    EXPECT_THAT(build_training(model, small_training(), 4, 4).error().message, HasSubstr("patch out of range"));
    model = architecture("vit", {64, 1024, 1024}, 1 << 12);
    model.patch = 1024;
    EXPECT_THAT(build_training(model, small_training(), 4, 4).error().message,
                HasSubstr("patch makes a layer of more than 2^36 weights"));
}

}  // namespace
}  // namespace retrace::kernels
