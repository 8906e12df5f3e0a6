// SPDX-License-Identifier: MIT
#include "kernels/builder/samples.hpp"

namespace retrace::kernels {
namespace {

Dims with_first(std::uint64_t first, const Dims& rest) {
    Dims dims{first};
    dims.insert(dims.end(), rest.begin(), rest.end());
    return dims;
}

Value as_int(Graph& g, Value x) { return g.shape(x).dtype == DType::i32 ? x : convert(g, x, DType::i32); }
Value as_float(Graph& g, Value x) { return g.shape(x).dtype == DType::f32 ? x : convert(g, x, DType::f32); }

/// Batch t of an epoch begins at row t·batch. The epoch is floor(step / batches): half a step is added before the
/// division and one half subtracted after it, so that rounding to nearest is rounding down, exactly for all allowed
/// steps.
Value sequential_rows(Graph& g, std::uint64_t samples, std::uint64_t batch) {
    const Value batches = g.scalar(static_cast<float>(samples / batch)), half = g.scalar(0.5f);
    const Value step = convert(g, g.op(OpCode::step_number, {}, {0}), DType::f32);
    const Value ratio = sub(g, div(g, add(g, step, half), batches), half);
    const Value epoch = convert(g, convert(g, ratio, DType::i32), DType::f32);
    const Value place = sub(g, step, mul(g, epoch, batches));
    const Value offset = convert(g, g.op(OpCode::iota, {}, {0}, {DType::i32, {batch}}), DType::f32);
    return convert(g, add(g, offset, scale(g, place, static_cast<float>(batch))), DType::i32);
}

}  // namespace

Value training_index(Graph& g, const TrainingSpec& spec) {
    if (spec.order == DataOrder::sequential) return sequential_rows(g, spec.samples, spec.batch);
    return g.op(OpCode::batch_index, {}, {spec.samples}, {DType::i32, {spec.batch}});
}

Batch read_batch(Graph& g, const ModelSource& model, LossKind loss, std::uint64_t samples, Value index) {
    const Value x = g.dataset("x", model.x_dtype, with_first(samples, model.sample));
    const Value y = g.dataset("y", model.y_dtype, with_first(samples, model.target));
    const Value rows = g.op(OpCode::gather_rows, {x, index}), targets = g.op(OpCode::gather_rows, {y, index});
    const std::uint64_t batch = g.dims(index)[0], elements = g.matrix(targets).elements();
    Batch out;
    if (model.tokens) {
        out.x = as_int(g, reshape(g, rows, {g.matrix(rows).elements()}));
    } else {
        out.x = as_float(g, rows);
        if (model.x_dtype == DType::u8) out.x = scale(g, out.x, 1.0f / 255.0f);
    }
    if (loss == LossKind::cross_entropy) {
        out.target = as_int(g, reshape(g, targets, {elements, 1}));
    } else {
        out.target = as_float(g, reshape(g, targets, {batch, elements / batch}));
    }
    return out;
}

Loss apply_loss(Graph& g, LossKind kind, Value output, Value target, std::optional<Value> valid) {
    switch (kind) {
        case LossKind::mse: return mean_squared_error(g, output, target, valid);
        case LossKind::bce: return binary_cross_entropy(g, output, target, valid);
        case LossKind::cross_entropy: break;
    }
    return softmax_cross_entropy(g, output, target, valid);
}

Status<> check_output(const Graph& g, const ModelSource& model, LossKind kind, Value output, Value target) {
    const Geometry out = g.matrix(output), wanted = g.matrix(target);
    if (kind == LossKind::cross_entropy) {
        if (out.rows != wanted.rows) {
            return error("the model gives " + std::to_string(out.rows) + " rows of scores for " +
                         std::to_string(wanted.rows) + " labels");
        }
        if (out.cols < model.classes) {
            return error("the labels go up to " + std::to_string(model.classes - 1) + " and the model has " +
                         std::to_string(out.cols) + " classes");
        }
    } else if (out.rows != wanted.rows || out.cols != wanted.cols) {
        return error("the model gives " + std::to_string(out.cols) + " numbers a sample and the target has " +
                     std::to_string(wanted.cols));
    }
    return Unit{};
}

}  // namespace retrace::kernels
