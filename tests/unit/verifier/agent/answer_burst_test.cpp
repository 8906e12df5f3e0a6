// SPDX-License-Identifier: MIT
// Many reports about one state: it is loaded and hashed once, within the memory quota (SPEC 8.4.1).
#include <gtest/gtest.h>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

constexpr std::uint64_t kReports = 64, kState = 2;

/// A solver that has trained its task, and a report that nothing of a state is served.
struct AnswerBurst : ::testing::Test {
    TinyTask task;
    SolverParty party{task, solver::honest_runners()};
    solver::SolverView view;
    std::unique_ptr<solver::TaskCache> task_cache;
    std::unique_ptr<solver::SolverAgent> agent;
    std::uint64_t steps = 0;
    std::map<std::uint64_t, Bytes> answers;

    AnswerBurst() {
        MiniChain(task, party, {}).run(30);
        solver::RunView run;
        run.terms = task.terms;
        run.next_state = task.terms.schedule.segments() + 1;
        view.height = 100;
        view.runs.push_back(run);
        open(UINT64_MAX);
    }
    void open(std::uint64_t memory) {
        agent.reset();
        task_cache = std::make_unique<solver::TaskCache>(task.source, task.pool, solver::honest_runners(), memory);
        solver::SolverConfig config;
        config.on_progress = [this](std::uint64_t, const solver::Progress&) { ++steps; };
        agent = std::make_unique<solver::SolverAgent>(config, *task_cache, *party.store);
    }
    std::uint64_t task_bytes() {
        solver::TaskCache measure(task.source, task.pool);
        return (*measure.material(task.terms))->bytes;
    }
    solver::StateRoots roots() const { return *party.store->state(party.store->commitment({5, 0, kState})->root); }
    void report(std::uint64_t first, std::uint64_t last) {
        const auto tensors = static_cast<std::uint32_t>(roots().tensor_roots.size());
        for (std::uint64_t id = first; id <= last; ++id)
            view.runs[0].reports.push_back(
                {id, solver::ReportKind::state, kState, static_cast<std::uint32_t>(id) % tensors, 0, 900});
    }
    /// Passes blocks until no work is left.
    void run() {
        for (std::uint64_t idle = 0; idle < 2; ++view.height) {
            auto out = agent->on_view(view);
            for (const solver::SolverMove& move : out.moves)
                if (const auto* answer = std::get_if<solver::AnswerReport>(&move))
                    answers[answer->report] = answer->answer;
            idle = out.work ? 0 : idle + 1;
            if (out.work) agent->on_done(out.work->run());
        }
    }
    void lose_the_files() {
        for (const auto& file : std::filesystem::recursive_directory_iterator(party.directory.path))
            if (file.path().extension() == ".tensor" || file.path().extension() == ".delta")
                std::filesystem::remove(file.path());
    }
    void expect_answers() {
        const Hash32 root = party.store->commitment({5, 0, kState})->root;
        EXPECT_EQ(answers.size(), view.runs[0].reports.size());
        for (const solver::ReportView& report : view.runs[0].reports) {
            const auto answer = solver::decode_tile_answer(answers[report.id]);
            ASSERT_TRUE(answer.has_value()) << report.id;
            EXPECT_TRUE(solver::verify_state_tile(*answer, task.train.root(), root, report.tensor, report.tile))
                << report.id;
        }
        EXPECT_TRUE(agent->take_problems().empty());
    }
};

TEST_F(AnswerBurst, LoadsAStateOnceForReportsThatComeOneAfterTheOther) {
    report(1, kReports / 2);
    run();
    lose_the_files();
    report(kReports / 2 + 1, kReports);
    run();
    expect_answers();
    EXPECT_EQ(steps, 0u) << "what is not loaded again need not be made again";
}

TEST_F(AnswerBurst, IsAnsweredInOneOrder) {
    report(1, kReports);
    auto out = agent->on_view(view);
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "answer report 1 and 63 more");
    agent->on_done(out.work->run());
    ++view.height;
    run();
    expect_answers();
}

TEST_F(AnswerBurst, KeepsNothingWhereTasksTakeAllMemory) {
    open(task_bytes());
    report(1, kReports);
    run();
    expect_answers();
    EXPECT_EQ(task_cache->answers().bytes(), 0u);
}

TEST_F(AnswerBurst, KeepsWhatFitsCountsItAndDropsItForATaskOrWhenNobodyAsks) {
    open(2 * task_bytes());
    report(1, kReports);
    run();
    const std::uint64_t kept = task_cache->answers().bytes();
    EXPECT_GT(kept, 0u);
    EXPECT_EQ(task_cache->spare() + kept, task_bytes());
    solver::TaskTerms other = task.terms;
    other.id = 6;
    ASSERT_TRUE(task_cache->material(other).has_value());
    EXPECT_EQ(task_cache->answers().bytes(), 0u);
    task_cache->forget(6);
    report(kReports + 1, kReports + 1);
    run();
    EXPECT_GT(task_cache->answers().bytes(), 0u);
    view.runs[0].reports.clear();
    run();
    EXPECT_EQ(task_cache->answers().bytes(), 0u);
}

TEST_F(AnswerBurst, OfADataSetHashesItOnce) {
    for (std::uint64_t id = 1; id <= kReports; ++id)
        view.runs[0].reports.push_back({id, solver::ReportKind::data, 0, 0, id % 2, 900});
    run();
    EXPECT_EQ(answers.size(), kReports);
    const auto answer = solver::decode_tile_answer(answers[1]);
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(solver::verify_tensor_tile(*answer, task.terms.data_roots[0], 1));
    const std::uint64_t kept = task_cache->answers().bytes();
    EXPECT_GT(kept, 0u);
    EXPECT_LT(kept, task.data[0].data.size()) << "its tree alone";
}

TEST_F(AnswerBurst, OfAStateThatTheDiskLostMakesItAgain) {
    lose_the_files();
    report(1, kReports);
    run();
    expect_answers();
    EXPECT_GT(steps, 0u);
    EXPECT_LE(steps, task.terms.schedule.step_of(kState)) << "once";
}

TEST(KeptBurst, LoadsAStateOnceForAllWhoAskItsKeeper) {
    TinyTask task;
    SolverParty solver(task, solver::honest_runners());
    StoreSource source(task.source, *solver.store, task.pool);
    VerifierParty party(task, source, 1, std::nullopt);
    MiniChain(task, solver, {}).run(30);
    const Hash32 root = solver.store->commitment({5, 0, kState})->root;
    VerifierView view;
    std::map<std::uint64_t, Bytes> answers;
    const auto run = [&] {
        for (int i = 0; i < 4; ++i) {
            ++view.height;
            auto out = party.agent->on_view(view);
            for (const VerifierMove& move : out.moves)
                if (const auto* answer = std::get_if<AnswerReport>(&move)) answers[answer->report] = answer->answer;
            if (out.work) party.agent->on_done(out.work->run());
        }
    };
    view.offers.push_back({task.terms, 0, kState, root});
    run();
    view.offers.clear();
    view.keep.push_back({5, 0, kState, false});
    for (std::uint64_t id = 1; id <= kReports / 2; ++id) view.reports.push_back({id, task.terms, 0, kState, 1, 0});
    run();
    for (const auto& file : std::filesystem::recursive_directory_iterator(party.directory.path))
        if (file.path().extension() == ".tensor") std::filesystem::remove(file.path());
    for (std::uint64_t id = kReports / 2 + 1; id <= kReports; ++id)
        view.reports.push_back({id, task.terms, 0, kState, 1, 0});
    run();
    EXPECT_EQ(answers.size(), kReports);
    const auto answer = solver::decode_tile_answer(answers[kReports]);
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(solver::verify_state_tile(*answer, task.train.root(), root, 1, 0));
}

}  // namespace
}  // namespace retrace::test
