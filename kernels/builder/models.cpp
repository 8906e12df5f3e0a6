// SPDX-License-Identifier: MIT
#include "kernels/builder/models.hpp"

#include <numeric>

#include "kernels/builder/declare.hpp"

namespace retrace::kernels {
namespace {

Value flatten(Tape& tape, Value x) {
    const Dims& dims = tape.graph().dims(x);
    const std::uint64_t width = std::accumulate(dims.begin() + 1, dims.end(), std::uint64_t{1}, std::multiplies<>());
    return view_as(tape, x, {dims[0], width});
}

Value build_mlp(Declarer& declare, const ModelSpec& spec, Value x, Precision precision) {
    Tape& tape = declare.tape();
    x = flatten(tape, x);
    std::size_t layer = 1;
    for (const std::uint64_t width : spec.hidden) {
        x = relu(tape, declare.linear("fc" + std::to_string(layer++), x, width, precision));
    }
    return declare.linear("fc" + std::to_string(layer), x, spec.classes, head_precision(precision));
}

/// LeNet-5 (LeCun et al., 1998) with ReLU and maximum pooling: two convolutions of 5×5, three linear layers.
Value build_lenet(Declarer& declare, const ModelSpec& spec, Value x, Precision precision) {
    Tape& tape = declare.tape();
    const Window halves{2, 2, 2, 0};
    x = max_pool2d(tape, relu(tape, declare.conv("conv1", x, 6, 5, 2, precision)), halves);
    x = max_pool2d(tape, relu(tape, declare.conv("conv2", x, 16, 5, 0, precision)), halves);
    x = flatten(tape, x);
    x = relu(tape, declare.linear("fc1", x, 120, precision));
    x = relu(tape, declare.linear("fc2", x, 84, precision));
    return declare.linear("fc3", x, spec.classes, head_precision(precision));
}

constexpr std::uint64_t kWidthMax = 1 << 20;  ///< Maximum of each extent of a built-in model.

bool is_transformer(const ModelSpec& spec) { return is_token_model(spec) || spec.kind == "vit"; }

}  // namespace

bool is_token_model(const ModelSpec& spec) { return spec.kind == "gpt" || spec.kind == "llama"; }

Status<> check_model(const ModelSpec& spec) {
    if (spec.kind != "mlp" && spec.kind != "lenet" && spec.kind != "resnet" && !is_transformer(spec)) {
        return error("model kind \"" + spec.kind + "\" unknown");
    }
    if (spec.classes < 2 || spec.classes > kWidthMax) return error("model classes out of range");
    if (spec.input.empty() || spec.input.size() > 4) return error("model input takes 1 to 4 extents");
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : spec.input) {
        if (extent == 0 || extent > kWidthMax) return error("model input has an extent out of range");
        elements *= extent;
        if (elements > kWidthMax * 64) return error("model input has too many elements");
    }
    if (spec.hidden.size() > 64) return error("model hidden takes at most 64 layers");
    for (const std::uint64_t width : spec.hidden) {
        if (width == 0 || width > kWidthMax) return error("model hidden has a width out of range");
    }
    if (spec.kind == "lenet" && (spec.input.size() != 3 || spec.input[1] < 12 || spec.input[2] < 12)) {
        return error("model input of lenet is channels, height, width, at least 12 pixels each way");
    }
    if (spec.kind == "resnet") {
        if (spec.input.size() != 3 || spec.input[1] < 4 || spec.input[2] < 4) {
            return error("model input of resnet is channels, height, width, at least 4 pixels each way");
        }
        if (spec.width == 0 || spec.width > 1024) return error("model width out of range");
        if (spec.layers == 0 || spec.layers > 64) return error("model layers out of range");
    }
    if (is_transformer(spec)) return check_transformer(spec);
    if (spec.lora_rank != 0) return error("model lora_rank is for transformers");
    return Unit{};
}

ModelOutput build_model(Tape& tape, const ModelSpec& spec, Value x, std::uint64_t batch, Precision precision,
                        bool training) {
    ModelOutput out;
    Declarer declare(tape, out, spec.lora_rank > 0);
    if (is_transformer(spec)) {
        out.logits = build_transformer(declare, spec, x, batch, precision);
    } else if (spec.kind == "resnet") {
        out.logits = build_resnet(declare, spec, x, precision, training);
    } else {
        out.logits =
            spec.kind == "mlp" ? build_mlp(declare, spec, x, precision) : build_lenet(declare, spec, x, precision);
    }
    return out;
}

}  // namespace retrace::kernels
