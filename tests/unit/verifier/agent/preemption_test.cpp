// SPDX-License-Identifier: MIT
// A solver's training takes as long as a checkpoint; reports and moves in disputes do not wait for it.
#include <gtest/gtest.h>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

constexpr std::uint64_t kInterval = 8;

/// Runs a callback in step number `at`, before its second op.
class HeardRunner final : public solver::ProgramRunner {
public:
    HeardRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                const std::uint64_t& at, const std::function<void()>& what)
        : ProgramRunner(program, std::move(inputs), pool), at_(at), what_(what) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        if (state.step != at_ || std::exchange(happened_, true)) return ProgramRunner::attempt(state, stop);
        return ProgramRunner::attempt(state, [&] {
            what_();
            return stop.stop_requested();
        });
    }

private:
    const std::uint64_t& at_;
    const std::function<void()>& what_;
    bool happened_ = false;
};

struct Preemption : ::testing::Test {
    TinyTask task{2 * kInterval, kInterval};
    std::function<void()> in_step = [] {};
    std::uint64_t heard = UINT64_MAX;
    SolverParty party{task, [this](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                                   kernels::ThreadPool& pool) {
                          return std::make_unique<HeardRunner>(program, std::move(inputs), pool, heard, in_step);
                      }};
    std::unique_ptr<solver::SolverAgent> agent;
    solver::SolverView view;
    std::size_t steps = 0;
    std::function<void()> after_step;

    explicit Preemption(std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
        solver::SolverConfig config;
        config.step_timeout = timeout;
        config.secret = Hash32{{7}};
        config.on_progress = [this](std::uint64_t, const solver::Progress&) {
            ++steps;
            if (after_step) after_step();
        };
        agent = std::make_unique<solver::SolverAgent>(std::move(config), *party.task_cache, *party.store);
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
    /// Runs the order, and calls `what` after step number `at`.
    void run(const solver::SolverWork& order, std::size_t at, const std::function<void()>& what) {
        after_step = [&, stop = steps + at] {
            if (steps == stop) what();
        };
        agent->on_done(order.run());
        after_step = nullptr;
    }
    /// Root of an undisturbed training.
    Hash32 trained(std::uint64_t index) {
        kernels::State state = task.initial();
        solver::ProgramRunner runner(task.train.program(), task.inputs(), task.pool);
        while (state.step < task.terms.schedule.step_of(index)) runner.step(state);
        return kernels::commit_state(task.train.root(), state, task.pool).root;
    }
};

TEST_F(Preemption, TrainingIsPreemptedForAReportAndGoesOnWhereItWas) {
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

TEST_F(Preemption, TrainingOfARunThatIsOverIsLeft) {
    auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 3, [&] {
        view.runs.clear();
        EXPECT_FALSE(next().work);
    });
    EXPECT_EQ(steps, 3u);
    EXPECT_FALSE(next().work);
    EXPECT_TRUE(agent->take_problems().empty());
}

TEST_F(Preemption, ADisputeHasItsStateWhileTrainingIsPreempted) {
    auto out = next();
    run(*out.work, kInterval, [] {});
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "train task 5 to checkpoint 2");
    run(*out.work, 5, [&] { agent->preempt(); });
    EXPECT_EQ(steps, kInterval + 5);
    const auto state = agent->state_of(task.terms, 0, 0, {}, 1);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->step, kInterval);
    EXPECT_EQ(steps, kInterval + 5) << "it is in the store";
    agent->on_done(next().work->run());
    EXPECT_EQ(steps, 2 * kInterval);
    EXPECT_EQ(party.store->commitment({5, 0, 2})->root, trained(2));
}

struct PreemptionAtOnce : Preemption {
    PreemptionAtOnce() : Preemption(std::chrono::milliseconds(0)) {}
};

TEST_F(PreemptionAtOnce, ALongStepIsLeftBetweenTwoOpsAndMadeAgainFromTheNewestCheckpoint) {
    run(*next().work, kInterval, [] {});
    auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "train task 5 to checkpoint 2");
    std::size_t asked = 0;
    heard = kInterval + 5;
    in_step = [&] {
        ++asked;
        agent->preempt();
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

TEST_F(Preemption, AStepThatDoesNotTakeLongIsMadeToItsEnd) {
    heard = 3;
    std::size_t asked = 0;
    in_step = [&] {
        ++asked;
        agent->preempt();
    };
    agent->on_done(next().work->run());
    EXPECT_GT(asked, 1u);
    EXPECT_EQ(steps, 4u);
    agent->on_done(next().work->run());
    EXPECT_EQ(steps, kInterval) << "no step was made twice";
}

/// A solver's side of a dispute about its first segment, in which it is its turn to move.
struct Disputed : Preemption {
    std::unique_ptr<DisputeReplays> dispute_replays;
    std::unique_ptr<DisputeAgent> disputes;
    std::vector<DisputeView> open;

    Disputed() {
        agent->on_done(next().work->run());  // the first checkpoint
        dispute_replays = std::make_unique<DisputeReplays>(*party.task_cache, [this](const DisputeView& dispute) {
            return agent->state_of(dispute.terms, dispute.own_run, dispute.first_state, dispute.first_root,
                                   dispute.segment);
        });
        disputes = std::make_unique<DisputeAgent>(10, *dispute_replays, &agent->slot());
    }
    void dispute(std::uint64_t due) {
        const auto root = [&](std::uint64_t index) { return party.store->commitment({5, 0, index})->root; };
        const solver::TaskTerms& terms = task.terms;
        const Facts facts{terms.contract, terms.program_root, terms.program_root, terms.seed, terms.data_roots};
        DisputeView view;
        view.id = 1;
        view.terms = terms;
        view.side = Side::solver;
        view.game = start(facts, {false, 0, kInterval, root(0), root(1)});
        view.deadline = 1'000;
        view.due = due;
        open.push_back(view);
    }
    void report(std::uint64_t id, std::uint64_t due, std::uint64_t state = 0) {
        view.runs[0].reports.push_back({id, solver::ReportKind::state, state, 0, 0, 900, due});
    }
    /// Passes a block and returns the name of the order that both agents give; there is at most one.
    std::string block() {
        std::string name;
        auto own = next();
        if (own.work) name = own.work->what, order = [this, run = own.work->run] { agent->on_done(run()); };
        auto played = disputes->on_view(view.height, open);
        if (played.work) {
            EXPECT_EQ(name, "") << "one order at a time";
            name = played.work->what, order = [this, run = played.work->run] { disputes->on_done(run()); };
        }
        moved = moved || !played.moves.empty();
        return name;
    }
    std::function<void()> order;
    bool moved = false;
};

TEST_F(Disputed, WhatASolverWasGivenFirstGoesFirstAndTrainingTakesWhatIsLeft) {
    dispute(400);
    (void)disputes->on_view(view.height, {});
    report(7, 500, 1);
    report(8, 300);
    std::vector<std::string> names;
    for (int i = 0; i < 6; ++i) {
        const std::string name = block();
        if (name.empty()) break;
        names.push_back(name);
        order();
    }
    EXPECT_EQ(names, (std::vector<std::string>{"answer report 8", "move in dispute 1", "answer report 7",
                                               "train task 5 to checkpoint 2"}));
}

TEST_F(Disputed, TrainingAndALaterMoveArePreempted) {
    ASSERT_EQ(block(), "train task 5 to checkpoint 2");
    after_step = [&, stop = steps + 3] {
        if (steps != stop) return;
        dispute(400);
        EXPECT_EQ(block(), "") << "one order at a time";
    };
    order();
    after_step = nullptr;
    EXPECT_EQ(steps, kInterval + 3);
    ASSERT_EQ(block(), "move in dispute 1");
    std::size_t asked = 0;
    heard = 4;  // In its fifth step, which it finishes.
    in_step = [&] {
        if (asked++ != 0) return;
        report(7, 300);
        EXPECT_EQ(block(), "");
    };
    order();
    EXPECT_GT(asked, 1u) << "which it finishes";
    EXPECT_FALSE(moved);
    ASSERT_EQ(block(), "answer report 7");
    order();
    ASSERT_EQ(block(), "move in dispute 1");
    order();
    EXPECT_EQ(block(), "train task 5 to checkpoint 2");
    EXPECT_TRUE(moved);
    EXPECT_TRUE(disputes->take_problems().empty());
    order();
    EXPECT_EQ(steps, 2 * kInterval) << "no step was made twice";
}

/// A source whose data sets do not arrive, with a callback meanwhile.
struct SlowSource final : solver::ArtifactSource {
    explicit SlowSource(MemorySource& task) : task_(task) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override { return task_.program(root, limit); }
    Result<solver::StateRoots> state(const Hash32& root) override { return task_.state(root); }
    Result<kernels::Tensor> tensor(const Hash32&, const kernels::TensorRecord&) override {
        waits();
        return error("timeout: the time for fetching is over");
    }
    std::function<void()> waits;

private:
    MemorySource& task_;
};

TEST_F(Disputed, ARunThatWaitsForSlowPeersIsDeferredAndNotDeclined) {
    SlowSource source{task.source};
    solver::TaskCache task_cache(source, task.pool);
    agent = std::make_unique<solver::SolverAgent>(solver::SolverConfig{}, task_cache, *party.store);
    disputes = std::make_unique<DisputeAgent>(10, *dispute_replays, &agent->slot());
    view.runs[0].may_accept = true;
    view.runs[0].accept_by = view.height + 20;
    ASSERT_EQ(block(), "prepare task 5");
    source.waits = [&] {
        dispute(400);
        view.height = view.runs[0].accept_by;
        EXPECT_EQ(block(), "");
    };
    order();
    EXPECT_TRUE(agent->take_problems().empty());
    const auto out = next();
    EXPECT_TRUE(out.moves.empty()) << "it is not declined";
    EXPECT_FALSE(out.work);
    EXPECT_EQ(block(), "move in dispute 1");
    open.clear();
    disputes->on_done({1, 0, {}, ""});
    EXPECT_EQ(block(), "prepare task 5");
}

TEST_F(Preemption, AStateThatADisputeWaitsForIsMadeWhateverElseWaits) {
    agent->on_done(next().work->run());
    ASSERT_TRUE(party.store->retain({5, 0, 1}, false));
    ASSERT_TRUE(party.store->discard({5, 0, 1}));
    agent->preempt();
    const auto state = agent->state_of(task.terms, 0, 0, {}, 1);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->step, kInterval);
}

}  // namespace
}  // namespace retrace::test
