// SPDX-License-Identifier: MIT
// Numbers of a training that no optimiser can work with, and layers larger than tensors may be.
#include <gmock/gmock.h>

#include <limits>

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

std::string refusal(float TrainingSpec::* field, float value) {
    TrainingSpec spec = small_training();
    spec.*field = value;
    const auto built = build_training(ModelSpec{}, spec, 4, 4);
    EXPECT_FALSE(built) << value;
    return built ? "" : built.error().message;
}

TEST(TrainingChecks, numbers_out_of_range_are_named) {
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

TEST(TrainingChecks, layers_of_too_many_numbers_are_refused) {
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

}  // namespace
}  // namespace retrace::kernels
