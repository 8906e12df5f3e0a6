// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/gradient_check.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/builder/layers.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels::testing {

Tensor noise(Dims dims, std::uint32_t seed) {
    Tensor tensor = zeros(DType::f32, std::move(dims));
    std::uint32_t x = seed * 2654435761u + 12345;
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
        x = x * 1664525u + 1013904223u;
        tensor.f32()[i] = static_cast<float>(x >> 8) * 0x1p-23f - 1.0f;
    }
    return tensor;
}

GradientProgram gradient_program(const std::vector<Dims>& shapes, const Forward& forward) {
    Graph g;
    Tape tape(g);
    std::vector<Value> parameters;
    GradientProgram out;
    for (const Dims& dims : shapes) {
        parameters.push_back(g.state("p" + std::to_string(parameters.size()), DType::f32, dims));
        out.state.tensors.push_back(noise(dims, static_cast<std::uint32_t>(parameters.size())));
    }
    const Value logits = forward(tape, parameters);
    const std::uint64_t rows = g.matrix(logits).rows;
    const Value labels = reshape(g, g.op(OpCode::iota, {}, {0}, {DType::i32, {rows}}), {rows, 1});
    const Loss loss = softmax_cross_entropy(g, logits, labels);
    g.set_metric(loss.loss, "loss");
    const auto gradients = tape.gradients(logits, loss.logits_gradient, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) g.set_next(parameters[i], gradients[i]);
    out.program = *g.build();
    return out;
}

void expect_gradients(const std::vector<Dims>& shapes, const Forward& forward) {
    const GradientProgram checked = gradient_program(shapes, forward);
    ThreadPool pool(1);
    Executor executor(checked.program, pool);
    const auto loss_at = [&](State state) { return double{executor.step(state, {})[0].value}; };
    State gradients = checked.state;
    executor.step(gradients, {});
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const std::uint64_t n = checked.state.tensors[t].elements();
        double largest = 0;
        for (std::uint64_t i = 0; i < n; i += 1 + n / 37) {
            constexpr float kStep = 1.0f / 1024;
            State up = checked.state, down = checked.state;
            up.tensors[t].f32()[i] += kStep;
            down.tensors[t].f32()[i] -= kStep;
            const double slope = (loss_at(up) - loss_at(down)) / (2.0 * kStep);
            const double found = gradients.tensors[t].f32()[i];
            EXPECT_NEAR(found, slope, 6e-4 + 0.02 * std::abs(slope)) << "tensor " << t << ", element " << i;
            largest = std::max(largest, std::abs(found));
        }
        EXPECT_GT(largest, 1e-3) << "tensor " << t << ": a check of zeros shows nothing";
    }
}

}  // namespace retrace::kernels::testing
