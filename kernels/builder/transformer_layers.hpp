// SPDX-License-Identifier: MIT
// Layers of transformers with their gradients, all compositions of primitive ops. Activations are [rows, width], one
// row per token, unless stated otherwise.
#pragma once

#include <string>

#include "kernels/builder/tape.hpp"

namespace retrace::kernels {

/// a + b, equal extents (residual connections).
Value sum(Tape& tape, Value a, Value b);
/// a · b, equal extents (gates).
Value product(Tape& tape, Value a, Value b);
/// x[rows, n] + v, where v has n elements and is added to every row.
Value add_row(Tape& tape, Value x, Value v);
/// Permutes x; `axes` are those of the primitive.
Value permuted(Tape& tape, Value x, std::vector<std::uint64_t> axes);

/// x/2 · (1 + erf(x/√2)) (Hendrycks and Gimpel, 2016).
Value gelu(Tape& tape, Value x);
/// x · sigmoid(x).
Value silu(Tape& tape, Value x);
/// Zero with probability `rate`, else x / (1 - rate); every step draws new numbers from the Philox stream.
Value dropout(Tape& tape, Value x, float rate, std::string stream);

/// Per row: (x - mean) / √(variance + ε) · gain + shift (Ba et al., 2016); gain and shift [width].
Value layer_norm(Tape& tape, Value x, Value gain, Value shift, float epsilon = 1e-5f);
/// Per row: x / √(mean of squares + ε) · gain (Zhang and Sennrich, 2019).
Value rms_norm(Tape& tape, Value x, Value gain, float epsilon = 1e-5f);

/// Returns the rows of table[n, width] at index int32 [rows]; the gradient is a scatter-add.
Value embedding(Tape& tape, Value table, Value index);

/// softmax(q·kᵀ / √depth)·v for q, k, v of [heads, tokens, depth] (heads of all batches); if `causal`, no token
/// attends to later ones.
Value attention(Tape& tape, Value q, Value k, Value v, bool causal, Precision precision);
/// Rotary positions (Su et al., 2021) on [heads, tokens, depth]: the two halves of `depth` are the coordinates of
/// planes, which are rotated by position · base^(-2i/depth). The angles are ops of the program, so no bit depends on a
/// libm.
Value rotary(Tape& tape, Value x, float base = 10000.0f);
/// [batch·tokens, width] → [batch·heads, tokens, width/heads], and its inverse.
Value split_heads(Tape& tape, Value x, std::uint64_t batch, std::uint64_t heads);
Value merge_heads(Tape& tape, Value x, std::uint64_t batch, std::uint64_t heads);
/// Mean over the tokens: [batch·tokens, width] → [batch, width].
Value mean_tokens(Tape& tape, Value x, std::uint64_t batch);

}  // namespace retrace::kernels
