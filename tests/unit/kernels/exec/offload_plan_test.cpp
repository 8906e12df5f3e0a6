// SPDX-License-Identifier: MIT
#include "kernels/exec/offload_plan.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "tests/unit/kernels/any_programs.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;

std::uint64_t everything(const OffloadPlan& plan) {
    std::uint64_t sum = 0;
    for (const OffloadBlock& block : plan.blocks) sum += block.bytes;
    return sum;
}

/// Plans rooms from the least to one in which everything has room; plan_offload checks each of them.
void expect_plans(const Program& given) {
    for (const Program& program : {given, with_constants_first(rematerialise(given))}) {
        for (const PlanOptions& options : {PlanOptions{}, PlanOptions{true, true, Fusion::none}}) {
            const MemoryPlan plan = plan_memory(program, options);
            const std::uint64_t least = least_room(program, plan, 64);
            ASSERT_FALSE(plan_offload(program, plan, {least - 64, 64}));
            std::uint64_t all = least;
            for (std::uint64_t room = least; room <= 2 * all; room += 64 + room / 3) {
                const auto offload = plan_offload(program, plan, {room, 64});
                ASSERT_TRUE(offload) << offload.error().message << " in " << room;
                all = std::max(least, everything(*offload));
            }
        }
    }
}

TEST(OffloadPlan, EveryRoomOfPublishedTrainingsAndPatternsHasAPlan) {
    for (const auto& [name, recipe] : golden::recipes()) {
        SCOPED_TRACE(name);
        const TrainingPrograms programs = golden::programs(recipe);
        ASSERT_NO_FATAL_FAILURE(expect_plans(programs.train));
        ASSERT_NO_FATAL_FAILURE(expect_plans(programs.init));
    }
    for (const testing::FusedPattern& pattern : testing::fused_patterns()) {
        SCOPED_TRACE(pattern.name);
        ASSERT_NO_FATAL_FAILURE(expect_plans(pattern.program));
    }
}

TEST(OffloadPlan, EveryRoomOfRandomProgramsHasAPlan) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        ASSERT_NO_FATAL_FAILURE(expect_plans(testing::random_program(seed)));
    }
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE(seed);
        ASSERT_NO_FATAL_FAILURE(expect_plans(testing::any_program(seed).program));
    }
}

struct Planned {
    Program program;
    MemoryPlan plan;
    OffloadPlan offload;
};

/// A training in half as much memory as its state and its activations take.
Planned half_a_training() {
    const auto recipes = golden::recipes();
    Planned out;
    out.program = golden::programs(recipes.at("gpt")).train;
    out.plan = plan_memory(out.program);
    const std::uint64_t least = least_room(out.program, out.plan);
    const std::uint64_t all = everything(*plan_offload(out.program, out.plan, {least, 4096}));
    out.offload = *plan_offload(out.program, out.plan, {std::max(least, all / 2), 4096});
    return out;
}

TEST(OffloadPlan, TransfersTakeMostOfTheTimeThatTheyHave) {
    const Planned planned = half_a_training();
    std::size_t early = 0, loads = 0;
    for (std::size_t unit = 0, done = 0; unit < planned.offload.needed.size(); ++unit) {
        for (; done < planned.offload.needed[unit]; ++done) {
            if (planned.offload.transfers[done].store) continue;
            ++loads;
            early += planned.offload.transfers[done].after < unit ? 1 : 0;
        }
    }
    ASSERT_GT(loads, 0U);
    EXPECT_GT(early, loads / 2) << "of " << loads << " loads so many begin before the unit before theirs is done";
}

/// Changes every transfer and every placement in every way that may be wrong, and expects that most are refused and none
/// that is accepted computes anything else (offloaded_executor_test.cpp runs accepted plans).
TEST(OffloadPlan, DamagedPlansAreRefused) {
    const Planned good = half_a_training();
    const auto refused = [&](const std::function<void(OffloadPlan&)>& damage) {
        OffloadPlan bad = good.offload;
        damage(bad);
        return !check_offload(good.program, good.plan, bad);
    };
    for (std::size_t i = 0; i < good.offload.transfers.size(); ++i) {
        const Transfer& transfer = good.offload.transfers[i];
        SCOPED_TRACE(i);
        EXPECT_TRUE(refused([&](OffloadPlan& p) { p.transfers[i].at = p.room; }));
        EXPECT_TRUE(refused([&](OffloadPlan& p) { p.transfers[i].store = !p.transfers[i].store; }));
        EXPECT_TRUE(refused([&](OffloadPlan& p) { p.transfers[i].block = kNoBlock; }));
        EXPECT_TRUE(refused([&](OffloadPlan& p) { p.transfers[i].after = kNoBlock; }));
        if (good.offload.blocks[transfer.block].state != kNoBlock) {
            EXPECT_TRUE(refused([&](OffloadPlan& p) { p.transfers[i].next = !p.transfers[i].next; }));
        }
        if (transfer.store && transfer.after > 0) {  // before the unit that computes it
            EXPECT_TRUE(refused([&](OffloadPlan& p) {
                for (std::size_t j = 0; j <= i; ++j) p.transfers[j].after = 0;
                std::swap(p.transfers[i], p.transfers[0]);
            }));
        }
    }
    for (std::size_t unit = 0; unit < good.offload.units.size(); ++unit) {
        SCOPED_TRACE(unit);
        const bool waits = good.offload.needed[unit] > (unit == 0 ? 0 : good.offload.needed[unit - 1]);
        if (waits) {
            const std::uint32_t before = unit == 0 ? 0 : good.offload.needed[unit - 1];
            EXPECT_TRUE(refused([&](OffloadPlan& p) {
                for (std::size_t u = unit; u < p.needed.size(); ++u) p.needed[u] = std::min(p.needed[u], before);
            }));
        }
        for (std::size_t i = 0; i < good.offload.units[unit].size(); ++i) {
            EXPECT_TRUE(refused([&](OffloadPlan& p) { p.units[unit][i].at = p.room; }));
            EXPECT_TRUE(refused([&](OffloadPlan& p) { p.units[unit].erase(p.units[unit].begin() + long(i)); }));
        }
    }
    EXPECT_TRUE(refused([](OffloadPlan& p) { p.transfers.pop_back(); }));
    EXPECT_TRUE(refused([](OffloadPlan& p) { p.units.pop_back(); }));
    EXPECT_TRUE(refused([](OffloadPlan& p) { p.block_of.pop_back(); }));
}

TEST(OffloadPlan, ARoomThatIsTooSmallIsRefusedWithTheLeast) {
    const Planned planned = half_a_training();
    const std::uint64_t least = least_room(planned.program, planned.plan);
    const auto refused = plan_offload(planned.program, planned.plan, {least - 4096, 4096});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("this program needs " + std::to_string(least) + " at least"));
}

}  // namespace
}  // namespace retrace::kernels
