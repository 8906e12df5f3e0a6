// SPDX-License-Identifier: MIT
// A solver's training takes as long as a checkpoint does; a report or a move in a dispute does not wait for
// that.
#include <gtest/gtest.h>

#include "tests/unit/verifier/mini_chain.hpp"

namespace retrace::test {
namespace {

constexpr std::uint64_t kInterval = 8;

/// Something happens while its step number `at` is under way: before the second op.
class HeardRunner final : public solver::ProgramRunner {
public:
    HeardRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                const std::uint64_t& at, const std::function<void()>& what)
        : ProgramRunner(program, std::move(inputs), pool), at_(at), what_(what) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::GoOn& go_on) override {
        if (state.step != at_ || std::exchange(happened_, true)) return ProgramRunner::attempt(state, go_on);
        return ProgramRunner::attempt(state, [&] {
            what_();
            return !go_on || go_on();
        });
    }

private:
    const std::uint64_t& at_;
    const std::function<void()>& what_;
    bool happened_ = false;
};

struct GivingWay : ::testing::Test {
    TinyTask task{2 * kInterval, kInterval};
    std::function<void()> in_step = [] {};
    std::uint64_t heard = UINT64_MAX;
    SolverParty party{task, [this](const solver::TaskTerms&, const kernels::Program& program,
                                   kernels::Inputs inputs, kernels::ThreadPool& pool) {
                          return std::make_unique<HeardRunner>(program, std::move(inputs), pool, heard,
                                                               in_step);
                      }};
    std::unique_ptr<solver::SolverAgent> agent;
    solver::SolverView view;
    std::size_t steps = 0;
    std::function<void()> after_step;

    explicit GivingWay(std::chrono::milliseconds patience = std::chrono::seconds(10)) {
        solver::SolverConfig config;
        config.step_patience = patience;
        config.secret = Hash32{{7}};
        config.on_progress = [this](std::uint64_t, const solver::Progress&) {
            ++steps;
            if (after_step) after_step();
        };
        agent = std::make_unique<solver::SolverAgent>(std::move(config), *party.workshop, *party.store);
        solver::RunView run;
        run.terms = task.terms;
        run.may_accept = true;
        view.runs.push_back(run);
        agent->on_done(next().work->run());  // prepares
        view.runs[0].may_accept = false;
        view.runs[0].may_commit = true;
        agent->on_done(next().work->run());  // state 0
        EXPECT_EQ(steps, 0u);
    }
    solver::SolverAgent::Output next() {
        ++view.height;
        return agent->on_view(view);
    }
    /// Runs the order; after step number `at` something happens.
    void run(const solver::SolverWork& order, std::size_t at, const std::function<void()>& what) {
        after_step = [&, stop = steps + at] {
            if (steps == stop) what();
        };
        agent->on_done(order.run());
        after_step = nullptr;
    }
    /// That nothing disturbs.
    Hash32 trained(std::uint64_t index) {
        kernels::State state = task.initial();
        solver::ProgramRunner runner(task.train.program(), task.inputs(), task.pool);
        while (state.step < task.terms.schedule.step_of(index)) runner.step(state);
        return kernels::commit_state(task.train.root(), state, task.pool).root;
    }
};

TEST_F(GivingWay, training_is_put_off_for_a_report_and_goes_on_where_it_was) {
    auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "train task 5 to checkpoint 1");
    run(*out.work, 3, [&] {
        view.runs[0].reports.push_back({9, solver::ReportKind::state, 0, 0, 0});
        EXPECT_FALSE(next().work) << "one order at a time";
    });
    EXPECT_EQ(steps, 3u);
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "answer report 9");
    agent->on_done(out.work->run());
    out = next();
    ASSERT_FALSE(out.moves.empty());
    EXPECT_NE(std::get_if<solver::AnswerReport>(&out.moves.back()), nullptr);
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "train task 5 to checkpoint 1");
    agent->on_done(out.work->run());
    EXPECT_EQ(steps, kInterval) << "no step was made twice";
    EXPECT_EQ(party.store->commitment({5, 0, 1})->root, trained(1));
    EXPECT_TRUE(agent->take_problems().empty());
}

TEST_F(GivingWay, a_dispute_has_its_state_while_training_is_put_off) {
    auto out = next();
    run(*out.work, kInterval, [] {});
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "train task 5 to checkpoint 2");
    run(*out.work, 5, [&] { agent->give_way(); });
    EXPECT_EQ(steps, kInterval + 5);
    const auto state = agent->state_of(task.terms, 0, 0, {}, 1);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->step, kInterval);
    EXPECT_EQ(steps, kInterval + 5) << "it is in the store";
    agent->on_done(next().work->run());
    EXPECT_EQ(steps, 2 * kInterval);
    EXPECT_EQ(party.store->commitment({5, 0, 2})->root, trained(2));
}

struct GivingWayAtOnce : GivingWay {
    GivingWayAtOnce() : GivingWay(std::chrono::milliseconds(0)) {}
};

TEST_F(GivingWayAtOnce, a_long_step_is_left_between_two_ops_and_made_again_from_the_newest_checkpoint) {
    run(*next().work, kInterval, [] {});
    auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "train task 5 to checkpoint 2");
    std::size_t asked = 0;
    heard = kInterval + 5;
    in_step = [&] {
        ++asked;
        agent->give_way();
    };
    agent->on_done(out.work->run());
    EXPECT_EQ(asked, 1u) << "it was left at once";
    EXPECT_EQ(steps, kInterval + 5) << "the sixth was not finished";
    EXPECT_TRUE(agent->take_problems().empty());
    const auto state = agent->state_of(task.terms, 0, 0, {}, 1);
    ASSERT_TRUE(state) << state.error().message;
    out = next();
    ASSERT_TRUE(out.work);
    agent->on_done(out.work->run());
    EXPECT_EQ(steps, 2 * kInterval + 5) << "five steps were for nothing";
    EXPECT_EQ(party.store->commitment({5, 0, 2})->root, trained(2));
}

TEST_F(GivingWay, a_step_that_does_not_take_long_is_made_to_its_end) {
    heard = 3;
    std::size_t asked = 0;
    in_step = [&] {
        ++asked;
        agent->give_way();
    };
    agent->on_done(next().work->run());
    EXPECT_GT(asked, 1u);
    EXPECT_EQ(steps, 4u);
    agent->on_done(next().work->run());
    EXPECT_EQ(steps, kInterval) << "no step was made twice";
}

TEST_F(GivingWay, a_state_that_a_dispute_waits_for_is_made_whatever_else_waits) {
    agent->on_done(next().work->run());
    ASSERT_TRUE(party.store->retain({5, 0, 1}, false));
    ASSERT_TRUE(party.store->discard({5, 0, 1}));
    agent->give_way();
    const auto state = agent->state_of(task.terms, 0, 0, {}, 1);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->step, kInterval);
}

}  // namespace
}  // namespace retrace::test
