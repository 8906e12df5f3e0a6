// SPDX-License-Identifier: MIT
// Layers with their gradients, all compositions of primitive ops.
#pragma once

#include "kernels/builder/tape.hpp"

namespace retrace::kernels {

/// x[rows, in] · weight[out, in]ᵀ + bias[out] (the layout of torch.nn.Linear).
Value linear(Tape& tape, Value x, Value weight, std::optional<Value> bias, Precision precision);
Value relu(Tape& tape, Value x);
/// A reshape that gradients pass through.
Value view_as(Tape& tape, Value x, Dims dims);

struct Window {
    std::uint64_t height = 1, width = 1, stride = 1, padding = 0;
};
/// x[n, c, h, w], weight[out, c, kh, kw], bias[out] → [n, out, oh, ow]: windows times weights (NUMERICS 3).
Value conv2d(Tape& tape, Value x, Value weight, Value bias, std::uint64_t stride, std::uint64_t padding,
             Precision precision);
/// The gradient goes to the first greatest element of each window.
Value max_pool2d(Tape& tape, Value x, const Window& window);

struct Loss {
    Value loss;             ///< Mean over the rows, rank 0.
    Value logits_gradient;  ///< (softmax − one-hot) / rows.
};
/// logits[rows, classes], labels int32 [rows, 1]. Rows whose `valid` (bool [rows, 1]) is false count for nothing.
Loss softmax_cross_entropy(Graph& g, Value logits, Value labels, std::optional<Value> valid = std::nullopt);

}  // namespace retrace::kernels
