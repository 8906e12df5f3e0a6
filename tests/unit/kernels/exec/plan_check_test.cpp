// SPDX-License-Identifier: MIT
// Plans are checked before they are used. These tests run the checker on the planner's output for every program, on
// plans that are wrong on purpose, and in the executors, which check again.
#include "kernels/exec/plan_check.hpp"

#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/any_programs.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;
using Where = BufferLocation::Where;

std::vector<PlanOptions> all_options() {
    PlanOptions rows{false, false};
    rows.row_bytes = 32 << 10;
    return {{}, {false, false}, {false, true, Fusion::elements}, {false, true, Fusion::none}, rows, {true}};
}

std::string verdict(const Program& program, const MemoryPlan& plan) {
    const auto checked = check_plan(program, plan);
    return checked ? "sound" : checked.error().message;
}

void expect_sound(const Program& program) {
    for (const Program& seen : {program, with_constants_first(rematerialise(program))}) {
        for (const PlanOptions& options : all_options()) {
            const MemoryPlan plan = propose_plan(seen, options);
            if (options.row_bytes == 0) {
                ASSERT_EQ(verdict(seen, plan), "sound");
                continue;
            }
            const auto rows = check_row_runs(seen, plan, options.row_bytes);  // everything that check_plan checks, too
            ASSERT_TRUE(rows) << rows.error().message;
        }
    }
}

std::vector<std::uint32_t> metric_bits(const std::vector<Metric>& metrics) {
    std::vector<std::uint32_t> out;
    for (const Metric& metric : metrics) out.push_back(to_bits(metric.value));
    return out;
}

/// Compares two steps of the CPU with every fusion, on one thread and three, with the reference.
void expect_the_bits_of_the_reference(const Program& program, const State& start, const Inputs& inputs) {
    ThreadPool one(1), three(3);
    Executor reference(program, one, Backend::reference);
    std::vector<State> states{start};
    std::vector<std::vector<std::uint32_t>> metrics;
    for (int step = 0; step < 2; ++step) {
        State next = states.back();
        metrics.push_back(metric_bits(reference.step(next, inputs)));
        states.push_back(std::move(next));
    }
    const auto trace = reference.trace(start, inputs);
    for (const Fusion fusion : {Fusion::none, Fusion::elements, Fusion::runs}) {
        for (ThreadPool* pool : {&one, &three}) {
            SCOPED_TRACE(::testing::Message() << "fusion " << int(fusion) << ", threads " << pool->threads());
            Executor cpu(program, *pool, Backend::cpu, fusion);
            ASSERT_EQ(cpu.trace(start, inputs), trace);
            State state = start;
            for (std::size_t step = 0; step < 2; ++step) {
                ASSERT_EQ(metric_bits(cpu.step(state, inputs)), metrics[step]);
                ASSERT_EQ(state, states[step + 1]);
            }
        }
    }
}

TEST(PlanCheck, EveryPlanOfPublishedTrainingsAndPatternsIsSound) {
    for (const auto& [name, recipe] : golden::recipes()) {
        SCOPED_TRACE(name);
        const TrainingPrograms programs = golden::programs(recipe);
        expect_sound(programs.train);
        expect_sound(programs.eval);
        expect_sound(programs.init);
    }
    for (const testing::FusedPattern& pattern : testing::fused_patterns()) {
        SCOPED_TRACE(pattern.name);
        expect_sound(pattern.program);
    }
}

TEST(PlanCheck, EveryPlanOfRandomProgramsIsSound) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        expect_sound(testing::random_program(seed));
    }
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        SCOPED_TRACE(seed);
        expect_sound(testing::any_program(seed).program);
    }
}

TEST(PlanCheck, ProgramsThatNobodyWouldWriteGiveTheBitsOfTheReference) {
    for (std::uint64_t seed = 1; seed <= 250; ++seed) {
        SCOPED_TRACE(seed);
        const testing::AnyProgram any = testing::any_program(seed);
        ASSERT_TRUE(check(any.program));
        ASSERT_NO_FATAL_FAILURE(expect_the_bits_of_the_reference(any.program, any.state, any.inputs()));
    }
}

// ---- past errors ----

/// A state is read as an image, and its own next value is computed from the windows.
Program gathered_from_its_own_state(bool product) {
    Graph g;
    const Value state = g.state("s", DType::f32, {1600, 1});
    const Value weights = g.state("w", DType::f32, {9, 1});
    const Value image = reshape(g, state, {1, 1, 40, 40});
    const Value windows = g.op(OpCode::window_gather, {image}, {3, 3, 1, 1, 1, 1, 0});
    g.set_next(state, product ? matmul(g, windows, weights, Precision::f32) : g.op(OpCode::row_max, {windows}));
    return *g.build();
}

/// Two tensors of a fused run whose sizes differ by less than the memory alignment.
Program two_sizes_in_a_fused_run() {
    Graph g;
    const Value x = g.state("x", DType::f32, {5, 9000}), y = g.state("y", DType::f32, {5, 9001});
    const Value z = g.state("z", DType::f32, {5, 8999});
    const Value padded = g.op(OpCode::pad, {z}, {0, 0, 0, 1, to_bits(0.5F)});
    const Value sums = g.op(OpCode::row_sum, {g.op(OpCode::mul, {padded, x})});
    const Value columns = g.op(OpCode::col_sum, {g.op(OpCode::add, {y, y})});
    g.set_next(g.state("sums", DType::f32, g.dims(sums)), sums);
    g.set_next(g.state("columns", DType::f32, g.dims(columns)), columns);
    return *g.build();
}

/// A metric that is last read by the next ops of its elementwise run.
Program metric_in_a_run() {
    Graph g;
    const Value s = g.state("s", DType::f32, {});
    const Value metric = g.op(OpCode::exp, {s});
    g.set_metric(metric, "early");
    g.set_next(s, g.op(OpCode::tanh, {g.op(OpCode::neg, {metric})}));
    return *g.build();
}

TEST(PlanCheck, WhatHostileProgramsOnceGotPastThePlannerGivesTheBitsOfTheReference) {
    for (const Program& program : {gathered_from_its_own_state(false), gathered_from_its_own_state(true),
                                   two_sizes_in_a_fused_run(), metric_in_a_run()}) {
        expect_sound(program);
        expect_the_bits_of_the_reference(program, testing::random_state(program, 7), {});
    }
}

std::uint32_t only(const Program& program, OpCode code) {
    std::uint32_t op = 0;
    while (program.ops[op].code != code) ++op;
    return op;
}

TEST(PlanCheck, ThePlansOfOldAreRefused) {
    for (const bool product : {false, true}) {
        const Program program = gathered_from_its_own_state(product);
        MemoryPlan plan = propose_plan(program);
        plan.places[only(program, product ? OpCode::matmul : OpCode::row_max)] = {Where::state, 0};
        EXPECT_THAT(verdict(program, plan), HasSubstr("overwrites what op"));
    }
    const Program sizes = two_sizes_in_a_fused_run();
    MemoryPlan plan = propose_plan(sizes);
    ASSERT_EQ(plan.fused_runs.size(), 1U);
    plan.places[only(sizes, OpCode::add)].at = plan.places[only(sizes, OpCode::pad)].at;
    EXPECT_THAT(verdict(sizes, plan), HasSubstr("overwrites what op"));
    const Program metric = metric_in_a_run();
    plan = propose_plan(metric);
    plan.places[only(metric, OpCode::exp)] = {Where::scratch, 5};
    EXPECT_THAT(verdict(metric, plan), HasSubstr("a metric is gone"));
}

// ---- plans that are wrong on purpose ----

/// Expects a plan in which `change` moved the place of an op to be refused, for every op to which `change` applies.
template <class Change>
void expect_refused(const Program& program, const PlanOptions& options, Change change) {
    const MemoryPlan plan = propose_plan(program, options);
    std::size_t changed = 0;
    for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
        MemoryPlan other = plan;
        if (!change(other, op)) continue;
        ++changed;
        EXPECT_NE(verdict(program, other), "sound") << "op " << op;
    }
    EXPECT_GT(changed, 0U);
}

TEST(PlanCheck, DamagedPlansAreRefused) {
    const Program program = testing::softmax_cross_entropy_program(48, 1000);
    const auto bytes = [&](std::uint32_t op) {
        return geometry(program.tensors[program.output_of(op)].dims).elements() * 4;
    };
    expect_refused(program, {}, [&](MemoryPlan& plan, std::uint32_t op) {
        if (plan.places[op].where != Where::arena) return false;
        plan.places[op].at = (plan.bytes + 63) / 64 * 64;  // past the end
        return bytes(op) != 0;
    });
    expect_refused(program, {}, [&](MemoryPlan& plan, std::uint32_t op) {
        if (plan.places[op].where != Where::arena) return false;
        ++plan.places[op].at;  // misaligned
        return true;
    });
    expect_refused(program, {}, [&](MemoryPlan& plan, std::uint32_t op) {
        if (plan.places[op].where != Where::chunk) return false;
        plan.places[op].at = plan.fused_runs[0].bytes;  // beyond the chunk
        return true;
    });
    expect_refused(program, {}, [&](MemoryPlan& plan, std::uint32_t op) {
        if (plan.places[op].where != Where::chunk) return false;
        plan.places[op] = {Where::scratch, kScratchSlots};
        return true;
    });
    expect_refused(program, {}, [&](MemoryPlan& plan, std::uint32_t op) {
        if (op >= plan.fused_runs[0].whole.size()) return false;
        plan.fused_runs[0].whole[op] = !plan.fused_runs[0].whole[op];  // here: input `op` of the fused run
        return true;
    });
    MemoryPlan plan = propose_plan(program);
    plan.fused_runs[0].parts = 7;
    EXPECT_NE(verdict(program, plan), "sound");
    plan = propose_plan(program);
    plan.units.pop_back();
    EXPECT_NE(verdict(program, plan), "sound");
    plan = propose_plan(program);
    plan.places.pop_back();
    EXPECT_NE(verdict(program, plan), "sound");
}

TEST(PlanCheck, APlanThatDoesNotGoRowByRowIsRefusedWhereRowsAreNeeded) {
    const Program program = testing::softmax_cross_entropy_program(48, 1000);
    PlanOptions by_rows{false, false};
    by_rows.row_bytes = 32 << 10;
    const MemoryPlan good = propose_plan(program, by_rows);
    ASSERT_FALSE(good.fused_runs.empty());
    ASSERT_TRUE(check_row_runs(program, good, by_rows.row_bytes));
    EXPECT_FALSE(check_row_runs(program, good, good.chunk_bytes - 1)) << "more than a block has";
    const MemoryPlan chunks = propose_plan(program);
    ASSERT_EQ(verdict(program, chunks), "sound");
    EXPECT_FALSE(check_row_runs(program, chunks, 1 << 30)) << "chunks and runs of the host";
}

/// All values at one address: correct only for values that are read at once and in place.
TEST(PlanCheck, ValuesThatLieOnEachOtherAreRefused) {
    std::size_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        const Program program = testing::any_program(seed).program;
        MemoryPlan plan = propose_plan(program, {true});
        for (std::uint32_t op = 1; op < program.ops.size(); ++op) {
            // The output of op 0 overlaps that of op `op`, and a later op reads it.
            bool later = false;
            for (std::uint32_t reader = op + 1; reader < program.ops.size(); ++reader)
                later |= std::ranges::count(program.ops[reader].inputs, program.output_of(0)) != 0;
            const auto elements = [&](std::uint32_t o) {
                return geometry(program.tensors[program.output_of(o)].dims).elements();
            };
            if (!later || elements(0) == 0 || elements(op) == 0) continue;
            MemoryPlan other = plan;
            other.bytes += 1 << 20;
            other.places[0].at = other.places[op].at;
            ASSERT_NE(verdict(program, other), "sound") << "op " << op;
            ++refused;
        }
    }
    EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace retrace::kernels
