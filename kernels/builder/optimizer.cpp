// SPDX-License-Identifier: MIT
#include "kernels/builder/optimizer.hpp"

namespace retrace::kernels {
namespace {

Value step_number(Graph& g, std::uint64_t offset) { return g.op(OpCode::step_number, {}, {offset}); }

/// 1 - base^t.
Value bias_correction(Graph& g, float base, Value t) {
    return sub(g, g.scalar(1.0f), g.op(OpCode::powi, {g.scalar(base), t}));
}

void add_sgd(Graph& g, const TrainingSpec& spec, Value rate, const std::vector<Parameter>& parameters,
             const std::vector<std::vector<Value>>& moments) {
    const Value down = neg(g, rate);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        Value gradient = p.gradient;
        if (spec.weight_decay != 0.0f) gradient = fma(g, g.scalar(spec.weight_decay), p.value, gradient);
        if (!moments.empty()) {
            gradient = fma(g, g.scalar(spec.momentum), moments[0][i], gradient);
            g.set_next(moments[0][i], gradient);
        }
        g.set_next(p.value, fma(g, down, gradient, p.value));
    }
}

void add_adamw(Graph& g, const TrainingSpec& spec, Value rate, const std::vector<Parameter>& parameters,
               const std::vector<Value>& first, const std::vector<Value>& second) {
    const Value t = step_number(g, 1);
    const Value down = neg(g, div(g, rate, bias_correction(g, spec.beta1, t)));
    const Value root = g.op(OpCode::sqrt, {bias_correction(g, spec.beta2, t)});
    const Value keep = sub(g, g.scalar(1.0f), mul(g, rate, g.scalar(spec.weight_decay)));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        const Value m = fma(g, g.scalar(1.0f - spec.beta1), p.gradient, mul(g, g.scalar(spec.beta1), first[i]));
        const Value square = mul(g, p.gradient, p.gradient);
        const Value v = fma(g, g.scalar(1.0f - spec.beta2), square, mul(g, g.scalar(spec.beta2), second[i]));
        const Value below = add(g, div(g, g.op(OpCode::sqrt, {v}), root), g.scalar(spec.epsilon));
        const Value kept = spec.weight_decay == 0.0f ? p.value : mul(g, p.value, keep);
        g.set_next(first[i], m);
        g.set_next(second[i], v);
        g.set_next(p.value, fma(g, down, div(g, m, below), kept));
    }
}

}  // namespace

Value learning_rate(Graph& g, const TrainingSpec& spec) {
    const Value peak = g.scalar(spec.learning_rate);
    Value rate = peak;
    const Value t = convert(g, step_number(g, 0), DType::f32);
    const auto warmup = static_cast<float>(spec.warmup_steps);
    if (spec.schedule == "cosine") {
        const auto span = static_cast<float>(spec.steps > spec.warmup_steps ? spec.steps - spec.warmup_steps : 1);
        const Value progress = g.op(OpCode::min, {div(g, sub(g, t, g.scalar(warmup)), g.scalar(span)), g.scalar(1.0f)});
        const Value cosine = g.op(OpCode::cos_turns, {scale(g, progress, 0.5f)});
        rate = mul(g, scale(g, peak, 0.5f), add(g, cosine, g.scalar(1.0f)));
    }
    if (spec.warmup_steps > 0) {
        const Value rising = mul(g, peak, div(g, add(g, t, g.scalar(1.0f)), g.scalar(warmup)));
        rate = select(g, g.op(OpCode::less, {t, g.scalar(warmup)}), rising, rate);
    }
    return rate;
}

std::vector<std::string> moment_suffixes(const TrainingSpec& spec) {
    if (spec.optimizer == Optimizer::sgd && spec.momentum == 0.0f) return {};
    if (spec.optimizer == Optimizer::sgd) return {".momentum"};
    return {".m", ".v"};
}

/// Multiplies the gradients by min(1, limit / norm), where the norm is taken over all of them.
std::vector<Parameter> clipped(Graph& g, float limit, std::vector<Parameter> parameters) {
    Value total = g.scalar(0.0f);
    for (const Parameter& p : parameters) total = add(g, total, sum_all(g, mul(g, p.gradient, p.gradient)));
    const Value room = div(g, g.scalar(limit), g.op(OpCode::sqrt, {total}));
    const Value factor = select(g, g.op(OpCode::less, {room, g.scalar(1.0f)}), room, g.scalar(1.0f));
    for (Parameter& p : parameters) p.gradient = mul(g, p.gradient, factor);
    return parameters;
}

void add_optimizer(Graph& g, const TrainingSpec& spec, const std::vector<Parameter>& all) {
    const std::vector<Parameter> parameters = spec.clip_norm > 0.0f ? clipped(g, spec.clip_norm, all) : all;
    std::vector<std::vector<Value>> moments;
    for (const std::string& suffix : moment_suffixes(spec)) {
        moments.emplace_back();
        for (const Parameter& p : parameters) {
            moments.back().push_back(g.state(p.name + suffix, DType::f32, g.dims(p.value)));
        }
    }
    const Value rate = learning_rate(g, spec);
    if (spec.optimizer == Optimizer::sgd) {
        add_sgd(g, spec, rate, parameters, moments);
    } else {
        add_adamw(g, spec, rate, parameters, moments[0], moments[1]);
    }
}

}  // namespace retrace::kernels
