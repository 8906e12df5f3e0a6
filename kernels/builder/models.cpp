// SPDX-License-Identifier: MIT
#include "kernels/builder/models.hpp"

#include <cmath>
#include <numeric>

namespace retrace::kernels {
namespace {

/// Declares parameters as layers ask for them. The bound is that of torch.nn.Linear and Conv2d: 1/√fan_in, for
/// weights (Kaiming-uniform with a = √5) and biases alike.
class Declarer {
public:
    explicit Declarer(Tape& tape, ModelOutput& out) : tape_(tape), out_(out) {}

    Value declare(std::string name, Dims dims, std::uint64_t fan_in) {
        // The square root is correctly rounded, so the constant is the same wherever the program is built.
        const float bound = 1.0f / std::sqrt(static_cast<float>(fan_in));
        out_.parameters.push_back({name, dims, bound});
        out_.values.push_back(tape_.graph().state(std::move(name), DType::f32, std::move(dims)));
        return out_.values.back();
    }

    Value linear(const std::string& name, Value x, std::uint64_t width, Precision precision) {
        const std::uint64_t in = tape_.graph().dims(x)[1];
        const Value weight = declare(name + ".weight", {width, in}, in);
        const Value bias = declare(name + ".bias", {width}, in);
        return retrace::kernels::linear(tape_, x, weight, bias, precision);
    }

    Value conv(const std::string& name, Value x, std::uint64_t channels, std::uint64_t kernel, std::uint64_t padding,
               Precision precision) {
        const std::uint64_t in = tape_.graph().dims(x)[1];
        const std::uint64_t fan_in = in * kernel * kernel;
        const Value weight = declare(name + ".weight", {channels, in, kernel, kernel}, fan_in);
        const Value bias = declare(name + ".bias", {channels}, fan_in);
        return conv2d(tape_, x, weight, bias, 1, padding, precision);
    }

private:
    Tape& tape_;
    ModelOutput& out_;
};

std::uint64_t product(const std::vector<std::uint64_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

Value flatten(Tape& tape, Value x) {
    const Dims& dims = tape.graph().dims(x);
    return view_as(tape, x, {dims[0], product({dims.begin() + 1, dims.end()})});
}

/// The logits head is i8x3 where the layers are i8x2 (NUMERICS 3).
Precision head_precision(Precision precision) { return precision == Precision::i8x2 ? Precision::i8x3 : precision; }

Value build_mlp(Tape& tape, Declarer& declare, const ModelSpec& spec, Value x, Precision precision) {
    x = flatten(tape, x);
    std::size_t layer = 1;
    for (const std::uint64_t width : spec.hidden) {
        x = relu(tape, declare.linear("fc" + std::to_string(layer++), x, width, precision));
    }
    return declare.linear("fc" + std::to_string(layer), x, spec.classes, head_precision(precision));
}

/// LeNet-5 (LeCun et al., 1998) with ReLU and maximum pooling: two convolutions of 5×5, three linear layers.
Value build_lenet(Tape& tape, Declarer& declare, const ModelSpec& spec, Value x, Precision precision) {
    const Window halves{2, 2, 2, 0};
    x = max_pool2d(tape, relu(tape, declare.conv("conv1", x, 6, 5, 2, precision)), halves);
    x = max_pool2d(tape, relu(tape, declare.conv("conv2", x, 16, 5, 0, precision)), halves);
    x = flatten(tape, x);
    x = relu(tape, declare.linear("fc1", x, 120, precision));
    x = relu(tape, declare.linear("fc2", x, 84, precision));
    return declare.linear("fc3", x, spec.classes, head_precision(precision));
}

constexpr std::uint64_t kWidthMax = 1 << 20;  ///< Of any one extent of a built-in model.

}  // namespace

Status<> check_model(const ModelSpec& spec) {
    if (spec.kind != "mlp" && spec.kind != "lenet") return error("model kind \"" + spec.kind + "\" unknown");
    if (spec.classes < 2 || spec.classes > kWidthMax) return error("model classes out of range");
    if (spec.input.empty() || spec.input.size() > 4) return error("model input takes 1 to 4 extents");
    for (const std::uint64_t extent : spec.input) {
        if (extent == 0 || extent > kWidthMax) return error("model input has an extent out of range");
    }
    if (spec.hidden.size() > 64) return error("model hidden takes at most 64 layers");
    for (const std::uint64_t width : spec.hidden) {
        if (width == 0 || width > kWidthMax) return error("model hidden has a width out of range");
    }
    if (spec.kind == "lenet" && (spec.input.size() != 3 || spec.input[1] < 12 || spec.input[2] < 12)) {
        return error("model input of lenet is channels, height, width, at least 12 pixels each way");
    }
    return Unit{};
}

ModelOutput build_model(Tape& tape, const ModelSpec& spec, Value x, Precision precision) {
    ModelOutput out;
    Declarer declare(tape, out);
    out.logits = spec.kind == "mlp" ? build_mlp(tape, declare, spec, x, precision)
                                    : build_lenet(tape, declare, spec, x, precision);
    return out;
}

}  // namespace retrace::kernels
