// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/builder/models.hpp"

namespace retrace::kernels {

/// Declares parameters when layers request them.
class Declarer {
public:
    /// If `frozen`, declared parameters are not trained, except the corrections of lora_linear.
    Declarer(Tape& tape, ModelOutput& out, bool frozen = false) : tape_(tape), out_(out), frozen_(frozen) {}
    Tape& tape() noexcept { return tape_; }

    Value declare(ParameterSpec parameter);
    /// Uniform within 1/√fan_in, the distribution of torch.nn.Linear and Conv2d for both weights (Kaiming-uniform
    /// with a = √5) and biases. The square root is correctly rounded, so the constant is the same on every machine.
    Value uniform(std::string name, Dims dims, std::uint64_t fan_in);
    Value normal(std::string name, Dims dims, float deviation);
    Value constant(std::string name, Dims dims, float value);
    /// A tensor that training does not change by gradients.
    Value buffer(std::string name, Dims dims, float value);
    void update(Value buffer, Value next) { out_.updates.emplace_back(buffer, next); }

    /// NAME.weight [width, in], NAME.bias [width].
    Value linear(const std::string& name, Value x, std::uint64_t width, Precision precision, bool bias = true);
    /// The same with frozen weight and bias, and with NAME.lora_down [rank, in] and NAME.lora_up [width, rank], which
    /// starts as zeros.
    Value lora_linear(const std::string& name, Value x, std::uint64_t width, std::uint64_t rank, float alpha,
                      Precision precision, bool bias = true);
    /// NAME.weight [channels, in, kernel, kernel], NAME.bias [channels]; stride 1.
    Value conv(const std::string& name, Value x, std::uint64_t channels, std::uint64_t kernel, std::uint64_t padding,
               Precision precision);
    /// Without bias: NAME.weight, uniform within 1/√fan_in.
    Value plain_conv(const std::string& name, Value x, std::uint64_t channels, const Window& window,
                     Precision precision);
    /// NAME.weight, NAME.bias, NAME.running_mean, NAME.running_var, all [channels].
    Value batch_norm(const std::string& name, Value x, bool training);

private:
    Value declare_trained(ParameterSpec parameter);

    Tape& tape_;
    ModelOutput& out_;
    bool frozen_;
};

/// The logits head is i8x3 where the layers are i8x2.
inline Precision head_precision(Precision precision) {
    return precision == Precision::i8x2 ? Precision::i8x3 : precision;
}

/// "gpt", "llama": x int32 [batch·tokens] → logits [batch·tokens, classes]; "vit": x [batch, c, h, w] →
/// [batch, classes].
Value build_transformer(Declarer& declare, const ModelSpec& spec, Value x, std::uint64_t batch, Precision precision);
Status<> check_transformer(const ModelSpec& spec);
/// x [batch, c, h, w] → [batch, classes].
Value build_resnet(Declarer& declare, const ModelSpec& spec, Value x, Precision precision, bool training);

}  // namespace retrace::kernels
