// SPDX-License-Identifier: MIT
// An accepted run cannot be given up: after a restart, a failing operation is retried until it succeeds or the run is
// over, and a slow run does not make another one miss its checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "solver/agent/agent.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::solver {
namespace {

namespace fs = std::filesystem;

class AcceptedRun : public ::testing::Test {
protected:
    test::TinyTask task;
    test::TemporaryDirectory directory;
    std::unique_ptr<CheckpointStore> store = CheckpointStore::open(directory.path).value();
    bool device_is_busy = false;
    TaskCache task_cache{task.source, task.pool,
                         [this](const TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                                kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
                             if (device_is_busy) return nullptr;
                             return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
                         }};
    SolverConfig config;
    std::unique_ptr<SolverAgent> agent;
    SolverView view;
    std::vector<std::uint64_t> attempts;  ///< Heights of the attempts.
    std::vector<std::string> problems, orders;

    AcceptedRun() {
        config.resend_blocks = 8;
        view.height = 100;
        RunView run;
        run.terms = task.terms;
        run.may_commit = true;
        run.deadline = 700;
        view.runs = {run};
        restart();
    }
    void restart() { agent = std::make_unique<SolverAgent>(config, task_cache, *store); }
    /// Passes one block and runs its order at once.
    std::vector<SolverMove> next() {
        ++view.height;
        auto out = agent->on_view(view);
        if (out.work) {
            attempts.push_back(view.height);
            orders.push_back(out.work->what);
            agent->on_done(out.work->run());
        }
        for (std::string& problem : agent->take_problems()) problems.push_back(std::move(problem));
        return std::move(out.moves);
    }
    void pass(int blocks) {
        for (int i = 0; i < blocks; ++i) (void)next();
    }
    /// The first state is a named one that a peer serves, instead of a seeded one.
    void begin_with_named_state() {
        const kernels::State state = task.initial();
        const auto commitment = kernels::commit_state(task.train.root(), state, task.pool);
        task.source.put(commitment, state);
        view.runs[0].terms.init_root = {};
        view.runs[0].terms.initial_state_root = commitment.root;
    }
    bool committed(int blocks) {
        for (int i = 0; i < blocks; ++i)
            for (const SolverMove& move : next())
                if (std::holds_alternative<CommitCheckpoint>(move)) return true;
        return false;
    }
    /// Expects retries with growing delays and reports of the reason and the time, and success after `mend`.
    void expect_retried(const std::function<void()>& mend, const std::string& what, const std::string& why) {
        pass(200);
        EXPECT_EQ(attempts, (std::vector<std::uint64_t>{101, 109, 125, 157, 221, 285})) << "twice as long, up to 64";
        ASSERT_EQ(problems.size(), attempts.size());
        EXPECT_NE(problems.back().find(why), std::string::npos) << problems.back();
        EXPECT_NE(problems.back().find("attempt 6; again at height 349, due by 700"), std::string::npos)
            << problems.back();
        ASSERT_EQ(agent->waiting().size(), 1U);
        const FailedWork& waiting = agent->waiting()[0];
        EXPECT_EQ(waiting.task, task.terms.id);
        EXPECT_EQ(waiting.what, what);
        EXPECT_NE(waiting.why.find(why), std::string::npos) << waiting.why;
        EXPECT_EQ(waiting.next, 349U);
        EXPECT_EQ(waiting.deadline, 700U);
        mend();
        EXPECT_TRUE(committed(60));
        EXPECT_TRUE(agent->waiting().empty());
    }
};

TEST_F(AcceptedRun, WhoseDataAreMissingIsPreparedWhenTheyCome) {
    const auto tensors = std::exchange(task.source.tensors, {});
    expect_retried([&] { task.source.tensors = tensors; }, "prepare", "nobody serves");
}

TEST_F(AcceptedRun, WhoseProgramNoNodeBringsIsPreparedWhenItDoes) {
    const auto programs = std::exchange(task.source.programs, {});
    expect_retried([&] { task.source.programs = programs; }, "prepare", "nobody serves");
}

TEST_F(AcceptedRun, WhoseDeviceIsBusyIsPreparedWhenItIsFree) {
    device_is_busy = true;
    expect_retried([&] { device_is_busy = false; }, "prepare", "device");
}

TEST_F(AcceptedRun, WhoseStartFindsNoRoomOnTheDiskIsPreparedWhenThereIsSome) {
    begin_with_named_state();
    const fs::path place = directory.path / "tensors", away = directory.path / "away";
    fs::rename(place, away);
    std::ofstream(place) << "no folder";
    expect_retried(
        [&] {
            fs::remove(place);
            fs::rename(away, place);
        },
        "prepare", "tensors");
}

TEST_F(AcceptedRun, IsTriedAgainShortlyBeforeItsDeadline) {
    task.source.programs.clear();
    view.runs[0].deadline = 180;
    pass(79);
    ASSERT_GT(attempts.size(), 3U);
    EXPECT_GE(attempts.back(), 174U);
    EXPECT_LE(attempts.size(), 25U);
}

TEST_F(AcceptedRun, IsNotDeclinedWhileADiskMayBeEmptied) {
    begin_with_named_state();
    view.runs[0].may_accept = true;
    view.runs[0].accept_by = view.runs[0].deadline = 160;
    fs::rename(directory.path / "tensors", directory.path / "away");
    std::ofstream(directory.path / "tensors") << "no folder";
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(next().empty());
    fs::remove(directory.path / "tensors");
    fs::rename(directory.path / "away", directory.path / "tensors");
    std::vector<SolverMove> moves;
    for (int i = 0; i < 12 && moves.empty(); ++i) moves = next();
    ASSERT_EQ(moves.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<AcceptData>(moves[0]));
}

/// The whole lock depends on the answer.
TEST_F(AcceptedRun, AReportIsAnsweredWhenTheCauseIsGone) {
    EXPECT_TRUE(committed(5));
    task_cache.keep_only({});
    const auto tensors = std::exchange(task.source.tensors, {});
    view.runs[0].reports.push_back({7, ReportKind::data, 0, 0, 0, view.height + 60});
    for (int i = 0; i < 30; ++i) (void)next();
    EXPECT_TRUE(std::any_of(agent->waiting().begin(), agent->waiting().end(),
                            [](const FailedWork& one) { return one.what == "answer report 7"; }));
    task.source.tensors = tensors;
    bool answered = false;
    for (int i = 0; i < 20; ++i)
        for (const SolverMove& move : next()) answered = answered || std::holds_alternative<AnswerReport>(move);
    EXPECT_TRUE(answered);
}

TEST_F(AcceptedRun, TheOneThatIsDueFirstIsTrainedFirst) {
    RunView other = view.runs[0];
    other.terms.id = 6;
    other.deadline = 300;
    view.runs.push_back(other);
    pass(3);
    ASSERT_EQ(orders.size(), 3U);
    EXPECT_EQ(orders[0], "prepare task 6");
    EXPECT_EQ(orders[1], "train task 6 to checkpoint 0");
    EXPECT_EQ(orders[2], "prepare task 5") << "what the other owes is there";
}

TEST_F(AcceptedRun, OneThatIsFarAheadIsDeferredForOneThatOwesSomething) {
    pass(2);
    ASSERT_EQ(orders.back(), "train task 5 to checkpoint 0");
    ++view.height;
    auto ahead = agent->on_view(view);
    ASSERT_TRUE(ahead.work);
    ASSERT_EQ(ahead.work->what, "train task 5 to checkpoint 1");
    RunView other = view.runs[0];
    other.terms.id = 6;
    view.runs.push_back(other);
    ++view.height;
    EXPECT_FALSE(agent->on_view(view).work) << "one order at a time";
    const SolverResult result = ahead.work->run();
    EXPECT_TRUE(std::get<Reached>(result).preempted);
    agent->on_done(result);
    pass(1);
    EXPECT_EQ(orders.back(), "prepare task 6");
}

TEST_F(AcceptedRun, OneThatTheChainCatchesUpWithIsNotDeferred) {
    pass(2);
    ++view.height;
    auto ahead = agent->on_view(view);
    ASSERT_TRUE(ahead.work);
    ASSERT_EQ(ahead.work->what, "train task 5 to checkpoint 1");
    view.runs[0].next_state = 1;
    ++view.height;
    EXPECT_FALSE(agent->on_view(view).work);
    EXPECT_FALSE(std::get<Reached>(ahead.work->run()).preempted) << "for itself";
}

/// A task may have a million segments.
TEST_F(AcceptedRun, AStateThatIsLostIsMadeAgainWhenItIsAskedFor) {
    pass(6);
    ASSERT_TRUE(store->commitment({5, 0, 1}));
    ASSERT_TRUE(store->forget(5, 0));
    view.runs[0].next_state = 2;
    view.runs[0].open_segments = {1};
    bool opened = false;
    for (int i = 0; i < 10; ++i)
        for (const SolverMove& move : next()) opened = opened || std::holds_alternative<OpenSegment>(move);
    EXPECT_TRUE(opened);
}

/// Only the first of the calls would be accepted (contracts 13.9.6), and the others would cost their fees.
TEST_F(AcceptedRun, AStateIsOpenedOnceWhateverAsksForIt) {
    pass(6);
    view.runs[0].next_state = 2;
    view.runs[0].open_segments = {1};
    view.runs[0].reveal_segments = {1};
    view.runs[0].open_roots = {1};
    const auto openings = [&](int blocks) {
        std::size_t count = 0;
        for (int i = 0; i < blocks; ++i)
            for (const SolverMove& move : next())
                count += std::holds_alternative<OpenSegment>(move) || std::holds_alternative<RevealSegment>(move) ||
                         std::holds_alternative<OpenRoots>(move);
        return count;
    };
    EXPECT_EQ(openings(8), 1U);
    EXPECT_EQ(openings(8), 1U) << "again, because the chain does not show it";
    view.runs[0].open_segments.clear();
    view.runs[0].reveal_segments.clear();
    EXPECT_EQ(openings(8), 1U) << "by any call";
}

}  // namespace
}  // namespace retrace::solver
