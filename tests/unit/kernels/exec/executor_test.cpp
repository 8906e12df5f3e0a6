// SPDX-License-Identifier: MIT
#include "kernels/exec/executor.hpp"

#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/training.hpp"
#include "kernels/commit/commitment.hpp"
#include "kernels/exec/plan.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::kernels {
namespace {

struct Setting {
    TrainingPrograms programs;
    Tensor x, y;
    Inputs inputs() const { return {5, {&x, &y}}; }
};

Setting small_setting() {
    ModelSpec model;
    model.input = {20};
    model.hidden = {16};
    model.classes = 4;
    TrainingSpec training;
    training.samples = 64;
    training.batch = 8;
    Setting out{*build_training(model, training, 64, 8), zeros(DType::u8, {64, 20}), zeros(DType::u8, {64})};
    for (std::size_t i = 0; i < out.x.data.size(); ++i) out.x.data[i] = static_cast<std::uint8_t>(i * 37 + i / 20 * 11);
    for (std::size_t i = 0; i < 64; ++i) out.y.data[i] = static_cast<std::uint8_t>(i % 4);
    return out;
}

TEST(Executor, AStepCountsAndReportsTheLoss) {
    const Setting s = small_setting();
    ThreadPool pool(1);
    State state = run_initialiser(s.programs.init, 5, pool);
    EXPECT_EQ(state.step, 0u);
    Executor executor(s.programs.train, pool);
    const std::vector<Metric> metrics = executor.step(state, s.inputs());
    EXPECT_EQ(state.step, 1u);
    ASSERT_EQ(metrics.size(), 1u);
    EXPECT_EQ(metrics[0].name, "loss");
    EXPECT_GT(metrics[0].value, 0.5f);
    EXPECT_LT(metrics[0].value, 3.0f);
}

TEST(Executor, TracesAndOutputsLeaveTheStateAloneAndLeadToTheNextState) {
    const Setting s = small_setting();
    ThreadPool pool(2);
    const Program& program = s.programs.train;
    State state = run_initialiser(s.programs.init, 5, pool);
    const State before = state;
    Executor executor(program, pool);
    const std::vector<Hash32> trace = executor.trace(state, s.inputs());
    std::vector<std::uint32_t> all;
    for (std::uint32_t op = 0; op < program.ops.size(); ++op) all.push_back(op);
    const std::vector<Tensor> outputs = executor.outputs(state, s.inputs(), all);
    EXPECT_EQ(state, before);
    for (const std::uint32_t op : all) EXPECT_EQ(tensor_root(outputs[op], pool), trace[op]) << op;
    EXPECT_EQ(executor.output(state, s.inputs(), 7), outputs[7]);
    executor.step(state, s.inputs());
    for (std::uint32_t i = 0; i < program.states; ++i) {
        ASSERT_NE(program.tensors[i].writer, kNoWriter);
        EXPECT_EQ(state.tensors[i], outputs[program.tensors[i].writer]) << program.tensors[i].name;
    }
}

TEST(Executor, TamperingReachesTheStateAndTheTraceFromThatOpOn) {
    const Setting s = small_setting();
    ThreadPool pool(1);
    const State start = run_initialiser(s.programs.init, 5, pool);
    Executor honest(s.programs.train, pool), cheat(s.programs.train, pool);
    std::uint32_t op = 0;
    while (s.programs.train.ops[op].code != OpCode::matmul) ++op;
    cheat.set_tamper([op](std::uint64_t step, std::uint32_t at, Tensor& output) {
        if (step == 1 && at == op) output.data[0] ^= 1;
    });
    State a = start, b = start;
    honest.step(a, s.inputs());
    cheat.step(b, s.inputs());
    EXPECT_EQ(a, b);
    const std::vector<Hash32> good = honest.trace(a, s.inputs()), bad = cheat.trace(b, s.inputs());
    for (std::uint32_t i = 0; i < op; ++i) EXPECT_EQ(good[i], bad[i]);
    EXPECT_NE(good[op], bad[op]);
    honest.step(a, s.inputs());
    cheat.step(b, s.inputs());
    EXPECT_NE(a, b);
}

TEST(Executor, TheMemoryPlanIsKnownBeforeRunningAndSmallerThanAllOutputs) {
    const Setting s = small_setting();
    ThreadPool pool(1);
    std::uint64_t all = 0;
    const Program& program = s.programs.train;
    for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
        all += geometry(program.tensors[program.output_of(op)].dims).elements() * 4;
    }
    const Executor executor(program, pool);
    EXPECT_GT(executor.planned_bytes(), 0u);
    EXPECT_LT(executor.planned_bytes(), all / 2);
    EXPECT_LE(executor.planned_bytes(), plan_memory(program, {true, true, Fusion::none}).bytes);
}

TEST(Executor, AStateThatBecomesAnotherStateIsReadBeforeItIsWritten) {
    Graph g;
    const Value a = g.state("a", DType::f32, {2, 3});
    const Value b = g.state("b", DType::f32, {3, 2});
    const Value c = g.state("c", DType::f32, {2, 3});
    g.set_next(a, reshape(g, b, {2, 3}));
    g.set_next(b, reshape(g, a, {3, 2}));
    g.set_next(c, add(g, c, c));
    const Program program = *g.build();
    ThreadPool pool(1);
    State state;
    for (const float value : {1.0f, 2.0f, 3.0f}) {
        state.tensors.push_back(zeros(DType::f32, state.tensors.size() == 1 ? Dims{3, 2} : Dims{2, 3}));
        for (int i = 0; i < 6; ++i) state.tensors.back().f32()[i] = value;
    }
    Executor executor(program, pool);
    executor.step(state, {});
    EXPECT_EQ(state.tensors[0].f32()[5], 2.0f);
    EXPECT_EQ(state.tensors[1].f32()[5], 1.0f);
    EXPECT_EQ(state.tensors[2].f32()[5], 6.0f);
}

}  // namespace
}  // namespace retrace::kernels
