// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/fused_patterns.hpp"

#include "kernels/builder/layers.hpp"
#include "kernels/builder/optimizer.hpp"
#include "kernels/builder/transformer_layers.hpp"

namespace retrace::kernels::testing {
namespace {

/// Declares states for inputs and results, which must be declared before any op.
class Layer {
public:
    Value in(const std::string& name, Dims dims, DType dtype = DType::f32) {
        return graph.state(name, dtype, std::move(dims));
    }
    void keep(Value value) {
        const OpFacts::Operand shape = graph.shape(value);
        graph.set_next(graph.state("out" + std::to_string(results_++), shape.dtype, shape.dims), value);
    }
    /// Keeps the output and the gradients of `wanted`, given the gradient of the output.
    void keep_all(Value output, Value gradient, const std::vector<Value>& wanted) {
        keep(output);
        for (const Value value : tape.gradients(output, gradient, wanted)) keep(value);
    }
    Program build() const { return *graph.build(); }

    Graph graph;
    Tape tape{graph};

private:
    int results_ = 0;
};

}  // namespace

Program layer_norm_program(std::uint64_t rows, std::uint64_t width) {
    Layer l;
    const Value x = l.in("x", {rows, width}), gain = l.in("gain", {width}), shift = l.in("shift", {width});
    const Value dy = l.in("dy", {rows, width});
    l.keep_all(layer_norm(l.tape, x, gain, shift), dy, {x, gain, shift});
    return l.build();
}

Program rms_norm_program(std::uint64_t rows, std::uint64_t width) {
    Layer l;
    const Value x = l.in("x", {rows, width}), gain = l.in("gain", {width}), dy = l.in("dy", {rows, width});
    l.keep_all(rms_norm(l.tape, x, gain), dy, {x, gain});
    return l.build();
}

Program softmax_cross_entropy_program(std::uint64_t rows, std::uint64_t classes) {
    Layer l;
    const Value logits = l.in("logits", {rows, classes}), labels = l.in("labels", {rows, 1}, DType::i32);
    const Loss loss = softmax_cross_entropy(l.graph, logits, labels);
    l.graph.set_metric(loss.loss, "loss");
    l.keep(loss.logits_gradient);
    return l.build();
}

Program bias_gelu_program(std::uint64_t rows, std::uint64_t width) {
    Layer l;
    const Value x = l.in("x", {rows, width}), bias = l.in("bias", {width}), dy = l.in("dy", {rows, width});
    l.keep_all(gelu(l.tape, add_row(l.tape, x, bias)), dy, {x, bias});
    return l.build();
}

Program attention_program(std::uint64_t heads, std::uint64_t tokens, std::uint64_t depth, bool causal) {
    Layer l;
    const Dims dims{heads, tokens, depth};
    const Value q = l.in("q", dims), k = l.in("k", dims), v = l.in("v", dims), dy = l.in("dy", dims);
    l.keep_all(attention(l.tape, q, k, v, causal, Precision::i8x2), dy, {q, k, v});
    return l.build();
}

Program adamw_program(std::uint64_t rows, std::uint64_t width) {
    Layer l;
    const Value p = l.in("p", {rows, width}), gradient = l.in("gradient", {rows, width});
    TrainingSpec spec;
    spec.optimizer = Optimizer::adamw;
    add_optimizer(l.graph, spec, {{"p", p, gradient}});
    return l.build();
}

std::vector<FusedPattern> fused_patterns() {
    std::vector<FusedPattern> out;
    const auto add = [&](const std::string& name, Program program) { out.push_back({name, std::move(program)}); };
    const std::uint64_t shapes[][2] = {{4, 1}, {67, 33}, {61, 300}, {512, 20}, {1, 40}};
    for (const auto& [rows, width] : shapes) {
        const std::string size = " " + std::to_string(rows) + "x" + std::to_string(width);
        add("layer norm" + size, layer_norm_program(rows, width));
        add("rms norm" + size, rms_norm_program(rows, width));
        add("softmax and cross entropy" + size, softmax_cross_entropy_program(rows, width));
        add("bias and gelu" + size, bias_gelu_program(rows, width));
        add("adamw" + size, adamw_program(rows, width));
    }
    add("attention", attention_program(5, 17, 8, false));
    add("causal attention", attention_program(6, 33, 65, true));
    add("causal attention over levels", attention_program(4, 260, 4, true));
    add("attention of one token", attention_program(8, 1, 16, true));
    return out;
}

}  // namespace retrace::kernels::testing
