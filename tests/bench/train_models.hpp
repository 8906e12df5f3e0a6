// SPDX-License-Identifier: MIT
// The models of bench_train, ours and the peer's: one set of sizes for both.
#pragma once

#include <cstdint>

namespace retrace::bench {

/// A GPT over bytes: learned positions, layer norm before each part, GELU, an untied head without bias.
struct GptSizes {
    static constexpr std::uint64_t layers = 6, width = 384, heads = 6, tokens = 256, vocabulary = 256, batch = 16;
};

/// LeNet-5 with ReLU and maximum pooling on images of 28×28.
struct CnnSizes {
    static constexpr std::uint64_t side = 28, classes = 10, batch = 128;
};

inline constexpr float kLearningRate = 1e-3f, kWeightDecay = 0.01f;  ///< AdamW for both.

}  // namespace retrace::bench
