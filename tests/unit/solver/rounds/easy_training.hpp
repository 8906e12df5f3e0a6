// SPDX-License-Identifier: MIT
// An easy training for groups of one process.
#pragma once

#include <gtest/gtest.h>

#include "kernels/builder/models.hpp"
#include "kernels/builder/rounds.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::solver {

/// Class 1 if the first half of the pixels is brighter than the second.
class EasyTraining : public ::testing::Test {
protected:
    static constexpr std::uint64_t kSamples = 256, kPixels = 16;

    EasyTraining() {
        x_ = kernels::zeros(kernels::DType::u8, {kSamples, kPixels});
        y_ = kernels::zeros(kernels::DType::u8, {kSamples});
        std::uint32_t word = 12345;
        for (std::uint64_t i = 0; i < kSamples; ++i) {
            std::uint32_t halves[2] = {0, 0};
            for (std::uint64_t p = 0; p < kPixels; ++p) {
                word = word * 1664525 + 1013904223;
                x_.data[i * kPixels + p] = static_cast<std::uint8_t>(word >> 24);
                halves[2 * p / kPixels] += word >> 24;
            }
            y_.data[i] = halves[0] > halves[1] ? 1 : 0;
        }
        model_.hidden = {32};
        model_.input = {kPixels};
        model_.classes = 2;
        training_.samples = kSamples;
        training_.batch = 32;
        training_.steps = 400;
        training_.learning_rate = 3e-3f;
        programs_ = kernels::build_training(model_, training_, kSamples, kSamples).value();
        spec_.inner = 5;
    }

    kernels::Tensor x_, y_;
    kernels::ModelSpec model_;
    kernels::TrainingSpec training_;
    kernels::TrainingPrograms programs_;
    kernels::RoundsSpec spec_;
    kernels::ThreadPool pool_{2};
};

}  // namespace retrace::solver
