// SPDX-License-Identifier: MIT
// Random programs: with any grouping, aliasing, overwriting and reuse by the planner, the state and metrics equal those
// of the reference, which does none of this.
#include "kernels/exec/plan.hpp"

#include <gmock/gmock.h>

#include "kernels/builder/graph.hpp"
#include "kernels/exec/arena.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels {
namespace {

TEST(MemoryPlan, RandomProgramsGiveTheBitsOfTheReference) {
    ThreadPool pool(2);
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Program program = testing::random_program(seed);
        Executor cpu(program, pool, Backend::cpu), reference(program, pool, Backend::reference);
        State a = testing::random_state(program, seed), b = a;
        for (int step = 0; step < 2; ++step) {
            const auto found = cpu.step(a, {}), expected = reference.step(b, {});
            ASSERT_EQ(found.size(), expected.size());
            ASSERT_EQ(to_bits(found[0].value), to_bits(expected[0].value));
            ASSERT_EQ(a, b);
        }
    }
}

TEST(MemoryPlan, EveryOpIsInOneUnitAndEveryPlaceInsideTheArena) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const Program program = testing::random_program(seed);
        const MemoryPlan plan = plan_memory(program);
        std::uint32_t next = 0;
        for (const PlanUnit& unit : plan.units) {
            ASSERT_EQ(unit.first, next);
            next = unit.end();
        }
        ASSERT_EQ(next, program.ops.size());
        for (std::uint32_t op = 0; op < next; ++op) {
            const std::uint64_t bytes = geometry(program.tensors[program.output_of(op)].dims).elements() * 4;
            if (plan.places[op].where == BufferLocation::Where::arena &&
                program.tensors[program.output_of(op)].dtype == DType::f32) {
                ASSERT_LE(plan.places[op].at + bytes, plan.bytes);
            }
        }
    }
}

/// A state whose rows are updated in place, and the second operand's memory where that has the same size.
TEST(MemoryPlan, AnUpdateOfSomeElementsTakesOverTheFirstOperandOnly) {
    for (const bool rows : {false, true}) {
        Graph g;
        const Value base = g.state("base", DType::f32, {40, 40}), values = g.state("values", DType::f32, {40, 40});
        const Value at = g.state("at", DType::i32, rows ? Dims{40} : Dims{40, 40});
        const auto update = [&](Value first, Value second) {
            return rows ? g.op(OpCode::put_rows, {first, second, at}) : g.op(OpCode::row_add_at, {first, at, second});
        };
        const Value sum = g.op(OpCode::add, {base, values}), other = g.op(OpCode::sub, {base, values});
        const Value updated = update(update(update(sum, other), values), base);
        g.set_next(base, update(base, updated));
        g.set_next(values, update(updated, values));
        const Program program = *g.build();
        const MemoryPlan plan = plan_memory(program);
        const auto first = static_cast<std::uint32_t>(program.ops.size() - 5);
        for (std::uint32_t op = first; op < first + 3; ++op) {
            EXPECT_EQ(plan.places[op].where, BufferLocation::Where::arena);
            EXPECT_EQ(plan.places[op].at, plan.places[0].at) << "the memory of the sum";
        }
        EXPECT_EQ(plan.places[first + 3].where, BufferLocation::Where::state) << "the base";
        EXPECT_NE(plan.places[first + 4].where, BufferLocation::Where::state) << "the values are read as a whole";
        ThreadPool pool(2);
        Executor cpu(program, pool, Backend::cpu), reference(program, pool, Backend::reference);
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            State a = testing::random_state(program, seed), b = a;
            cpu.step(a, {});
            reference.step(b, {});
            ASSERT_EQ(a, b) << "seed " << seed;
        }
    }
}

TEST(MemoryPlan, TheArenaJoinsFreeRunsAndTakesTheSmallestThatFits) {
    Arena arena;
    const auto a = arena.take(100), b = arena.take(50), c = arena.take(200);
    arena.give(a, 100);
    arena.give(c, 200);
    EXPECT_EQ(arena.take(90), a);
    arena.give(a, 90);
    arena.give(b, 50);
    EXPECT_EQ(arena.take(350), 0u);
    EXPECT_EQ(arena.size(), 350u);
    arena.give(0, 350);
    EXPECT_EQ(arena.take(400), 0u);  // the free end grows
    EXPECT_EQ(arena.size(), 400u);
}

}  // namespace
}  // namespace retrace::kernels
