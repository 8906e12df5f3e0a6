// SPDX-License-Identifier: MIT
#include "kernels/builder/training.hpp"


#include "kernels/builder/models.hpp"
#include "kernels/builder/optimizer.hpp"

namespace retrace::kernels {
namespace {

Status<> check_training(const TrainingSpec& spec, std::uint64_t eval_samples, std::uint64_t eval_batch) {
    constexpr std::uint64_t kSamplesMax = 0x7fffffff;
    if (spec.samples == 0 || spec.samples > kSamplesMax) return error("training samples out of range");
    if (spec.batch == 0 || spec.batch > spec.samples) return error("training batch is zero or larger than samples");
    if (spec.steps == 0 || spec.steps > 1u << 24) return error("training steps out of range");
    if (spec.warmup_steps > spec.steps) return error("training warmup_steps are more than steps");
    if (spec.schedule != "constant" && spec.schedule != "cosine") {
        return error("training schedule \"" + spec.schedule + "\" unknown");
    }
    if (spec.optimizer != Optimizer::sgd && spec.optimizer != Optimizer::adamw)
        return error("training optimizer unknown");
    if (spec.precision < Precision::f32 || spec.precision > Precision::i8x3) return error("training precision unknown");
    if (eval_samples == 0 || eval_samples > kSamplesMax) return error("eval_samples out of range");
    if (eval_batch == 0 || eval_batch > eval_samples) return error("eval_batch is zero or larger than eval_samples");
    return Unit{};
}

Dims with_first(std::uint64_t first, const std::vector<std::uint64_t>& rest) {
    Dims dims{first};
    dims.insert(dims.end(), rest.begin(), rest.end());
    return dims;
}

struct Batch {
    Value x;       ///< Pixels as fp32 [batch, input…] in [0, 1], or tokens as int32 [batch·tokens].
    Value labels;  ///< int32 [rows, 1], a row for each row of logits.
};

Value as_int(Graph& g, Value x) { return g.shape(x).dtype == DType::i32 ? x : convert(g, x, DType::i32); }

/// Declares the data sets and reads the samples that `index` names.
Batch read_batch(Graph& g, const ModelSpec& model, std::uint64_t samples, Value index) {
    const bool tokens = is_token_model(model);
    const DType dtype = tokens && model.classes > 256 ? DType::i32 : DType::u8;
    const Value x = g.dataset("x", dtype, with_first(samples, model.input));
    const Value y = g.dataset("y", dtype, tokens ? g.dims(x) : Dims{samples});
    const Value rows = g.op(OpCode::gather_rows, {x, index}), targets = g.op(OpCode::gather_rows, {y, index});
    const std::uint64_t labels = g.matrix(targets).elements();
    Batch batch;
    batch.x = tokens ? as_int(g, reshape(g, rows, {labels})) : scale(g, convert(g, rows, DType::f32), 1.0f / 255.0f);
    batch.labels = as_int(g, reshape(g, targets, {labels, 1}));
    return batch;
}

Result<Program> build_train(const ModelSpec& model, const TrainingSpec& spec, std::vector<ParameterSpec>& parameters) {
    Graph g;
    Tape tape(g);
    const Value index = g.op(OpCode::batch_index, {}, {spec.samples}, {DType::i32, {spec.batch}});
    const Batch batch = read_batch(g, model, spec.samples, index);
    ModelOutput out = build_model(tape, model, batch.x, spec.batch, spec.precision);
    const Loss loss = softmax_cross_entropy(g, out.logits, batch.labels);
    g.set_metric(loss.loss, "loss");
    const std::vector<Value> gradients = tape.gradients(out.logits, loss.logits_gradient, out.values);
    std::vector<Parameter> trained;
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        trained.push_back({out.parameters[i].name, out.values[i], gradients[i]});
    }
    add_optimizer(g, spec, trained);
    parameters = std::move(out.parameters);
    return g.build();
}

/// Uniform: the Philox value u in [0, 1) as u·2·scale - scale.
Value initial_value(Graph& g, const ParameterSpec& p) {
    const OpFacts::Operand shape{DType::f32, p.dims};
    switch (p.start) {
        case Start::uniform: {
            const Value uniform = g.op(OpCode::philox_uniform, {}, {}, shape, p.name);
            return fma(g, uniform, g.scalar(2.0f * p.scale), g.scalar(-p.scale));
        }
        case Start::normal: return scale(g, g.op(OpCode::philox_normal, {}, {}, shape, p.name), p.scale);
        case Start::constant: break;
    }
    return fill(g, p.scale, p.dims);
}

Result<Program> build_init(const TrainingSpec& spec, const std::vector<ParameterSpec>& parameters) {
    Graph g;
    for (const ParameterSpec& p : parameters) g.set_next(g.state(p.name, DType::f32, p.dims), initial_value(g, p));
    for (const std::string& suffix : moment_suffixes(spec)) {
        for (const ParameterSpec& p : parameters) {
            g.set_next(g.state(p.name + suffix, DType::f32, p.dims), fill(g, 0.0f, p.dims));
        }
    }
    return g.build();
}

Result<Program> build_eval(const ModelSpec& model, const TrainingSpec& spec, std::uint64_t samples,
                           std::uint64_t rows) {
    Graph g;
    Tape tape(g);
    const Value index = g.op(OpCode::sequential_index, {}, {}, {DType::i32, {rows}});
    const Batch batch = read_batch(g, model, samples, index);
    const ModelOutput out = build_model(tape, model, batch.x, rows, spec.precision);
    for (const std::string& suffix : moment_suffixes(spec)) {
        for (const ParameterSpec& p : out.parameters) g.state(p.name + suffix, DType::f32, p.dims);
    }
    // The last batch may reach past the data set.
    const std::uint64_t labels = g.dims(batch.labels)[0];
    const Value limit = g.scalar_i32(static_cast<std::int32_t>(samples));
    const Value known =
        g.op(OpCode::less, {reshape(g, index, {rows, 1}), limit}, {}, {DType::f32, {rows, labels / rows}});
    const Value inside = reshape(g, known, {labels, 1});
    g.set_metric(softmax_cross_entropy(g, out.logits, batch.labels, inside).loss, "loss");
    const Value right = g.op(OpCode::equal, {argmax_rows(g, out.logits), batch.labels});
    const Value counted = convert(g, g.op(OpCode::logical_and, {right, inside}), DType::f32);
    g.set_metric(sum_all(g, counted), "correct");
    return g.build();
}

}  // namespace

Result<TrainingPrograms> build_training(const ModelSpec& model, const TrainingSpec& training,
                                        std::uint64_t eval_samples, std::uint64_t eval_batch) {
    RETRACE_CHECK(check_model(model));
    RETRACE_CHECK(check_training(training, eval_samples, eval_batch));
    std::vector<ParameterSpec> parameters;
    RETRACE_TRY(train, build_train(model, training, parameters));
    RETRACE_TRY(init, build_init(training, parameters));
    RETRACE_TRY(eval, build_eval(model, training, eval_samples, eval_batch));
    return TrainingPrograms{std::move(train), std::move(init), std::move(eval)};
}

}  // namespace retrace::kernels
