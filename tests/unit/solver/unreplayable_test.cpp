// SPDX-License-Identifier: MIT
// A run whose segments no auditor could replay in time would never be verified: it is declined while that is
// free.
#include "kernels/program/limits.hpp"
#include "solver/agent/agent.hpp"
#include "tests/unit/solver/broken_device.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::solver {
namespace {

class Unreplayable : public ::testing::Test {
protected:
    /// What the agent sends once it has prepared an assignment of which auditors can replay so much.
    std::vector<SolverMove> moves_for(std::uint64_t replay_cost_max) {
        return moves_for(replay_cost_max, workshop);
    }
    std::vector<SolverMove> moves_for(std::uint64_t replay_cost_max, Workshop& shop) {
        SolverAgent agent(SolverConfig{}, shop, *store);
        RunView run;
        run.terms = task.terms;
        run.may_accept = true;
        run.accept_by = 100;
        run.replay_cost_max = replay_cost_max;
        SolverView view;
        view.height = 10;
        view.runs = {run};
        const auto first = agent.on_view(view);
        EXPECT_TRUE(first.work.has_value());
        if (!first.work) return {};
        agent.on_done(first.work->run());
        return agent.on_view(view).moves;
    }
    std::uint64_t segment_cost() const {
        return kernels::step_cost(task.train.program()) * task.terms.schedule.interval;
    }

    /// The trace of a step, or fifteen roots: a tile is worth 2^18 multiply-adds, whatever part of it is
    /// filled.
    std::uint64_t hashing() const {
        const kernels::Program& program = task.train.program();
        std::uint64_t made = 0, kept = 0;
        for (std::uint32_t i = 0; i < program.tensors.size(); ++i) {
            const std::uint64_t tiles = kernels::geometry(program.tensors[i].dims).tiles();
            if (i < program.states) kept += tiles;
            if (program.is_op_output(i)) made += tiles;
        }
        return std::max(made, 15 * kept) << 18;
    }
    std::uint64_t whole_cost() const { return segment_cost() + hashing(); }

    test::TinyTask task;
    test::TemporaryDirectory directory;
    std::unique_ptr<CheckpointStore> store = CheckpointStore::open(directory.path).value();
    Workshop workshop{task.source, task.pool};
};

TEST_F(Unreplayable, ARunThatFitsIsAccepted) {
    for (const std::uint64_t able : {whole_cost(), std::uint64_t{0}}) {  // 0: the machine was not measured.
        const auto moves = moves_for(able);
        ASSERT_EQ(moves.size(), 1u);
        EXPECT_TRUE(std::holds_alternative<AcceptData>(moves[0])) << able;
    }
}

TEST_F(Unreplayable, ARunThatDoesNotIsDeclinedWithTheNumbers) {
    const auto moves = moves_for(whole_cost() - 1);
    ASSERT_EQ(moves.size(), 1u);
    const auto* decline = std::get_if<Decline>(&moves[0]);
    ASSERT_NE(decline, nullptr);
    for (const std::uint64_t number : {segment_cost(), hashing(), whole_cost() - 1})
        EXPECT_NE(decline->reason.find(std::to_string(number)), std::string::npos) << decline->reason;
}

/// What the processors were measured at says nothing of a device, until it fails.
TEST_F(Unreplayable, ADeviceIsNotMeasuredByItsHost) {
    Workshop with_device(task.source, task.pool,
                         [](const TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                            kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
                             return std::make_unique<ProgramRunner>(program, std::move(inputs), pool,
                                                                    std::make_unique<test::BrokenDevice>());
                         });
    auto moves = moves_for(segment_cost() - 1, with_device);
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<AcceptData>(moves[0]));
    StepRunner& runner = *(*with_device.material(task.terms))->runner;
    kernels::State state = task.initial();
    EXPECT_THROW(runner.step(state), std::runtime_error);
    EXPECT_FALSE(runner.on_device());
    moves = moves_for(segment_cost() - 1, with_device);
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<Decline>(moves[0]));
}

}  // namespace
}  // namespace retrace::solver
