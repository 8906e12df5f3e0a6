// SPDX-License-Identifier: MIT
#include "kernels/builder/training.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/builder/optimizer.hpp"
#include "kernels/builder/samples.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

/// Checks ranges in a form that NaN never satisfies.
Status<> check_numbers(const TrainingSpec& spec) {
    const auto share = [](float x) { return x >= 0.0f && x < 1.0f; };
    const auto least = [](float x) { return std::isfinite(x) && x >= 0.0f; };
    if (!std::isfinite(spec.learning_rate) || !(spec.learning_rate > 0.0f))
        return error("training learning_rate is no finite number over 0");
    if (!share(spec.momentum)) return error("training momentum is not in [0, 1)");
    if (!share(spec.beta1) || !share(spec.beta2)) return error("training beta1 and beta2 are not in [0, 1)");
    if (!std::isfinite(spec.epsilon) || !(spec.epsilon > 0.0f))
        return error("training epsilon is no finite number over 0");
    if (!least(spec.weight_decay)) return error("training weight_decay is no finite number from 0");
    if (!least(spec.clip_norm)) return error("training clip_norm is no finite number from 0 (0: never)");
    return Unit{};
}

/// Checks the sizes of an mlp's layers before ops of these sizes are written.
Status<> check_mlp(const ModelSpec& spec) {
    std::uint64_t before = 1;
    for (const std::uint64_t extent : spec.input) before *= extent;
    std::vector<std::uint64_t> widths = spec.hidden;
    widths.push_back(spec.classes);
    for (const std::uint64_t width : widths) {
        if (before > kElementsMax / width) return error("model hidden has a layer of more than 2^36 weights");
        before = width;
    }
    return Unit{};
}

/// Returns the largest number of elements that one sample has in one op: windows of convolutions, scores of attention,
/// wide layers.
std::uint64_t widest_layer(const ModelSpec& spec) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : spec.input) elements *= extent;
    std::uint64_t out = std::max(elements, spec.classes);
    if (spec.kind == "mlp") {
        for (const std::uint64_t width : spec.hidden) out = std::max(out, width);
    } else if (spec.kind == "lenet") {
        const std::uint64_t height = spec.input[1], width = spec.input[2];
        out = std::max({out, 25 * elements, 6 * height * width, 150 * (height / 2 - 4) * (width / 2 - 4)});
    } else if (spec.kind == "resnet") {
        out = std::max(out, 9 * spec.input[1] * spec.input[2] * std::max(spec.input[0], spec.width));
    } else {
        const bool image = spec.kind == "vit", gated = spec.kind == "llama";
        const std::uint64_t tokens = image ? spec.input[1] / spec.patch * (spec.input[2] / spec.patch) : spec.input[0];
        const std::uint64_t inner = gated ? std::max(spec.width, 8 * spec.width / 3) : 4 * spec.width;
        out = std::max({out, tokens * inner, spec.heads * tokens * tokens, image ? 0 : tokens * spec.classes});
    }
    return out;
}

Status<> check_batch(const ModelSpec& spec, std::uint64_t rows) {
    if (widest_layer(spec) > kElementsMax / rows)
        return error("training batch makes more than 2^36 numbers in a layer");
    return Unit{};
}

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
    RETRACE_CHECK(check_numbers(spec));
    if (spec.precision < Precision::f32 || spec.precision > Precision::i8x3) return error("training precision unknown");
    if (spec.order == DataOrder::sequential &&
        (spec.samples > kSequentialSamplesMax || spec.steps > kSequentialStepsMax)) {
        return error("sequential data order takes at most 2^24 samples and 2^21 steps");
    }
    if (eval_samples == 0 || eval_samples > kSamplesMax) return error("eval_samples out of range");
    if (eval_batch == 0 || eval_batch > eval_samples) return error("eval_batch is zero or larger than eval_samples");
    return Unit{};
}

Status<> check_data(const ModelSource& model, std::uint64_t samples) {
    for (const Dims& row : {model.sample, model.target}) {
        Dims all{samples};
        all.insert(all.end(), row.begin(), row.end());
        if (!check_dims(all)) return error("training samples make a data set of more than 2^36 numbers");
    }
    return Unit{};
}

/// What one step computes before the optimiser.
struct TrainedStep {
    std::vector<Parameter> trained;
    Value loss, logits, target;
};

/// Writes the model, its loss and the gradients of what is trained; `parameters` are all that the model has.
Result<TrainedStep> write_gradients(Graph& g, const ModelSource& model, const TrainingSpec& spec,
                                    std::vector<ParameterSpec>& parameters) {
    Tape tape(g);
    const Batch batch = read_batch(g, model, spec.loss, spec.samples, training_index(g, spec));
    RETRACE_TRY(out, model.write(tape, batch.x, spec.batch, true));
    RETRACE_CHECK(check_output(g, model, spec.loss, out.logits, batch.target));
    const Loss loss = apply_loss(g, spec.loss, out.logits, batch.target);
    g.set_metric(loss.loss, "loss");
    std::vector<Parameter> trained;
    std::vector<Value> wanted;
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        if (!out.parameters[i].trained) continue;
        trained.push_back({out.parameters[i].name, out.values[i], {}});
        wanted.push_back(out.values[i]);
    }
    if (trained.empty()) return error("the model has no parameters to train");
    const std::vector<Value> gradients = tape.gradients(out.logits, loss.logits_gradient, wanted);
    for (std::size_t i = 0; i < trained.size(); ++i) trained[i].gradient = gradients[i];
    for (const auto& [buffer, next] : out.updates) g.set_next(buffer, next);
    parameters = std::move(out.parameters);
    return TrainedStep{std::move(trained), loss.loss, out.logits, batch.target};
}

/// The metric tensors of a training. Logits of a class for each token or pixel would be large for the rest of a step.
std::vector<std::string> metrics_of(const ModelSource& model, const TrainingSpec& spec) {
    if (!spec.keep_metrics) return {};
    std::vector<std::string> out;
    if (spec.loss == LossKind::cross_entropy && model.target.empty()) out.emplace_back(kAccuracyTensor);
    if (spec.clip_norm > 0.0f) out.emplace_back(kGradientNormTensor);
    out.emplace_back(kLossTensor);
    return out;
}

/// The part of the batch whose greatest logit is that of its label.
Value accuracy_of(Graph& g, const TrainedStep& step) {
    const Value right = g.op(OpCode::equal, {argmax_rows(g, step.logits), step.target});
    const Value counted = sum_all(g, convert(g, right, DType::f32));
    return div(g, counted, g.scalar(static_cast<float>(g.dims(step.target)[0])));
}

/// Declares the state tensors of the metrics, and writes them. `norm`: of the gradients, if the training clips them.
void keep_metrics(Graph& g, const ModelSource& model, const TrainingSpec& spec, const TrainedStep& step,
                  std::optional<Value> norm) {
    for (const std::string& name : metrics_of(model, spec)) {
        const Value state = g.state(name, DType::f32, {});
        if (name == kAccuracyTensor)
            g.set_next(state, accuracy_of(g, step));
        else
            g.set_next(state, name == kGradientNormTensor ? *norm : step.loss);
    }
}

Result<Program> build_train(const ModelSource& model, const TrainingSpec& spec,
                            std::vector<ParameterSpec>& parameters) {
    Graph g;
    RETRACE_TRY(step, write_gradients(g, model, spec, parameters));
    const std::optional<Value> norm = add_optimizer(g, spec, step.trained);
    const auto named = std::find_if(parameters.begin(), parameters.end(),
                                    [](const ParameterSpec& p) { return is_metric_tensor(p.name); });
    if (spec.keep_metrics && named != parameters.end())
        return error("a parameter has the name " + named->name + ", which is that of a metric: rename it");
    keep_metrics(g, model, spec, step, norm);
    return g.build();
}

/// For Start::uniform, a Philox value u in [0, 1) becomes u·2·scale - scale.
Value initial_value(Graph& g, const ParameterSpec& p) {
    const OpFacts::Operand shape{DType::f32, p.dims};
    switch (p.start) {
        case Start::uniform: {
            const Value uniform = g.op(OpCode::philox_uniform, {}, {}, shape, p.name);
            const Value least = g.scalar(-p.scale), width = g.scalar(2.0f * p.scale);
            return fma(g, uniform, width, least);
        }
        case Start::normal: return scale(g, g.op(OpCode::philox_normal, {}, {}, shape, p.name), p.scale);
        case Start::constant:
        case Start::given: break;
    }
    return fill(g, p.scale, p.dims);
}

Result<Program> build_init(const ModelSource& model, const TrainingSpec& spec,
                           const std::vector<ParameterSpec>& parameters) {
    Graph g;
    for (const ParameterSpec& p : parameters) {
        if (p.start == Start::given) return Program{};
        const Value first = initial_value(g, p);
        g.set_next(g.state(p.name, DType::f32, p.dims), first);
    }
    for (const std::string& suffix : moment_suffixes(spec)) {
        for (const ParameterSpec& p : parameters) {
            if (!p.trained) continue;
            const Value zeros = fill(g, 0.0f, p.dims);
            g.set_next(g.state(p.name + suffix, DType::f32, p.dims), zeros);
        }
    }
    for (const std::string& name : metrics_of(model, spec)) {
        const Value zero = fill(g, 0.0f, {});
        g.set_next(g.state(name, DType::f32, {}), zero);
    }
    return g.build();
}

Result<Program> build_eval(const ModelSource& model, const TrainingSpec& spec, std::uint64_t samples,
                           std::uint64_t rows) {
    Graph g;
    Tape tape(g);
    const Value index = g.op(OpCode::sequential_index, {}, {}, {DType::i32, {rows}});
    const Batch batch = read_batch(g, model, spec.loss, samples, index);
    RETRACE_TRY(out, model.write(tape, batch.x, rows, false));
    for (const std::string& suffix : moment_suffixes(spec)) {
        for (const ParameterSpec& p : out.parameters) {
            if (p.trained) g.state(p.name + suffix, DType::f32, p.dims);
        }
    }
    for (const std::string& name : metrics_of(model, spec)) g.state(name, DType::f32, {});
    RETRACE_CHECK(check_output(g, model, spec.loss, out.logits, batch.target));
    // The last batch may extend beyond the data set.
    const std::uint64_t labels = g.dims(batch.target)[0];
    const Value limit = g.scalar_i32(static_cast<std::int32_t>(samples));
    const Value known =
        g.op(OpCode::less, {reshape(g, index, {rows, 1}), limit}, {}, {DType::f32, {rows, labels / rows}});
    const Value inside = reshape(g, known, {labels, 1});
    g.set_metric(apply_loss(g, spec.loss, out.logits, batch.target, inside).loss, "loss");
    if (spec.loss == LossKind::cross_entropy) {
        const Value right = g.op(OpCode::equal, {argmax_rows(g, out.logits), batch.target});
        const Value counted = convert(g, g.op(OpCode::logical_and, {right, inside}), DType::f32);
        g.set_metric(sum_all(g, counted), "correct");
    }
    return g.build();
}

}  // namespace

bool is_metric_tensor(std::string_view name) {
    return name == kAccuracyTensor || name == kGradientNormTensor || name == kLossTensor;
}

ModelSource source_of(const ModelSpec& model, Precision precision) {
    ModelSource source;
    source.tokens = is_token_model(model);
    source.x_dtype = source.y_dtype = source.tokens && model.classes > 256 ? DType::i32 : DType::u8;
    source.sample = model.input;
    if (source.tokens) source.target = model.input;
    source.classes = model.classes;
    source.write = [model, precision](Tape& tape, Value x, std::uint64_t batch, bool training) -> Result<ModelOutput> {
        if (model.kind == "mlp") RETRACE_CHECK(check_mlp(model));
        RETRACE_CHECK(check_batch(model, batch));
        return build_model(tape, model, x, batch, precision, training);
    };
    return source;
}

Result<TrainingPrograms> build_training(const ModelSource& model, const TrainingSpec& training,
                                        std::uint64_t eval_samples, std::uint64_t eval_batch) {
    RETRACE_CHECK(check_training(training, eval_samples, eval_batch));
    RETRACE_CHECK(check_data(model, std::max(training.samples, eval_samples)));
    std::vector<ParameterSpec> parameters;
    RETRACE_TRY(train, build_train(model, training, parameters));
    RETRACE_TRY(init, build_init(model, training, parameters));
    RETRACE_TRY(eval, build_eval(model, training, eval_samples, eval_batch));
    return TrainingPrograms{std::move(train), std::move(init), std::move(eval)};
}

Result<Program> build_gradient(const ModelSource& model, const TrainingSpec& training) {
    RETRACE_CHECK(check_training(training, 1, 1));
    RETRACE_CHECK(check_data(model, training.samples));
    Graph g;
    std::vector<ParameterSpec> parameters;
    RETRACE_TRY(step, write_gradients(g, model, training, parameters));
    const Clipped clipped = clip(g, training, step.trained);
    for (const Parameter& p : clipped.parameters)
        g.set_next(g.state(p.name + ".gradient", DType::f32, g.dims(p.value)), p.gradient);
    keep_metrics(g, model, training, step, clipped.norm);
    return g.build();
}

Result<TrainingPrograms> build_training(const ModelSpec& model, const TrainingSpec& training,
                                        std::uint64_t eval_samples, std::uint64_t eval_batch) {
    RETRACE_CHECK(check_model(model));
    return build_training(source_of(model, training.precision), training, eval_samples, eval_batch);
}

}  // namespace retrace::kernels
