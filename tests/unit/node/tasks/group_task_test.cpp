// SPDX-License-Identifier: MIT
// The terms of a training in rounds: what the market gets of a plan, and which numbers it does not take.
#include "node/tasks/group_task.hpp"

#include <gmock/gmock.h>

#include "kernels/builder/rounds.hpp"
#include "kernels/program/codec.hpp"
#include "merkle/base/durable_file.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using testing::HasSubstr;

struct GroupTask : testing::Test {
    GroupTask() {
        plan = plan_of({});
        terms.plan = folder.path() / "plan.rtg";
        terms.rounds = 3;
        terms.members = 5;
        terms.inner = 2;
    }
    static kernels::GroupPlan plan_of(kernels::RoundsSpec rounds) {
        kernels::ModelSpec model;
        model.hidden = {4};
        model.input = {4};
        model.classes = 2;
        kernels::TrainingSpec training;
        training.samples = 8;
        training.batch = 4;
        training.steps = 6;
        rounds.inner = 2;
        return kernels::build_rounds(kernels::build_training(model, training, 8, 8).value(), training, rounds).value();
    }
    std::string refusal() { return group_spec_of(terms, plan).error().message; }

    test::TemporaryFolder folder;
    kernels::GroupPlan plan;
    GroupTerms terms;
};

TEST_F(GroupTask, TheTermsRepeatWhatThePlanRootCommitsTo) {
    const market::GroupSpec spec = group_spec_of(terms, plan).value();
    kernels::PlanHeader header{spec.steps_max, spec.shared, spec.public_tensors, {}};
    for (const market::PhaseRoot& phase : spec.phases)
        header.phases.push_back({static_cast<kernels::Phase>(phase.phase), phase.member_seed, phase.program_root});
    EXPECT_EQ(header.root(), kernels::plan_root(plan));
    EXPECT_EQ(spec.rounds, 3u);
    EXPECT_EQ(spec.least, 3u) << "half of the members";
    EXPECT_EQ(spec.catch_up_max, 45u) << "the messages of nine rounds";
}

TEST_F(GroupTask, NumbersThatTheMarketDoesNotTakeAreNamed) {
    terms.members = 1;
    EXPECT_THAT(refusal(), HasSubstr("members must be from 2"));
    terms.members = 256;
    EXPECT_THAT(refusal(), HasSubstr("to 255"));
    terms.members = 5;
    terms.least = 6;
    EXPECT_THAT(refusal(), HasSubstr("least_members"));
    terms.least = 2;
    terms.keep_rounds = 8;
    EXPECT_THAT(refusal(), HasSubstr("absence_limit must be below keep_rounds"));
    terms.keep_rounds = 9;
    terms.catch_up_max = 4;
    EXPECT_THAT(refusal(), HasSubstr("catch_up_max must be from the number of members"));
    terms.catch_up_max = 5;
    EXPECT_TRUE(group_spec_of(terms, plan));
    terms.max_age = 8;
    EXPECT_THAT(refusal(), HasSubstr("max_age must be below absence_limit"));
    terms.max_age = 2;
    EXPECT_THAT(refusal(), HasSubstr("max_age and absence_limit must together be at most keep_rounds"));
    terms.max_age = 1;
    EXPECT_EQ(group_spec_of(terms, plan).value().max_age, 1u);
    terms.max_age = 0;
    terms.ahead = 1;
    EXPECT_THAT(refusal(), HasSubstr("ahead is for a task with rollbacks"));
    terms.rollbacks = 1;
    EXPECT_THAT(refusal(), HasSubstr("rounds must be at least 4 times rollbacks times ahead, 4"));
    terms.rounds = 8;
    terms.ahead = 2;
    EXPECT_THAT(refusal(), HasSubstr("ahead and absence_limit must together be at most keep_rounds"));
    terms.keep_rounds = 10;
    EXPECT_EQ(group_spec_of(terms, plan).value().ahead, 2u);
    EXPECT_EQ(group_spec_of(terms, plan).value().rollbacks, 1u);
    terms.ahead = 0;
    EXPECT_THAT(refusal(), HasSubstr("ahead must be 1 or more"));
    terms.ahead = 1;
    terms.max_age = 1;
    EXPECT_THAT(refusal(), HasSubstr("max_age must be 0 with rollbacks"));
    terms.max_age = terms.rollbacks = 0;
    terms.ahead = 0;
    terms.inner = 1;
    EXPECT_THAT(refusal(), HasSubstr("inner must be 2"));
}

TEST_F(GroupTask, RegionsAreNamedByTermsThatTheMarketTakes) {
    kernels::RoundsSpec rounds;
    rounds.regions = 2;
    plan = plan_of(rounds);
    terms.regions = 2;
    const market::GroupSpec spec = group_spec_of(terms, plan).value();
    EXPECT_EQ(spec.rounds, 6u) << "of training, and of merged messages";
    EXPECT_EQ(spec.phases.size(), market::kRegionalPlanPhases);
    terms.regions = 3;
    EXPECT_THAT(refusal(), HasSubstr("of at least two members each"));
    terms.regions = 2;
    terms.mask_bits = 10;
    EXPECT_THAT(refusal(), HasSubstr("mask_bits is for a plan with masks"));
    terms.mask_bits = 0;
    terms.private_data = true;
    EXPECT_THAT(refusal(), HasSubstr("regions are for a task without"));
}

TEST_F(GroupTask, MessagesUnderMasksAreNotMerged) {
    kernels::RoundsSpec rounds;
    rounds.update = kernels::UpdateKind::masked;
    plan = plan_of(rounds);
    terms.mask_bits = 10;
    terms.mask_blocks = 4;
    terms.least = 3;
    terms.catch_up_max = 300;
    ASSERT_TRUE(group_spec_of(terms, plan)) << refusal();
    terms.regions = 2;
    EXPECT_THAT(refusal(), HasSubstr("private data, and masks"));
}

TEST_F(GroupTask, ASegmentCostsItsStepsAndOneRecord) {
    const auto cost = [&](kernels::Phase phase) { return kernels::step_cost(plan.at(phase).program); };
    EXPECT_EQ(segment_cost(plan, 5), cost(kernels::Phase::begin) + 5 * cost(kernels::Phase::add) +
                                         cost(kernels::Phase::end) + 2 * cost(kernels::Phase::inner) +
                                         cost(kernels::Phase::press));
    const CompiledFacts facts = facts_of(plan);
    EXPECT_EQ(facts.step_cost + 5 * facts.message_cost, segment_cost(plan, 5)) << "as a page computes it";
    EXPECT_GT(facts.message_cost, 0u);
}

TEST_F(GroupTask, TermsSurviveTheFile) {
    TaskFile task;
    task.program = folder.path() / "program.rtp";
    task.initialiser = folder.path() / "init.rtp";
    task.data = folder.path() / "data";
    task.steps = 6;
    task.interval = 2;
    task.price_ceiling = ledger::U256(1);
    terms.least = 4;
    terms.grace_blocks = 7;
    terms.absence_limit = 3;
    terms.max_age = 2;
    task.group = terms;
    task.compiled = facts_of(plan);
    ASSERT_TRUE(store_task_file(task, folder.path()));
    const auto loaded = load_task_file(folder.path());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->compiled, facts_of(plan));
    EXPECT_EQ(loaded->group->least, 4u);
    EXPECT_EQ(loaded->group->grace_blocks, 7u);
    EXPECT_EQ(loaded->group->absence_limit, 3u);
    EXPECT_EQ(loaded->group->max_age, 2u);
    EXPECT_EQ(group_spec_of(*loaded->group, plan).value().catch_up_max, 30u) << "the messages of six rounds";
    EXPECT_EQ(loaded->group->catch_up_max, std::nullopt);
}

TEST_F(GroupTask, AMemberLocksWhatItsLieWouldUndo) {
    TaskFile task;
    task.price_ceiling = ledger::U256(1'000);
    EXPECT_TRUE(rollback_stake_of(task).is_zero());
    task.group = terms;
    EXPECT_TRUE(rollback_stake_of(task).is_zero());
    task.group->rollbacks = 1;
    task.group->ahead = 4;
    EXPECT_EQ(rollback_stake_of(task), ledger::U256(20'000)) << "5/4 of 4 rounds of 4 others";
    task.program = folder.path() / "program.rtp";
    task.initialiser = folder.path() / "init.rtp";
    task.data = folder.path() / "data";
    task.steps = 6;
    task.interval = 2;
    ASSERT_TRUE(store_task_file(task, folder.path()));
    const auto loaded = load_task_file(folder.path());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->group->rollbacks, 1u);
    EXPECT_EQ(loaded->group->ahead, 4u);
}

TEST_F(GroupTask, APlanThatAllowsFewerStepsIsRefused) {
    ASSERT_TRUE(write_durably(terms.plan, {kernels::encode(plan)}));
    EXPECT_TRUE(read_plan(terms));
    terms.inner = 3;
    EXPECT_THAT(read_plan(terms).error().message, HasSubstr("it allows 2 inner steps, and the task names 3"));
}

}  // namespace
}  // namespace retrace::node
