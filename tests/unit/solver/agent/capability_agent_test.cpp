// SPDX-License-Identifier: MIT
// The agent's part in a capability challenge: when it starts and stops, its calls, and the effect of a crash.
#include <gtest/gtest.h>

#include "solver/agent/agent.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::solver {
namespace {

/// Records its calls, and counts rounds without computing any.
class FakeBench final : public Benchmarker {
public:
    CapabilityClaim run(std::uint64_t challenge, std::uint64_t, std::uint64_t, const std::atomic<bool>& stop) override {
        ran.push_back(challenge);
        stopped = stop;
        return {7, Hash32{{9}}};
    }
    Bytes prove(std::uint64_t challenge, std::uint64_t, std::uint64_t rounds,
                const std::vector<CapabilityDraw>&) override {
        proved.push_back(challenge);
        return {static_cast<std::uint8_t>(rounds)};
    }
    std::vector<std::uint64_t> ran, proved;
    bool stopped = false;
};

class CapabilityAgent : public ::testing::Test {
protected:
    CapabilityAgent() { restart(); }
    void restart() {
        SolverConfig config;
        config.resend_blocks = 5;
        config.bench = &bench;
        agent = std::make_unique<SolverAgent>(config, task_cache, *store);
    }
    static SolverView running(std::uint64_t height, std::uint64_t id = 3) {
        SolverView view;
        view.height = height;
        view.challenge = ChallengeView{id, 11, 20, true, false, 0, {}};
        return view;
    }
    static SolverView proving(std::uint64_t height, std::uint64_t id = 3) {
        SolverView view;
        view.height = height;
        view.challenge = ChallengeView{id, 11, 20, false, true, 7, {{2, 1, 1}}};
        return view;
    }
    static SolverView nothing(std::uint64_t height) {
        SolverView view;
        view.height = height;
        return view;
    }

    test::TinyTask task;
    test::TemporaryDirectory directory;
    std::unique_ptr<CheckpointStore> store = CheckpointStore::open(directory.path).value();
    TaskCache task_cache{task.source, task.pool};
    FakeBench bench;
    std::unique_ptr<SolverAgent> agent;
};

TEST_F(CapabilityAgent, RunsUntilTheStopHeightAndAnswersOnce) {
    auto first = agent->on_view(running(10));
    ASSERT_TRUE(first.benchmark.has_value());
    EXPECT_TRUE(first.moves.empty());
    EXPECT_FALSE(agent->on_view(running(15)).benchmark.has_value()) << "one at a time";
    agent->on_view(running(20));
    agent->on_done(first.benchmark->run());
    EXPECT_TRUE(bench.stopped);
    const auto answered = agent->on_view(running(21));
    ASSERT_EQ(answered.moves.size(), 1u);
    const auto& move = std::get<AnswerCapability>(answered.moves[0]);
    EXPECT_EQ(move.challenge, 3u);
    EXPECT_EQ(move.rounds, 7u);
    EXPECT_TRUE(agent->on_view(running(22)).moves.empty());
    EXPECT_EQ(agent->on_view(running(26)).moves.size(), 1u) << "the chain does not show it: sent again";
    EXPECT_EQ(bench.ran.size(), 1u);
}

TEST_F(CapabilityAgent, IsNotToldToStopBeforeItsTime) {
    auto first = agent->on_view(running(10));
    agent->on_view(running(19));
    agent->on_done(first.benchmark->run());
    EXPECT_FALSE(bench.stopped);
}

TEST_F(CapabilityAgent, ProvesWhatIsDrawn) {
    auto order = agent->on_view(proving(30));
    ASSERT_TRUE(order.benchmark.has_value()) << "also after a restart: the chain knows what was claimed";
    agent->on_done(order.benchmark->run());
    const auto proved = agent->on_view(proving(31));
    ASSERT_EQ(proved.moves.size(), 1u);
    EXPECT_EQ(std::get<ProveCapability>(proved.moves[0]).proof, Bytes{7});
    EXPECT_TRUE(agent->on_view(nothing(32)).moves.empty());
}

TEST_F(CapabilityAgent, ANewProcessDoesNotStartLate) {
    EXPECT_TRUE(agent->on_view(running(19)).benchmark.has_value());
    restart();
    EXPECT_FALSE(agent->on_view(running(20)).benchmark.has_value());
}

TEST_F(CapabilityAgent, AChallengeThatIsGoneStopsItsRun) {
    auto first = agent->on_view(running(10));
    agent->on_view(nothing(11));
    agent->on_done(first.benchmark->run());
    EXPECT_TRUE(bench.stopped);
    EXPECT_TRUE(agent->on_view(nothing(12)).moves.empty());
}

TEST_F(CapabilityAgent, AnotherChallengeIsMeasuredAnew) {
    auto first = agent->on_view(running(10));
    agent->on_done(first.benchmark->run());
    auto second = agent->on_view(running(12, 4));
    ASSERT_TRUE(second.benchmark.has_value());
    EXPECT_TRUE(second.moves.empty()) << "the other claim is not sent";
    agent->on_done(second.benchmark->run());
    EXPECT_EQ(bench.ran, (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(CapabilityAgent, ABenchmarkDoesNotHoldUpTheOtherWork) {
    SolverView view = running(10);
    RunView run;
    run.terms = task.terms;
    run.may_accept = true;
    view.runs.push_back(run);
    const auto out = agent->on_view(view);
    EXPECT_TRUE(out.benchmark.has_value());
    EXPECT_TRUE(out.work.has_value());
}

TEST_F(CapabilityAgent, WithoutABenchNothingIsAnswered) {
    agent = std::make_unique<SolverAgent>(SolverConfig{}, task_cache, *store);
    const auto out = agent->on_view(running(10));
    EXPECT_FALSE(out.benchmark.has_value());
    EXPECT_TRUE(out.moves.empty());
}

}  // namespace
}  // namespace retrace::solver
