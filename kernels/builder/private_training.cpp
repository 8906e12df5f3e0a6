// SPDX-License-Identifier: MIT
#include "kernels/builder/private_training.hpp"

#include <cmath>
#include <limits>

#include "kernels/builder/declare.hpp"
#include "kernels/builder/optimizer.hpp"
#include "kernels/builder/samples.hpp"
#include "kernels/builder/tensor_ops.hpp"

namespace retrace::kernels {
namespace {

/// A linear layer, z = input · weightᵀ + bias, and the gradient of each example's loss by z.
struct Layer {
    std::string name;
    Value weight, bias, input, z, error;
    Precision precision = Precision::f32;
};

/// The layers of build_model's mlp.
std::vector<Layer> write_forward(Graph& g, const ModelSpec& model, Value x, Precision precision) {
    std::vector<std::uint64_t> widths = model.hidden;
    widths.push_back(model.classes);
    std::vector<Layer> layers;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        Layer layer;
        layer.name = "fc" + std::to_string(i + 1);
        layer.precision = i + 1 == widths.size() ? head_precision(precision) : precision;
        layer.input = x;
        layer.weight = g.state(layer.name + ".weight", DType::f32, {widths[i], g.dims(x)[1]});
        layer.bias = g.state(layer.name + ".bias", DType::f32, {widths[i]});
        layer.z = add(g, matmul(g, x, layer.weight, layer.precision, false, true), layer.bias);
        x = g.op(OpCode::relu, {layer.z});
        layers.push_back(layer);
    }
    return layers;
}

void write_errors(Graph& g, std::vector<Layer>& layers, Value last) {
    layers.back().error = last;
    for (std::size_t i = layers.size() - 1; i > 0; --i) {
        const Value back = matmul(g, layers[i].error, layers[i].weight, layers[i].precision);
        const Value active = g.op(OpCode::greater, {layers[i - 1].z, g.scalar(0.0f)});
        layers[i - 1].error = select(g, active, back, g.scalar(0.0f));
    }
}

/// The factor of each example, [batch, 1], and whether its gradient has a finite norm: one that has none counts for
/// nothing.
std::pair<Value, Value> write_factors(Graph& g, const std::vector<Layer>& layers, float clip) {
    const auto squares = [&](Value x) { return sum_rows(g, mul(g, x, x)); };
    std::optional<Value> total;
    for (const Layer& layer : layers) {
        // The gradient of an example by the weights is the outer product of error and input, by the biases the error.
        const Value errors = squares(layer.error), one = g.scalar(1.0f);
        const Value part = mul(g, add(g, squares(layer.input), one), errors);
        total = total ? add(g, *total, part) : part;
    }
    const Value norm = g.op(OpCode::sqrt, {*total});
    const Value room = div(g, g.scalar(clip), norm);
    const Value one = g.scalar(1.0f);
    const Value factor = select(g, g.op(OpCode::less, {room, g.scalar(1.0f)}), room, one);
    return {factor, g.op(OpCode::less, {*total, g.scalar(std::numeric_limits<float>::infinity())})};
}

/// Draws normal numbers (Box and Muller 1958) with two ops of ChaCha words.
Value normal(Graph& g, Value key, std::uint64_t number, const Dims& dims) {
    const auto share = [&](std::uint64_t word,
                           float shift) {  // Of 2^24 parts, in the middle of a part or at its start.
        const Value low = g.scalar_i32(0xffffff);
        const Value bits = and_bits(g, chacha_bits(g, key, word, dims), low);
        const Value from = g.scalar(shift), width = g.scalar(0x1p-24f);
        return fma(g, convert(g, bits, DType::f32), width, from);
    };
    const Value away = g.op(OpCode::sqrt, {scale(g, g.op(OpCode::log, {share(number, 0x1p-25f)}), -2.0f)});
    return mul(g, away, g.op(OpCode::cos_turns, {share(number + 1, 0.0f)}));
}

Result<Program> build_train(const ModelSpec& model, const TrainingSpec& spec, const PrivateSpec& terms) {
    Graph g;
    const ModelSource source = source_of(model, spec.precision);
    const Batch batch = read_batch(g, source, spec.loss, spec.samples, training_index(g, spec));
    const Value x = reshape(g, batch.x, {spec.batch, g.matrix(batch.x).elements() / spec.batch});
    std::vector<Layer> layers = write_forward(g, model, x, spec.precision);
    const Loss loss = apply_loss(g, spec.loss, layers.back().z, batch.target);
    g.set_metric(loss.loss, "loss");
    const auto rows = static_cast<float>(spec.batch);
    write_errors(g, layers, scale(g, loss.logits_gradient, rows));
    const auto [factor, finite] = write_factors(g, layers, terms.clip);

    std::optional<Value> key;
    if (terms.noise > 0.0f) key = g.dataset("noise_key", DType::i32, {8});
    std::uint64_t number = 0;
    const auto finished = [&](Value sum) {
        if (key) {
            const Value noise = normal(g, *key, number, g.dims(sum));
            sum = fma(g, g.scalar(terms.noise * terms.clip), noise, sum);
            number += 2;
        }
        return scale(g, sum, 1.0f / rows);
    };
    std::vector<Parameter> parameters;
    for (const Layer& layer : layers) {
        const Value zero = g.scalar(0.0f);
        const Value counted = select(g, finite, mul(g, layer.error, factor), zero);
        // Digits would be rounded by the largest element of all examples, so that one could change the part of another.
        const Value weight = matmul(g, counted, layer.input, Precision::f32, true, false);
        parameters.push_back({layer.name + ".weight", layer.weight, finished(weight)});
        parameters.push_back(
            {layer.name + ".bias", layer.bias, finished(reshape(g, sum_columns(g, counted), g.dims(layer.bias)))});
    }
    TrainingSpec optimizer = spec;
    optimizer.clip_norm = 0.0f;
    add_optimizer(g, optimizer, parameters);
    return g.build();
}

}  // namespace

Result<TrainingPrograms> build_private_training(const ModelSpec& model, const TrainingSpec& training,
                                                const PrivateSpec& terms, std::uint64_t eval_samples,
                                                std::uint64_t eval_batch) {
    if (model.kind != "mlp") return error("private training is for the model mlp, whose examples have exact norms");
    if (training.loss != LossKind::cross_entropy) return error("private training takes the loss cross_entropy");
    if (!std::isfinite(terms.clip) || !(terms.clip > 0.0f)) return error("private clip is no finite number over 0");
    if (!std::isfinite(terms.noise) || !(terms.noise >= 0.0f)) return error("private noise is no finite number from 0");
    RETRACE_TRY(programs, build_training(model, training, eval_samples, eval_batch));
    RETRACE_TRY(train, build_train(model, training, terms));
    programs.train = std::move(train);
    return programs;
}

}  // namespace retrace::kernels
