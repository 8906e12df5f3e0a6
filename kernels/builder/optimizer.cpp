// SPDX-License-Identifier: MIT
#include "kernels/builder/optimizer.hpp"

namespace retrace::kernels {
namespace {

/// The number of the step that the program sees, plus `offset`.
Value step_number(Graph& g, std::int32_t offset) {
    if (offset >= 0) return g.op(OpCode::step_number, {}, {static_cast<std::uint64_t>(offset)});
    return g.op(OpCode::add_wrap, {g.op(OpCode::step_number, {}, {0}), g.scalar_i32(offset)});
}

/// 1 - base^t.
Value bias_correction(Graph& g, float base, Value t) {
    const Value power = g.op(OpCode::powi, {g.scalar(base), t});
    return sub(g, g.scalar(1.0f), power);
}

std::vector<Optimized> with_sgd(Graph& g, const TrainingSpec& spec, Value rate,
                                const std::vector<Parameter>& parameters,
                                const std::vector<std::vector<Value>>& moments) {
    const Value down = neg(g, rate);
    std::vector<Optimized> out;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        Optimized next;
        Value gradient = p.gradient;
        if (spec.weight_decay != 0.0f) gradient = fma(g, g.scalar(spec.weight_decay), p.value, gradient);
        if (!moments.empty()) {
            gradient = fma(g, g.scalar(spec.momentum), moments[0][i], gradient);
            next.moments = {gradient};
        }
        next.value = fma(g, down, gradient, p.value);
        out.push_back(std::move(next));
    }
    return out;
}

std::vector<Optimized> with_adamw(Graph& g, const TrainingSpec& spec, Value rate,
                                  const std::vector<Parameter>& parameters,
                                  const std::vector<std::vector<Value>>& moments, std::int32_t shift) {
    const Value t = step_number(g, 1 + shift);
    const Value down = neg(g, div(g, rate, bias_correction(g, spec.beta1, t)));
    const Value root = g.op(OpCode::sqrt, {bias_correction(g, spec.beta2, t)});
    const Value decay = mul(g, rate, g.scalar(spec.weight_decay));
    const Value keep = sub(g, g.scalar(1.0f), decay);
    std::vector<Optimized> out;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        const Value old_m = mul(g, g.scalar(spec.beta1), moments[0][i]);
        const Value m = fma(g, g.scalar(1.0f - spec.beta1), p.gradient, old_m);
        const Value square = mul(g, p.gradient, p.gradient);
        const Value old_v = mul(g, g.scalar(spec.beta2), moments[1][i]);
        const Value v = fma(g, g.scalar(1.0f - spec.beta2), square, old_v);
        const Value epsilon = g.scalar(spec.epsilon);
        const Value below = add(g, div(g, g.op(OpCode::sqrt, {v}), root), epsilon);
        const Value kept = spec.weight_decay == 0.0f ? p.value : mul(g, p.value, keep);
        out.push_back({fma(g, down, div(g, m, below), kept), {m, v}});
    }
    return out;
}

}  // namespace

Value learning_rate(Graph& g, const TrainingSpec& spec, std::int32_t shift) {
    const Value peak = g.scalar(spec.learning_rate);
    Value rate = peak;
    const Value t = convert(g, step_number(g, shift), DType::f32);
    const auto warmup = static_cast<float>(spec.warmup_steps);
    if (spec.schedule == "cosine") {
        const auto span = static_cast<float>(spec.steps > spec.warmup_steps ? spec.steps - spec.warmup_steps : 1);
        const Value length = g.scalar(span);
        const Value done = div(g, sub(g, t, g.scalar(warmup)), length);
        const Value progress = g.op(OpCode::min, {done, g.scalar(1.0f)});
        const Value cosine = g.op(OpCode::cos_turns, {scale(g, progress, 0.5f)});
        const Value above = add(g, cosine, g.scalar(1.0f));
        rate = mul(g, scale(g, peak, 0.5f), above);
    }
    if (spec.warmup_steps > 0) {
        const Value length = g.scalar(warmup);
        const Value rising = mul(g, peak, div(g, add(g, t, g.scalar(1.0f)), length));
        rate = select(g, g.op(OpCode::less, {t, g.scalar(warmup)}), rising, rate);
    }
    return rate;
}

std::vector<std::string> moment_suffixes(const TrainingSpec& spec) {
    if (spec.optimizer == Optimizer::sgd && spec.momentum == 0.0f) return {};
    if (spec.optimizer == Optimizer::sgd) return {".momentum"};
    return {".m", ".v"};
}

Clipped clip(Graph& g, const TrainingSpec& spec, std::vector<Parameter> parameters) {
    if (!(spec.clip_norm > 0.0f)) return {std::move(parameters), std::nullopt};
    Value total = g.scalar(0.0f);
    for (const Parameter& p : parameters) total = add(g, total, sum_all(g, mul(g, p.gradient, p.gradient)));
    const Value norm = g.op(OpCode::sqrt, {total});
    const Value room = div(g, g.scalar(spec.clip_norm), norm);
    const Value one = g.scalar(1.0f);
    const Value factor = select(g, g.op(OpCode::less, {room, g.scalar(1.0f)}), room, one);
    for (Parameter& p : parameters) p.gradient = mul(g, p.gradient, factor);
    return {std::move(parameters), norm};
}

std::vector<Optimized> optimized(Graph& g, const TrainingSpec& spec, const std::vector<Parameter>& parameters,
                                 const std::vector<std::vector<Value>>& moments, std::int32_t shift) {
    const Value rate = learning_rate(g, spec, shift);
    return spec.optimizer == Optimizer::sgd ? with_sgd(g, spec, rate, parameters, moments)
                                            : with_adamw(g, spec, rate, parameters, moments, shift);
}

std::optional<Value> add_optimizer(Graph& g, const TrainingSpec& spec, const std::vector<Parameter>& all) {
    const auto [parameters, norm] = clip(g, spec, all);
    std::vector<std::vector<Value>> moments;
    for (const std::string& suffix : moment_suffixes(spec)) {
        moments.emplace_back();
        for (const Parameter& p : parameters) {
            moments.back().push_back(g.state(p.name + suffix, DType::f32, g.dims(p.value)));
        }
    }
    const std::vector<Optimized> next = optimized(g, spec, parameters, moments);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        g.set_next(parameters[i].value, next[i].value);
        for (std::size_t k = 0; k < moments.size(); ++k) g.set_next(moments[k][i], next[i].moments[k]);
    }
    return norm;
}

}  // namespace retrace::kernels
