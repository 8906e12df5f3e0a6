// SPDX-License-Identifier: MIT
// Layers with their gradients, all compositions of primitive ops.
#pragma once

#include "kernels/builder/tape.hpp"

namespace retrace::kernels {

/// x[rows, in] · weight[out, in]ᵀ + bias[out] (the layout of torch.nn.Linear).
Value linear(Tape& tape, Value x, Value weight, std::optional<Value> bias, Precision precision);
/// The same plus a correction of low rank, x·downᵀ·upᵀ · (alpha / rank) for down[rank, in] and up[out, rank]
/// (LoRA, Hu et al., 2021): weight and bias are not trained, down and up are.
struct LowRank {
    Value down, up;
    float alpha = 1.0f;
};
Value lora_linear(Tape& tape, Value x, Value weight, std::optional<Value> bias, const LowRank& correction,
                  Precision precision);
Value relu(Tape& tape, Value x);
/// A reshape through which gradients pass.
Value view_as(Tape& tape, Value x, Dims dims);

struct Window {
    std::uint64_t height = 1, width = 1, stride = 1, padding = 0;
    std::optional<std::uint64_t> stride_across = {}, padding_across = {};  ///< Horizontal values, if they differ from
                                                                           ///< the vertical ones.
};
/// x[n, c, h, w], weight[out, c, kh, kw], bias[out] → [n, out, oh, ow]: windows times weights (contract 4.7).
Value conv2d(Tape& tape, Value x, Value weight, std::optional<Value> bias, std::uint64_t stride, std::uint64_t padding,
             Precision precision);
/// The same with separate vertical and horizontal strides and paddings; the window has the extents of the weight.
Value conv2d(Tape& tape, Value x, Value weight, std::optional<Value> bias, const Window& window, Precision precision);
/// Maximum of each window; the gradient goes to its first greatest element. +0 is greater than -0, as in the op; if
/// `zeros_are_equal`, the first zero of either sign gets the gradient, as in PyTorch.
Value max_pool2d(Tape& tape, Value x, const Window& window, bool zeros_are_equal = false);

/// Mean of each window; padding counts as zeros.
Value average_pool2d(Tape& tape, Value x, const Window& window);

struct BatchNorm {
    Value y;
    Value mean, variance;  ///< Statistics of this batch, [c]; the biased variance of the n·h·w values.
};
/// Normalises x[n, c, h, w] with the batch's statistics per channel (Ioffe and Szegedy, 2015); gain and shift [c].
BatchNorm batch_norm2d(Tape& tape, Value x, Value gain, Value shift, float epsilon = 1e-5f);
/// The same with given statistics (evaluation).
Value batch_norm2d_frozen(Graph& g, Value x, Value gain, Value shift, Value mean, Value variance,
                          float epsilon = 1e-5f);
/// Returns the unbiased estimate of the variance: the variance of `count` values times count / (count - 1).
Value unbiased(Graph& g, Value variance, std::uint64_t count);
/// Returns (1 - momentum) · buffer + momentum · current, the next value of a buffer of running statistics.
Value running_average(Graph& g, Value buffer, Value current, float momentum = 0.1f);

struct Loss {
    Value loss;             ///< Mean over the rows, rank 0.
    Value logits_gradient;  ///< (softmax − one-hot) / rows.
};
/// logits[rows, classes], labels int32 [rows, 1]. Rows whose `valid` (bool [rows, 1]) is false contribute nothing.
Loss softmax_cross_entropy(Graph& g, Value logits, Value labels, std::optional<Value> valid = std::nullopt);
/// Mean over all elements of (output - target)²; both [rows, cols] fp32.
Loss mean_squared_error(Graph& g, Value output, Value target, std::optional<Value> valid = std::nullopt);
/// Mean over all elements of the binary cross entropy of logits; targets in [0, 1].
Loss binary_cross_entropy(Graph& g, Value logits, Value target, std::optional<Value> valid = std::nullopt);

}  // namespace retrace::kernels
