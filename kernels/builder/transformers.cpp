// SPDX-License-Identifier: MIT
// "gpt": learned positions, layer norm, GELU (Radford et al., 2019). "llama": rotary positions, RMS norm, SwiGLU, no
// biases (Touvron et al., 2023). "vit": patches of an image as tokens (Dosovitskiy et al., 2021), mean of the tokens.
#include "kernels/builder/declare.hpp"
#include "kernels/builder/transformer_layers.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

constexpr float kDeviation = 0.02f;        ///< Deviation of embeddings, as in GPT-2.
constexpr std::uint64_t kPatchMax = 4096;  ///< Maximum patch, because windows are no larger.

class Transformer {
public:
    Transformer(Declarer& declare, const ModelSpec& spec, std::uint64_t batch, Precision precision)
        : declare_(declare),
          tape_(declare.tape()),
          spec_(spec),
          batch_(batch),
          precision_(precision),
          modern_(spec.kind == "llama"),
          causal_(spec.kind != "vit") {}

    Value blocks(Value x) {
        for (std::uint64_t i = 0; i < spec_.layers; ++i) x = block("block" + std::to_string(i), x);
        return norm("norm", x);
    }

private:
    Value norm(const std::string& name, Value x) {
        const Value gain = declare_.constant(name + ".weight", {spec_.width}, 1.0f);
        if (modern_) return rms_norm(tape_, x, gain);
        return layer_norm(tape_, x, gain, declare_.constant(name + ".bias", {spec_.width}, 0.0f));
    }

    Value linear(const std::string& name, Value x, std::uint64_t width) {
        if (spec_.lora_rank == 0) return declare_.linear(name, x, width, precision_, !modern_);
        return declare_.lora_linear(name, x, width, spec_.lora_rank, spec_.lora_alpha, precision_, !modern_);
    }

    Value heads(const std::string& name, Value x, bool turned) {
        const Value split = split_heads(tape_, linear(name, x, spec_.width), batch_, spec_.heads);
        return turned && modern_ ? rotary(tape_, split) : split;
    }

    Value block(const std::string& name, Value x) {
        const Value a = norm(name + ".norm1", x);
        const Value q = heads(name + ".q", a, true), k = heads(name + ".k", a, true), v = heads(name + ".v", a, false);
        const Value mixed = merge_heads(tape_, attention(tape_, q, k, v, causal_, precision_), batch_, spec_.heads);
        x = sum(tape_, x, linear(name + ".out", mixed, spec_.width));
        const Value b = norm(name + ".norm2", x);
        return sum(tape_, x, modern_ ? gated(name, b) : plain(name, b));
    }

    Value plain(const std::string& name, Value x) {
        return linear(name + ".down", gelu(tape_, linear(name + ".up", x, 4 * spec_.width)), spec_.width);
    }

    /// SwiGLU (Shazeer, 2020), with two thirds of the plain layer's width, so that both have about the same number of
    /// weights.
    Value gated(const std::string& name, Value x) {
        const std::uint64_t width = 8 * spec_.width / 3;
        const Value gate = silu(tape_, linear(name + ".gate", x, width));
        return linear(name + ".down", product(tape_, gate, linear(name + ".up", x, width)), spec_.width);
    }

    Declarer& declare_;
    Tape& tape_;
    const ModelSpec& spec_;
    const std::uint64_t batch_;
    const Precision precision_;
    const bool modern_, causal_;
};

/// Adds a learned vector for each of `tokens` positions to x[batch·tokens, width].
Value add_positions(Declarer& declare, Value x, std::uint64_t batch, std::uint64_t tokens, std::uint64_t width) {
    const Value positions = declare.normal("positions.weight", {tokens, width}, kDeviation);
    const Value flat = view_as(declare.tape(), x, {batch, tokens * width});
    return view_as(declare.tape(), add_row(declare.tape(), flat, positions), {batch * tokens, width});
}

/// Embeds patches, which are windows that do not overlap, as rows.
Value patches(Declarer& declare, const ModelSpec& spec, Value x, Precision precision) {
    Graph& g = declare.tape().graph();
    const std::vector<std::uint64_t> window{spec.patch, spec.patch, spec.patch, spec.patch, 0, 0, 0};
    return declare.linear("patches", g.op(OpCode::window_gather, {x}, window), spec.width, precision);
}

}  // namespace

Status<> check_transformer(const ModelSpec& spec) {
    if (spec.layers == 0 || spec.layers > 256) return error("model layers out of range");
    if (spec.width == 0 || spec.width > 1 << 16) return error("model width out of range");
    if (spec.heads == 0 || spec.width % spec.heads != 0) return error("model width is no multiple of heads");
    if (spec.lora_rank > spec.width) return error("model lora_rank is larger than width");
    if (!(spec.lora_alpha > 0.0f && spec.lora_alpha < 1e6f)) return error("model lora_alpha out of range");
    if (spec.kind == "llama" && spec.width / spec.heads % 2 != 0) return error("model width of a head is odd");
    if (spec.kind == "vit") {
        if (spec.input.size() != 3) return error("model input of vit is channels, height, width");
        if (spec.patch == 0 || spec.input[1] % spec.patch != 0 || spec.input[2] % spec.patch != 0) {
            return error("model patch does not divide the image");
        }
        if (spec.patch > kPatchMax) return error("model patch out of range");
        if (spec.input[0] * spec.patch * spec.patch > kElementsMax / spec.width)
            return error("model patch makes a layer of more than 2^36 weights");
    } else if (spec.input.size() != 1) {
        return error("model input of " + spec.kind + " is the number of tokens");
    }
    return Unit{};
}

Value build_transformer(Declarer& declare, const ModelSpec& spec, Value x, std::uint64_t batch, Precision precision) {
    Tape& tape = declare.tape();
    Transformer transformer(declare, spec, batch, precision);
    if (spec.kind == "vit") {
        x = patches(declare, spec, x, precision);
        x = add_positions(declare, x, batch, tape.graph().dims(x)[0] / batch, spec.width);
        x = mean_tokens(tape, transformer.blocks(x), batch);
    } else {
        x = embedding(tape, declare.normal("tokens.weight", {spec.classes, spec.width}, kDeviation), x);
        if (spec.kind == "gpt") x = add_positions(declare, x, batch, spec.input[0], spec.width);
        x = transformer.blocks(x);
    }
    return declare.linear("head", x, spec.classes, head_precision(precision), spec.kind == "vit");
}

}  // namespace retrace::kernels
