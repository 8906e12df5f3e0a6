// SPDX-License-Identifier: MIT
// Which runs are recipes. That their kernels give the bits of the interpreter is checked by cuda_parity.
#include "kernels/cuda/recipes.hpp"

#include <gmock/gmock.h>

#include "kernels/builder/training.hpp"
#include "kernels/cuda/device_program.hpp"
#include "kernels/cuda/layout.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels::cuda {
namespace {

using ::testing::IsEmpty;

/// Returns the texts of the runs with at least `least` elements of which a part is interpreted.
std::vector<std::string> interpreted_runs(const Program& program, std::uint64_t least) {
    const std::vector<OpFacts> facts = facts_of_ops(program);
    const MemoryPlan plan = plan_for_device(program);
    const Layout layout = lay_out(program, facts, plan);
    std::vector<std::uint8_t> memory;  // nobody reads it
    const auto at = addresses(program, plan, layout, memory.data() + 4096, memory.data() + 4096 + layout.arena);
    const auto owners = owners_of(program, plan);
    std::vector<std::string> out;
    for (const PlanUnit& unit : plan.units) {
        const Geometry shape = geometry(facts[unit.first].output.dims);
        if (shape.elements() < least) continue;
        std::vector<RunPart> parts;
        std::optional<std::string> text;
        if (unit.fused_run != kNoFusedRun) {
            const auto steps = placed_row_steps(program, facts, plan, unit, at, owners);
            parts = parts_of(steps, plan.fused_runs[unit.fused_run].parts);
            text = recipe_text(steps, plan.fused_runs[unit.fused_run].parts);
        } else if (is_elementwise(facts[unit.first].op.code)) {
            std::vector<ElementStep> steps;
            for (std::uint32_t op = unit.first; op < unit.end(); ++op)
                if (is_elementwise(facts[op].op.code)) steps.push_back(placed_step(program, facts[op], op, plan, at));
            parts = parts_of(steps, shape.elements(), shape.cols);
            text = recipe_text(steps, shape.elements(), shape.cols);
        }
        for (const RunPart& part : parts)
            if (!part.recipe) out.push_back(text.value_or(std::string(find_rule(facts[unit.first].op.code)->name)));
    }
    return out;
}

Program training_of(const std::string& kind, Optimizer optimizer) {
    ModelSpec model;
    model.kind = kind;
    model.input = {512};
    model.classes = 16384;
    model.width = 768, model.heads = 12, model.layers = 2;
    if (kind == "vit") model.input = {3, 64, 64}, model.classes = 10;
    TrainingSpec spec;
    spec.samples = 64, spec.batch = 16, spec.optimizer = optimizer;
    return build_training(model, spec, 16, 16)->train;
}

TEST(Recipes, TheLargeRunsOfTheBuildersTransformersAreAll) {
    for (const std::string kind : {"gpt", "llama", "vit"}) {
        SCOPED_TRACE(kind);
        const Program program = training_of(kind, Optimizer::adamw);
        EXPECT_THAT(interpreted_runs(for_device(program, UINT64_MAX), 1 << 20), IsEmpty());
        if (kind == "vit") continue;  // one run when little memory is taken
        EXPECT_THAT(interpreted_runs(for_device(program), 1 << 20), IsEmpty());
    }
    EXPECT_THAT(interpreted_runs(for_device(training_of("gpt", Optimizer::sgd), UINT64_MAX), 1 << 20), IsEmpty());
}

/// add; exp, of which the sum is read as well.
std::vector<ElementStep> two_steps() {
    auto* const memory = reinterpret_cast<std::uint8_t*>(std::uintptr_t{4096});
    std::vector<ElementStep> steps(2);
    steps[0].code = OpCode::add, steps[0].inputs = 2;
    steps[0].sides[0].data = memory, steps[0].sides[1].data = memory + 4096;
    steps[0].result.data = memory + 8192;
    steps[1].code = OpCode::exp, steps[1].inputs = 1;
    steps[1].sides[0].data = memory + 8192, steps[1].result.data = memory + 12288;
    return steps;
}

TEST(Recipes, ARunIsCutWhereNoValueOutsideMemoryGoesAcross) {
    std::vector<ElementStep> steps = two_steps();
    steps[1].code = OpCode::relu;
    steps.push_back(two_steps()[1]);
    steps[2].sides[0].data = steps[1].result.data, steps[2].result.data = steps[1].result.data + 4096;
    EXPECT_EQ(recipe_text(steps, 64, 8), "e e; add 0 1 !; relu 2 !; exp 3 !");
    auto parts = parts_of(steps, 64, 8);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_TRUE(parts[0].recipe) << "e e; add 0 1 !; relu 2 !";
    EXPECT_EQ(parts[0].count, 2u);
    EXPECT_FALSE(parts[1].recipe);
    EXPECT_EQ(parts[1].first, 2u);
    steps[1].result.data = steps[2].sides[0].data = nullptr;  // in a slot of the interpreter
    parts = parts_of(steps, 64, 8);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_FALSE(parts[0].recipe);
    EXPECT_EQ(parts[0].count, 3u);
}

TEST(Recipes, AStepAmongOthersIsNoKernelOfItsOwn) {
    std::vector<ElementStep> steps(3, two_steps()[0]);
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].result.data += 4096 * i;
    EXPECT_EQ(parts_of(steps, 64, 8).size(), 1u);
    EXPECT_FALSE(parts_of(steps, 64, 8)[0].recipe);
}

TEST(Recipes, WithoutElementsThereIsNone) { EXPECT_FALSE(parts_of({two_steps()[0]}, 0, 8)[0].recipe); }

TEST(Recipes, WhatDoesNotGoByQuadsOrIsTooLargeIsInterpreted) {
    const std::vector<ElementStep> steps{two_steps()[0]};
    EXPECT_TRUE(parts_of(steps, 64, 8)[0].recipe);
    EXPECT_FALSE(parts_of(steps, 60, 6)[0].recipe);
    EXPECT_FALSE(parts_of(steps, 2 * kRecipeElementsMax, 8)[0].recipe);
    std::vector<ElementStep> bytes = steps;
    bytes[0].sides[1].size = 1;
    EXPECT_FALSE(parts_of(bytes, 64, 8)[0].recipe);
}

TEST(Recipes, MemoryThatARunOverwritesIsStoredOnce) {
    std::vector<ElementStep> steps = two_steps();
    steps[1].result.data = steps[0].result.data;
    EXPECT_EQ(recipe_text(steps, 64, 8), "e e; add 0 1; exp 2 !");
    steps[1].result.data = steps[0].sides[0].data;  // in place
    EXPECT_EQ(recipe_text(steps, 64, 8), "e e; add 0 1 !; exp 2 !");
}

}  // namespace
}  // namespace retrace::kernels::cuda
