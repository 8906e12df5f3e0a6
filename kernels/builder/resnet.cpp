// SPDX-License-Identifier: MIT
// A small residual net for small images (He et al., 2016, section 4.2): a convolution, three stages of blocks of two
// convolutions each (each stage has twice the channels and half the image size of the one before), the mean of each
// channel, and a linear layer.
#include "kernels/builder/declare.hpp"
#include "kernels/builder/tensor_ops.hpp"
#include "kernels/builder/transformer_layers.hpp"

namespace retrace::kernels {
namespace {

class Resnet {
public:
    Resnet(Declarer& declare, Precision precision, bool training)
        : declare_(declare), tape_(declare.tape()), precision_(precision), training_(training) {}

    Value normal(const std::string& name, Value x) { return declare_.batch_norm(name, x, training_); }

    Value conv(const std::string& name, Value x, std::uint64_t channels, const Window& window) {
        return declare_.plain_conv(name, x, channels, window, precision_);
    }

    Value block(const std::string& name, Value x, std::uint64_t channels, std::uint64_t stride) {
        Value y = conv(name + ".conv1", x, channels, {3, 3, stride, 1});
        y = relu(tape_, normal(name + ".norm1", y));
        y = normal(name + ".norm2", conv(name + ".conv2", y, channels, {3, 3, 1, 1}));
        if (stride != 1) x = normal(name + ".norm3", conv(name + ".shortcut", x, channels, {1, 1, stride, 0}));
        return relu(tape_, sum(tape_, y, x));
    }

private:
    Declarer& declare_;
    Tape& tape_;
    const Precision precision_;
    const bool training_;
};

}  // namespace

Value build_resnet(Declarer& declare, const ModelSpec& spec, Value x, Precision precision, bool training) {
    constexpr std::uint64_t kStages = 3;
    Tape& tape = declare.tape();
    Resnet net(declare, precision, training);
    x = relu(tape, net.normal("norm", net.conv("conv", x, spec.width, {3, 3, 1, 1})));
    for (std::uint64_t stage = 0; stage < kStages; ++stage) {
        for (std::uint64_t i = 0; i < spec.layers; ++i) {
            const std::string name = "stage" + std::to_string(stage) + ".block" + std::to_string(i);
            x = net.block(name, x, spec.width << stage, stage > 0 && i == 0 ? 2 : 1);
        }
    }
    return declare.linear("head", mean_axes(tape, x, {2, 3}, false), spec.classes, head_precision(precision));
}

}  // namespace retrace::kernels
