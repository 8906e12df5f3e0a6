// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/golden_trainings.hpp"

#include <fstream>

#include "kernels/builder/transformer_layers.hpp"

namespace retrace::kernels::golden {
namespace {

Recipe mlp() {
    Recipe run;
    run.model.input = {1, 17, 17};  // K = 289: two links, the second one short
    run.model.hidden = {40, 33};
    run.training.samples = kSamples;
    run.training.batch = 24;
    run.training.steps = 200;
    run.training.schedule = "cosine";
    run.training.warmup_steps = 10;
    run.training.weight_decay = 0.01f;
    return run;
}

Recipe cnn() {
    Recipe run;
    run.model.kind = "lenet";
    run.model.input = {1, 12, 12};
    run.training.samples = kSamples;
    run.training.batch = 4;
    run.training.steps = 200;
    run.training.optimizer = Optimizer::sgd;
    run.training.learning_rate = 0.01f;
    return run;
}

Recipe transformer(const std::string& kind) {
    Recipe run;
    run.model.kind = kind;
    run.model.input = kind == "vit" ? std::vector<std::uint64_t>{1, 12, 12} : std::vector<std::uint64_t>{8};
    run.model.classes = kind == "vit" ? 10 : 11;
    run.model.width = 16;  // the four times wider layer and the 64 tokens of a batch are enough for digit slices
    run.model.heads = 2;
    run.model.layers = 1;
    run.training.samples = kSamples;
    run.training.batch = 8;
    run.training.steps = 200;
    run.training.schedule = "cosine";
    run.training.warmup_steps = 20;
    run.training.learning_rate = 3e-3f;
    run.training.clip_norm = 1.0f;
    return run;
}

/// Trains low-rank corrections only (LoRA).
Recipe gpt_lora() {
    Recipe run = transformer("gpt");
    run.model.lora_rank = 4;
    run.model.lora_alpha = 8.0f;
    run.training.learning_rate = 3e-2f;
    run.training.weight_decay = 0.01f;
    return run;
}

/// A convolution and average pooling with overlapping windows, then the built-in residual net with its batch norm.
Value pooled_resnet(Declarer& declare, const Recipe& run, Value x, std::uint64_t, bool training) {
    const Precision precision = run.training.precision;
    x = relu(declare.tape(), declare.plain_conv("stem", x, 3, {3, 3, 1, 1}, precision));
    x = average_pool2d(declare.tape(), x, {3, 3, 2, 1});
    return build_resnet(declare, run.model, x, precision, training);
}

Recipe resnet() {
    Recipe run = cnn();
    run.model.kind = "resnet";
    run.model.width = 2;
    run.model.layers = 1;
    run.layers = pooled_resnet;
    return run;
}

/// One block of a gpt with dropout on its input and on the addition of each half of the block.
Value dropped_gpt(Declarer& declare, const Recipe& run, Value x, std::uint64_t batch, bool training) {
    Tape& tape = declare.tape();
    const ModelSpec& model = run.model;
    const Precision precision = run.training.precision;
    const std::uint64_t tokens = model.input[0], width = model.width;
    const auto drop = [&](const std::string& name, Value v) {
        return training ? dropout(tape, v, 0.1f, name + ".dropout") : v;
    };
    const auto norm = [&](const std::string& name, Value v) {
        const Value gain = declare.constant(name + ".weight", {width}, 1.0f);
        return layer_norm(tape, v, gain, declare.constant(name + ".bias", {width}, 0.0f));
    };
    const auto head = [&](const std::string& name, Value v) {
        return split_heads(tape, declare.linear(name, v, width, precision), batch, model.heads);
    };
    x = embedding(tape, declare.normal("tokens.weight", {model.classes, width}, 0.02f), x);
    const Value positions = declare.normal("positions.weight", {tokens, width}, 0.02f);
    x = view_as(tape, add_row(tape, view_as(tape, x, {batch, tokens * width}), positions), {batch * tokens, width});
    x = drop("tokens", x);
    const Value a = norm("norm1", x);
    const Value q = head("q", a), k = head("k", a), v = head("v", a);
    const Value mixed = merge_heads(tape, attention(tape, q, k, v, true, precision), batch, model.heads);
    x = sum(tape, x, drop("out", declare.linear("out", mixed, width, precision)));
    const Value wide = gelu(tape, declare.linear("up", norm("norm2", x), 4 * width, precision));
    x = sum(tape, x, drop("down", declare.linear("down", wide, width, precision)));
    return declare.linear("head", norm("norm", x), model.classes, head_precision(precision), false);
}

Recipe gpt_dropout() {
    Recipe run = transformer("gpt");
    run.layers = dropped_gpt;
    return run;
}

/// Pixels and labels that a net can learn, derived from integers alone.
Tensor pixels(const ModelSpec& model) {
    Dims dims{kSamples};
    dims.insert(dims.end(), model.input.begin(), model.input.end());
    Tensor x = zeros(DType::u8, dims);
    const std::uint64_t size = x.elements() / kSamples;
    for (std::uint64_t i = 0; i < x.elements(); ++i) {
        const std::uint64_t label = i / size % 10, noise = (i * 2654435761u >> 7) % 64;
        x.data[i] = static_cast<std::uint8_t>((i % size) % (label + 2) * 19 + noise);
    }
    return x;
}

/// Token t of sample s; the label of a token is the next one.
std::uint8_t token(std::uint64_t s, std::uint64_t t) {
    return static_cast<std::uint8_t>((s * 7 + t * (s % 3 + 1)) % 11);
}

}  // namespace

std::map<std::string, Recipe> recipes() {
    return {{"mlp", mlp()},
            {"cnn", cnn()},
            {"gpt", transformer("gpt")},
            {"gpt_dropout", gpt_dropout()},
            {"gpt_lora", gpt_lora()},
            {"llama", transformer("llama")},
            {"resnet", resnet()},
            {"vit", transformer("vit")}};
}

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, recipe] : recipes()) out.push_back(name);
    return out;
}

TrainingPrograms programs(const Recipe& recipe) {
    ModelSource source = source_of(recipe.model, recipe.training.precision);
    if (recipe.layers) {
        source.write = [&](Tape& tape, Value x, std::uint64_t batch, bool training) -> Result<ModelOutput> {
            ModelOutput out;
            Declarer declare(tape, out);
            out.logits = recipe.layers(declare, recipe, x, batch, training);
            return out;
        };
    }
    return *build_training(source, recipe.training, kSamples, 16);
}

std::pair<Tensor, Tensor> data(const ModelSpec& model) {
    if (model.kind == "gpt" || model.kind == "llama") {
        const std::uint64_t tokens = model.input[0];
        Tensor x = zeros(DType::u8, {kSamples, tokens}), y = x;
        for (std::uint64_t i = 0; i < x.elements(); ++i) {
            x.data[i] = token(i / tokens, i % tokens);
            y.data[i] = token(i / tokens, i % tokens + 1);
        }
        return {x, y};
    }
    Tensor y = zeros(DType::u8, {kSamples});
    for (std::uint64_t i = 0; i < kSamples; ++i) y.data[i] = static_cast<std::uint8_t>(i % 10);
    return {pixels(model), y};
}

std::map<std::string, std::string> roots(const std::string& path) {
    std::ifstream in(path);
    std::map<std::string, std::string> out;
    std::string name, steps, root;
    while (in >> name >> steps >> root) out[name + " " + steps] = root;
    return out;
}

}  // namespace retrace::kernels::golden
