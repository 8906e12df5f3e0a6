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
    if (spec.optimizer != Optimizer::sgd && spec.optimizer != Optimizer::adamw) return error("training optimizer unknown");
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
    Value index, x, labels;
};

/// Declares the data sets and reads the rows `index` names: pixels as fp32 in [0, 1], labels as int32 [batch, 1].
Batch read_batch(Graph& g, const ModelSpec& model, std::uint64_t samples, Value index) {
    const Value x = g.dataset("x", DType::u8, with_first(samples, model.input));
    const Value y = g.dataset("y", DType::u8, {samples});
    const Value pixels = convert(g, g.op(OpCode::gather_rows, {x, index}), DType::f32);
    const Value labels = reshape(g, g.op(OpCode::gather_rows, {y, index}), {g.dims(index)[0], 1});
    return {index, scale(g, pixels, 1.0f / 255.0f), convert(g, labels, DType::i32)};
}

Result<Program> build_train(const ModelSpec& model, const TrainingSpec& spec, std::vector<ParameterSpec>& parameters) {
    Graph g;
    Tape tape(g);
    const Value index = g.op(OpCode::batch_index, {}, {spec.samples}, {DType::i32, {spec.batch}});
    const Batch batch = read_batch(g, model, spec.samples, index);
    ModelOutput out = build_model(tape, model, batch.x, spec.precision);
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

/// Uniform in [-bound, bound): the Philox value u in [0, 1) as u·2·bound - bound.
Result<Program> build_init(const TrainingSpec& spec, const std::vector<ParameterSpec>& parameters) {
    Graph g;
    for (const ParameterSpec& p : parameters) {
        const Value value = g.state(p.name, DType::f32, p.dims);
        const Value uniform = g.op(OpCode::philox_uniform, {}, {}, {DType::f32, p.dims}, p.name);
        g.set_next(value, fma(g, uniform, g.scalar(2.0f * p.bound), g.scalar(-p.bound)));
    }
    for (const std::string& suffix : moment_suffixes(spec)) {
        for (const ParameterSpec& p : parameters) {
            g.set_next(g.state(p.name + suffix, DType::f32, p.dims), fill(g, 0.0f, p.dims));
        }
    }
    return g.build();
}

Result<Program> build_eval(const ModelSpec& model, const TrainingSpec& spec, std::uint64_t samples, std::uint64_t rows) {
    Graph g;
    Tape tape(g);
    const Value index = g.op(OpCode::sequential_index, {}, {}, {DType::i32, {rows}});
    const Batch batch = read_batch(g, model, samples, index);
    const ModelOutput out = build_model(tape, model, batch.x, spec.precision);
    for (const std::string& suffix : moment_suffixes(spec)) {
        for (const ParameterSpec& p : out.parameters) g.state(p.name + suffix, DType::f32, p.dims);
    }
    // The last batch may reach past the data set.
    const Value inside = g.op(OpCode::less, {reshape(g, index, {rows, 1}), g.scalar_i32(static_cast<std::int32_t>(samples))});
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
