// SPDX-License-Identifier: MIT
#include "kernels/plan/group_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kernels/plan/small_plan.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;
using testing::small_phase;
using testing::small_plan;
using testing::SmallPhase;
using testing::SmallStates;

std::string refusal(const GroupPlan& plan) {
    const auto checked = check(plan);
    return checked ? "" : checked.error().message;
}

GroupPlan with(Phase phase, const SmallPhase& write) {
    GroupPlan plan = small_plan();
    for (PhaseProgram& old : plan.phases)
        if (old.phase == phase) old = small_phase(phase, old.member_seed, write);
    return plan;
}

TEST(GroupPlan, IsEncodedInOneWay) {
    const GroupPlan plan = small_plan();
    EXPECT_EQ(refusal(plan), "");
    const Bytes bytes = encode(plan);
    EXPECT_EQ(decode_plan(bytes).value(), plan);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(decode_plan(View(bytes).first(cut)).has_value());
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode_plan(longer).has_value());
    Bytes stages = bytes;
    stages[8] = 2;
    EXPECT_THAT(decode_plan(stages).error().message, HasSubstr("mode 2 unknown"));
}

TEST(GroupPlan, ItsRootFollowsFromEveryPart) {
    const GroupPlan plan = small_plan();
    std::vector<Hash32> roots{plan_root(plan)};
    GroupPlan other = plan;
    other.steps_max = 5;
    roots.push_back(plan_root(other));
    other = plan;
    other.shared = 2;
    roots.push_back(plan_root(other));
    other = plan;
    other.public_tensors = {3};
    roots.push_back(plan_root(other));
    other = plan;
    other.phases.back().member_seed = false;
    roots.push_back(plan_root(other));
    other = plan;
    other.phases.pop_back();
    roots.push_back(plan_root(other));
    other = with(Phase::end, [](Graph& g, const SmallStates& s) { g.set_next(s.local, add(g, s.anchor, s.anchor)); });
    roots.push_back(plan_root(other));
    for (std::size_t i = 0; i < roots.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) EXPECT_NE(roots[i], roots[k]);
}

TEST(GroupPlan, PhasesAreCompleteAndInOrder) {
    GroupPlan plan = small_plan();
    std::swap(plan.phases[3], plan.phases[4]);
    EXPECT_THAT(refusal(plan), HasSubstr("do not ascend"));
    plan = small_plan();
    plan.phases.erase(plan.phases.begin());
    EXPECT_EQ(refusal(plan), "") << "a task that begins with weights enters";
    plan.phases.pop_back();
    EXPECT_THAT(refusal(plan), HasSubstr("press is missing"));
    plan = small_plan();
    plan.phases[3].member_seed = true;
    EXPECT_THAT(refusal(plan), HasSubstr("add may not follow the member's seed"));
    for (const std::uint32_t steps : {0U, kInnerStepsMax + 1}) {
        plan = small_plan();
        plan.steps_max = steps;
        EXPECT_THAT(refusal(plan), HasSubstr("steps_max"));
    }
}

TEST(GroupPlan, PhasesHaveTheSameStateTensors) {
    GroupPlan plan = small_plan();
    plan.phases[4].program.tensors[1].name = "other";
    EXPECT_THAT(refusal(plan), HasSubstr("end: another tensor 1 (count)"));
    plan = small_plan();
    plan.shared = 0;
    EXPECT_THAT(refusal(plan), HasSubstr("number of shared tensors"));
    plan = small_plan();
    for (const std::vector<std::uint32_t>& wrong : {std::vector<std::uint32_t>{}, {0}, {4}, {3, 2}, {2, 2}}) {
        plan.public_tensors = wrong;
        EXPECT_NE(refusal(plan), "");
    }
}

TEST(GroupPlan, NoMemberReachesWhatAllShare) {
    const auto local = [](Graph& g, const SmallStates& s) { return add(g, s.local, s.local); };
    EXPECT_THAT(refusal(with(Phase::begin, [&](Graph& g, const SmallStates& s) { g.set_next(s.anchor, local(g, s)); })),
                HasSubstr("begin: tensor 0 (anchor) follows from tensors of one member"));
    EXPECT_THAT(refusal(with(Phase::add,
                             [&](Graph& g, const SmallStates& s) {
                                 g.dataset("message", DType::f32, {4});
                                 g.dataset("facts", DType::i32, kFactDims);
                                 g.set_next(s.anchor, local(g, s));
                             })),
                HasSubstr("add: tensor 0 (anchor) follows from tensors of one member"));
    EXPECT_THAT(refusal(with(Phase::add,
                             [&](Graph& g, const SmallStates& s) {
                                 const Value message = g.dataset("message", DType::f32, {4});
                                 g.dataset("facts", DType::i32, kFactDims);
                                 g.set_next(s.local, testing::copied(g, message));
                             })),
                HasSubstr("add writes tensor 3 (local), which begin does not"));
    EXPECT_THAT(refusal(with(Phase::inner, [&](Graph& g, const SmallStates& s) { g.set_next(s.anchor, local(g, s)); })),
                HasSubstr("inner writes tensor 0 (anchor), which all members share"));
    EXPECT_THAT(
        refusal(with(Phase::inner, [&](Graph& g, const SmallStates& s) { g.set_next(s.message, local(g, s)); })),
        HasSubstr("inner writes public tensor 2 (message)"));
    EXPECT_THAT(refusal(with(Phase::add, [](Graph& g, const SmallStates&) { g.dataset("message", DType::f32, {4}); })),
                HasSubstr("add has other data sets"));
    EXPECT_THAT(refusal(with(Phase::enter,
                             [](Graph& g, const SmallStates& s) {
                                 g.dataset("anchor", DType::f32, {4});
                                 g.set_next(s.anchor, add(g, s.local, s.local));
                             })),
                HasSubstr("enter does not write tensor 1"));
    EXPECT_THAT(refusal(with(Phase::init,
                             [](Graph& g, const SmallStates& s) {
                                 for (const Value state : {s.anchor, s.message, s.local})
                                     g.set_next(state, add(g, s.local, s.local));
                                 g.set_next(s.count, fill(g, 0.0f, {}));
                             })),
                HasSubstr("init reads a state tensor"));
}

}  // namespace
}  // namespace retrace::kernels
