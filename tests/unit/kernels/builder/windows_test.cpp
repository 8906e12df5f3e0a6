// SPDX-License-Identifier: MIT
// Ops that gather windows from the image instead of reading the window matrix: products on either side, maxima and
// their positions, for random images, windows, strides and paddings.
#include <gtest/gtest.h>

#include <random>

#include "kernels/builder/compose.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/exec/plan.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels {
namespace {

struct Case {
    std::uint64_t images, channels, height, width, kh, kw, sh, sw, ph, pw, columns;
    Precision precision;
};

Case random_case(std::mt19937_64& random) {
    const auto within = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
    Case c{within(1, 3), within(1, 3), within(3, 12), within(3, 12), within(1, 3),  within(1, 3),
           within(1, 3), within(1, 3), within(0, 2),  within(0, 2),  within(1, 20), Precision::f32};
    if (within(0, 3) == 0) c.sh = c.kh, c.sw = c.kw, c.ph = c.pw = 0;  // pooling
    c.precision = static_cast<Precision>(within(1, 4));
    return c;
}

/// State tensors: the image, two factors, and the results of the four readers.
Program program_of(const Case& c, std::uint64_t& gathers) {
    Graph g;
    const Value image = g.state("image", DType::f32, {c.images, c.channels, c.height, c.width});
    std::vector<std::uint64_t> attributes{c.kh, c.kw, c.sh, c.sw, c.ph, c.pw, to_bits(-0.5f)};
    const Value windows = g.op(OpCode::window_gather, {image}, attributes);
    const Dims shape = g.dims(windows);
    const Value right = g.state("right", DType::f32, {shape[1], c.columns});
    const Value left = g.state("left", DType::f32, {c.columns, shape[0]});
    const Value results[] = {matmul(g, windows, right, c.precision), matmul(g, left, windows, c.precision),
                             g.op(OpCode::row_max, {windows}), g.op(OpCode::row_argmax, {windows})};
    for (const Value result : results) {
        g.set_next(g.state("next", g.shape(result).dtype, g.dims(result)), result);
    }
    const Program program = *g.build();
    for (const BufferLocation& place : plan_memory(program).places)
        gathers += place.where == BufferLocation::Where::gathered;
    return program;
}

TEST(Windows, GatheredByTheirReadersGiveTheBitsOfTheMatrix) {
    std::mt19937_64 random(41);
    std::uint64_t gathers = 0;
    for (int i = 0; i < 60; ++i) {
        SCOPED_TRACE(i);
        const Program program = program_of(random_case(random), gathers);
        OpFacts facts;
        for (std::uint32_t t = 0; t < program.states; ++t) {
            facts.inputs.push_back({program.tensors[t].dtype, program.tensors[t].dims});
        }
        const auto data = i % 3 == 0 ? testing::Data::special : testing::Data::bell;
        State state{0, testing::random_inputs(facts, data, random)}, expected = state;
        ThreadPool pool(1 + static_cast<unsigned>(i) % 3);
        Executor(program, pool, Backend::cpu).step(state, {});
        Executor(program, pool, Backend::reference).step(expected, {});
        ASSERT_EQ(state, expected);
    }
    EXPECT_EQ(gathers, 60u);
}

TEST(Windows, OfManyRowsAreGatheredByTheThreadsThatMultiplyThem) {
    std::mt19937_64 random(5);
    std::uint64_t gathers = 0;
    const Program program = program_of({4, 2, 20, 21, 5, 5, 1, 1, 2, 2, 6, Precision::i8x2}, gathers);
    OpFacts facts;
    for (std::uint32_t t = 0; t < program.states; ++t) {
        facts.inputs.push_back({program.tensors[t].dtype, program.tensors[t].dims});
    }
    State state{0, testing::random_inputs(facts, testing::Data::bell, random)}, expected = state;
    ThreadPool pool(3);
    Executor(program, pool, Backend::cpu).step(state, {});
    Executor(program, pool, Backend::reference).step(expected, {});
    EXPECT_EQ(state, expected);
    EXPECT_EQ(gathers, 1u);
}

}  // namespace
}  // namespace retrace::kernels
