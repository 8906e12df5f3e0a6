// SPDX-License-Identifier: MIT
// A run whose segments no auditor can replay in time would never be verified, and one whose disputes outlast their
// clocks would be lost in one. Such a run is declined while that is free.
#include "kernels/ops/opcode.hpp"
#include "kernels/program/limits.hpp"
#include "solver/agent/agent.hpp"
#include "solver/agent/deadline_check.hpp"
#include "tests/unit/solver/broken_device.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::solver {
namespace {

class Unreplayable : public ::testing::Test {
protected:
    /// Moves of the agent after preparing an assignment, when auditors can replay at most `replay_cost_max`.
    std::vector<SolverMove> moves_for(std::uint64_t replay_cost_max) { return moves_for(replay_cost_max, task_cache); }
    /// The same when the clock of a dispute allows moves of at most `dispute_cost_max` in all.
    std::vector<SolverMove> moves_with_clock(std::uint64_t dispute_cost_max, TaskCache& shop) {
        return moves_for(0, shop, dispute_cost_max);
    }
    std::vector<SolverMove> moves_for(std::uint64_t replay_cost_max, TaskCache& shop,
                                      std::uint64_t dispute_cost_max = 0) {
        SolverAgent agent(SolverConfig{}, shop, *store);
        RunView run;
        run.terms = task.terms;
        run.may_accept = true;
        run.accept_by = 100;
        run.replay_cost_max = replay_cost_max;
        run.dispute_cost_max = dispute_cost_max;
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

    static std::uint64_t tiles(const kernels::Program& program, std::uint32_t tensor) {
        return kernels::geometry(program.tensors[tensor].dims).tiles();
    }
    /// Tiles of the state tensors, or of the outputs of the ops.
    std::uint64_t tiles(bool of_state) const {
        const kernels::Program& program = task.train.program();
        std::uint64_t out = 0;
        for (std::uint32_t i = 0; i < program.tensors.size(); ++i)
            if (of_state ? i < program.states : program.is_op_output(i)) out += tiles(program, i);
        return out;
    }
    /// The file of a state tensor costs as much as 2^21 multiply-adds.
    std::uint64_t files() const { return std::uint64_t{task.train.program().states} << 21; }
    /// Hashing of the start and the end: a tile costs as much as 2^18 multiply-adds, even if it is only partly filled.
    std::uint64_t hashing() const { return 2 * ((tiles(true) << 18) + files()); }
    /// Five runs of the step, and one and a half executions of the segment.
    std::uint64_t move_steps(bool on_device) const {
        const std::uint64_t step = kernels::step_cost(task.train.program());
        return 5 * step + (on_device ? 0 : step * 6);
    }
    /// Hashing for a search over four steps at once: three roots, and those before and after the step; the trace; the
    /// op with the largest inputs and outputs; the partial tiles of a chain.
    std::uint64_t move_hashing() const {
        const kernels::Program& program = task.train.program();
        std::uint64_t most = 0;
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            std::uint64_t of_op = tiles(program, program.output_of(i));
            for (const std::uint32_t input : program.ops[i].inputs) of_op += tiles(program, input);
            most = std::max(most, of_op);
        }
        return ((5 * tiles(true) + tiles(false) + most + 90) << 18) + files();
    }
    std::uint64_t whole_cost() const { return segment_cost() + hashing(); }

    test::TinyTask task;
    test::TemporaryDirectory directory;
    std::unique_ptr<CheckpointStore> store = CheckpointStore::open(directory.path).value();
    TaskCache task_cache{task.source, task.pool};
    TaskCache with_device{task.source, task.pool,
                          [](const TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                             kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
                              return std::make_unique<ProgramRunner>(program, std::move(inputs), pool,
                                                                     std::make_unique<test::BrokenDevice>());
                          }};
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

/// A bid and the share of the machine's time follow the stated cost, so a task that states less would take time that
/// other runs need by their deadlines, at a stake for each.
TEST_F(Unreplayable, AProgramThatCostsMoreThanItsTermsStateIsDeclined) {
    const std::uint64_t cost = kernels::step_cost(task.train.program());
    for (const bool on_device : {false, true}) {
        RunView run;
        run.terms = task.terms;
        for (const std::uint64_t stated : {std::uint64_t{0}, cost, cost + 1}) {
            run.stated_cost = stated;
            EXPECT_TRUE(check_pace(run, task.train.program(), nullptr, on_device)) << stated;
        }
        run.stated_cost = cost - 1;
        const auto refused = check_pace(run, task.train.program(), nullptr, on_device);
        ASSERT_FALSE(refused);
        for (const std::uint64_t number : {cost, cost - 1})
            EXPECT_NE(refused.error().message.find(std::to_string(number)), std::string::npos)
                << refused.error().message;
    }
}

/// The measured speed of the processors does not apply to a device until it fails.
TEST_F(Unreplayable, ADeviceIsNotMeasuredByItsHost) {
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

/// A device computes the steps that lead to the disputed one, and nothing after it.
TEST_F(Unreplayable, ARunWhoseDisputesOutlastTheirClockIsDeclinedWithTheNumbers) {
    for (TaskCache* const shop : {&task_cache, &with_device}) {
        const bool on_device = shop == &with_device;
        const std::uint64_t needed = move_steps(on_device) + move_hashing();
        for (const std::uint64_t able : {needed, std::uint64_t{0}}) {
            const auto moves = moves_with_clock(able, *shop);
            ASSERT_EQ(moves.size(), 1u);
            EXPECT_TRUE(std::holds_alternative<AcceptData>(moves[0])) << able;
        }
        const auto moves = moves_with_clock(needed - 1, *shop);
        ASSERT_EQ(moves.size(), 1u);
        const auto* decline = std::get_if<Decline>(&moves[0]);
        ASSERT_NE(decline, nullptr);
        for (const std::uint64_t number : {move_steps(on_device), move_hashing(), needed - 1})
            EXPECT_NE(decline->reason.find(std::to_string(number)), std::string::npos) << decline->reason;
    }
}

/// Auditors that have not fetched the state in time report it, however fast it is replayed, and the lock burns.
TEST_F(Unreplayable, AStateOfMoreTensorsThanAuditorsCanFetchIsDeclined) {
    kernels::Program program = task.train.program();
    program.tensors.resize(3000, program.tensors[0]);
    RunView run;
    run.terms = task.terms;
    program.states = 2048;
    EXPECT_TRUE(check_pace(run, program, nullptr, true));
    program.states = 2049;
    const auto refused = check_pace(run, program, nullptr, true);
    ASSERT_FALSE(refused);
    for (const char* number : {"2049", "2048"})
        EXPECT_NE(refused.error().message.find(number), std::string::npos) << refused.error().message;
}

/// Its only step may be more expensive to dispute than any step of the training.
TEST_F(Unreplayable, AnInitialiserIsDisputedAsWell) {
    const kernels::Program& program = task.train.program();
    kernels::Program dear;
    dear.ops = {{kernels::OpCode::fill, {}, {0}, ""}};
    dear.tensors = {{kernels::TensorKind::op_output, kernels::DType::boolean, {1 << 20, 1}, kernels::kNoWriter, ""}};
    RunView run;
    run.terms = task.terms;
    run.dispute_cost_max = move_steps(false) + move_hashing();
    EXPECT_TRUE(check_pace(run, program, &task.init.program(), false));
    EXPECT_FALSE(check_pace(run, program, &dear, false));
}

}  // namespace
}  // namespace retrace::solver
