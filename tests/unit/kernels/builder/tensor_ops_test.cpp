// SPDX-License-Identifier: MIT
// Tensors of any rank: gradients against finite differences, shapes by PyTorch's rule, the order of samples.
#include "kernels/builder/tensor_ops.hpp"

#include <gmock/gmock.h>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/samples.hpp"
#include "kernels/exec/executor.hpp"
#include "tests/unit/kernels/gradient_check.hpp"

namespace retrace::kernels {
namespace {

using testing::expect_gradients;
using Values = std::vector<Value>;

Value rows(Tape& tape, Value x, std::uint64_t count) {
    return view_as(tape, x, {count, tape.graph().matrix(x).elements() / count});
}

TEST(Broadcast, ShapesFollowTheLastAxis) {
    EXPECT_EQ(broadcast_shape({{4, 1, 3}, {5, 1}}), (Dims{4, 5, 3}));
    EXPECT_EQ(broadcast_shape({{}, {2, 2}}), (Dims{2, 2}));
    EXPECT_EQ(broadcast_shape({{2, 3}, {4, 3}}), std::nullopt);
}

TEST(Broadcast, GradientsOfEveryWayToStretch) {
    for (const Dims& small :
         {Dims{2, 3, 4}, Dims{4}, Dims{2, 1, 1}, Dims{1, 3, 1}, Dims{2, 1, 4}, Dims{3, 1}, Dims{}, Dims{1}}) {
        for (const OpCode code : {OpCode::add, OpCode::sub, OpCode::mul}) {
            expect_gradients({{2, 3, 4}, small}, [code](Tape& tape, const Values& p) {
                return rows(tape, unary(tape, OpCode::tanh, binary(tape, code, p[0], p[1])), 2);
            });
        }
    }
}

TEST(Broadcast, OperandsThatStretchAlongDifferentAxes) {
    expect_gradients({{3, 1, 4}, {2, 1}},
                     [](Tape& tape, const Values& p) { return rows(tape, binary(tape, OpCode::mul, p[0], p[1]), 3); });
    expect_gradients({{2, 1, 3}}, [](Tape& tape, const Values& p) {
        return rows(tape, broadcast_to(tape, p[0], {2, 2, 4, 3}), 2);
    });
}

TEST(Gradients, OfFunctions) {
    for (const OpCode code : {OpCode::neg, OpCode::exp, OpCode::tanh, OpCode::sigmoid, OpCode::erf}) {
        expect_gradients({{3, 4}}, [code](Tape& tape, const Values& p) { return unary(tape, code, p[0]); });
    }
    expect_gradients({{3, 4}}, [](Tape& tape, const Values& p) {
        const Value positive = unary(tape, OpCode::exp, p[0]);
        const Value roots =
            binary(tape, OpCode::mul, unary(tape, OpCode::sqrt, positive), unary(tape, OpCode::rsqrt, positive));
        const Value logs = binary(tape, OpCode::div, unary(tape, OpCode::log, positive), positive);
        return binary(tape, OpCode::add, roots, binary(tape, OpCode::mul, logs, power(tape, positive, 2.0f)));
    });
}

TEST(Gradients, OfSoftmaxOverAnAxisThatIsNotTheLast) {
    expect_gradients({{2, 3, 4}}, [](Tape& tape, const Values& p) { return rows(tape, softmax(tape, p[0], 1), 2); });
    expect_gradients({{3, 5}}, [](Tape& tape, const Values& p) { return log_softmax(tape, p[0], 1); });
}

TEST(Gradients, OfSumsAndMeansOverAxes) {
    expect_gradients({{2, 3, 4}}, [](Tape& tape, const Values& p) { return mean_axes(tape, p[0], {1}, false); });
    expect_gradients({{2, 3, 4}}, [](Tape& tape, const Values& p) {
        return rows(tape, binary(tape, OpCode::sub, p[0], sum_axes(tape, p[0], {0, 2}, true)), 2);
    });
}

TEST(Gradients, OfPartsAndJoins) {
    expect_gradients({{3, 4}, {3, 2}}, [](Tape& tape, const Values& p) {
        return joined(tape, {part_of(tape, p[0], 1, 1, 2), p[1], padded(tape, p[1], {0, 1}, {0, 0}, 0.5f)}, 1);
    });
}

TEST(Gradients, OfChoices) {
    expect_gradients({{3, 4}, {4}}, [](Tape& tape, const Values& p) {
        const Value condition = tape.graph().constant(DType::boolean, {3, 1}, {1, 0, 1});
        return clamp(tape, choose(tape, condition, p[0], p[1]), -0.9f, 0.9f);
    });
}

TEST(Gradients, OfProductsOfManyMatrices) {
    expect_gradients({{2, 3, 5}, {5, 4}}, [](Tape& tape, const Values& p) {
        return rows(tape, matrix_product(tape, p[0], p[1], Precision::f32), 2);
    });
    expect_gradients({{2, 2, 3, 5}, {2, 1, 5, 4}}, [](Tape& tape, const Values& p) {
        return rows(tape, matrix_product(tape, p[0], p[1], Precision::f32), 4);
    });
}

TEST(Gradients, OfConvolutionsWithStridesOfTheirOwnAndNoBias) {
    expect_gradients({{2, 2, 5, 6}, {3, 2, 2, 3}}, [](Tape& tape, const Values& p) {
        return rows(tape, conv2d(tape, p[0], p[1], std::nullopt, {1, 1, 1, 0, 2, 1}, Precision::f32), 2);
    });
}

/// A compressed update: the greatest elements leave the remainder for the anchor, and nothing is lost between them.
TEST(Places, WhatIsPickedAndPutBackGivesTheTensorAgain) {
    Graph g;
    const Value rest = g.state("rest", DType::f32, {3, 40}), anchor = g.state("anchor", DType::f32, {3, 40});
    const Value places = row_top(g, rest, 8), values = row_pick(g, rest, places);
    g.set_next(anchor, row_add_at(g, anchor, places, values));
    g.set_next(rest, row_add_at(g, rest, places, neg(g, values)));
    ThreadPool pool(1);
    const Program program = *g.build();
    Executor executor(program, pool);
    State state{0, {zeros(DType::f32, {3, 40}), zeros(DType::f32, {3, 40})}};
    for (int i = 0; i < 120; ++i) state.tensors[0].f32()[i] = static_cast<float>((i * 37 + 5) % 101 - 50);
    const Tensor before = state.tensors[0];
    executor.step(state, {});
    for (int row = 0; row < 3; ++row) {
        int moved = 0;
        float least = 1000, left = 0;
        for (int i = 40 * row; i < 40 * row + 40; ++i) {
            const float in_anchor = state.tensors[1].f32()[i], in_rest = state.tensors[0].f32()[i];
            EXPECT_EQ(in_anchor + in_rest, before.f32()[i]);
            if (in_anchor != 0) ++moved, least = std::min(least, std::abs(in_anchor));
            left = std::max(left, std::abs(in_rest));
        }
        EXPECT_EQ(moved, 8);
        EXPECT_GE(least, left);
    }
}

TEST(Words, AMaskThatIsAddedAndSubtractedLeavesTheBits) {
    Graph g;
    const Value x = g.state("x", DType::i32, {5, 7}), key = g.state("key", DType::i32, {8});
    const Value mask = chacha_bits(g, key, 3, {5, 7});
    g.set_next(x, and_bits(g, sub_wrap(g, add_wrap(g, x, mask), mask), g.scalar_i32(0xff)));
    ThreadPool pool(1);
    const Program program = *g.build();
    Executor executor(program, pool);
    State state{9, {zeros(DType::i32, {5, 7}), zeros(DType::i32, {8})}};
    for (std::uint32_t i = 0; i < 35; ++i) store_u32(state.tensors[0].data.data() + 4 * i, i * 0x9e3779b9u);
    executor.step(state, {});
    for (std::uint32_t i = 0; i < 35; ++i) EXPECT_EQ(state.tensors[0].bits(i), (i * 0x9e3779b9u) & 0xffu);
}

TEST(Rows, ThatArePutIntoATableAreThere) {
    Graph g;
    const Value table = g.state("table", DType::f32, {4, 3}), rows = g.state("rows", DType::f32, {2, 3});
    const Value index = g.constant(DType::i32, {2}, {3, 0, 0, 0, 1, 0, 0, 0});
    g.set_next(table, put_rows(g, table, rows, index));
    ThreadPool pool(1);
    const Program program = *g.build();
    Executor executor(program, pool);
    State state{0, {zeros(DType::f32, {4, 3}), zeros(DType::f32, {2, 3})}};
    for (int i = 0; i < 6; ++i) state.tensors[1].f32()[i] = static_cast<float>(i + 1);
    executor.step(state, {});
    EXPECT_THAT(std::vector<float>(state.tensors[0].f32(), state.tensors[0].f32() + 12),
                ::testing::ElementsAre(0, 0, 0, 4, 5, 6, 0, 0, 0, 1, 2, 3));
}

TEST(SampleOrder, SequentialWalksTheDataAndBeginsAgainWithoutTheShortBatch) {
    TrainingSpec spec;
    spec.samples = 11;
    spec.batch = 4;
    spec.order = DataOrder::sequential;
    Graph g;
    const Value seen = g.state("seen", DType::i32, {4});
    g.set_next(seen, training_index(g, spec));
    const Program program = *g.build();
    ThreadPool pool(1);
    Executor executor(program, pool);
    State state{0, {zeros(DType::i32, {4})}};
    for (const std::uint32_t first : {0u, 4u, 0u, 4u}) {
        executor.step(state, {});
        for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(state.tensors[0].bits(i), first + i);
    }
    for (const std::uint64_t step : {(1ull << 21) - 1, (1ull << 21) - 2, 699'050ull}) {
        state.step = step;
        executor.step(state, {});
        EXPECT_EQ(state.tensors[0].bits(0), step % 2 * 4) << step;
    }
}

}  // namespace
}  // namespace retrace::kernels
