// SPDX-License-Identifier: MIT
// An honest verifier with one memory error must not accuse anybody (SPEC 8.2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <utility>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// Computes honestly, but flips one bit of the state after the steps that `fails` selects by their count or by the step
/// they lead to.
class FaultyMemory final : public solver::ProgramRunner {
public:
    using Fails = std::function<bool(std::uint64_t count, std::uint64_t step)>;
    FaultyMemory(Fails fails, std::uint64_t& count, const kernels::Program& program, kernels::Inputs inputs,
                 kernels::ThreadPool& pool)
        : ProgramRunner(program, std::move(inputs), pool), fails_(std::move(fails)), count_(count) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        auto metrics = ProgramRunner::attempt(state, stop);
        const std::uint64_t count = count_++;
        if (fails_(count, state.step)) state.tensors[0].data[2] ^= count == 0 ? 0x10 : 0x20;
        return metrics;
    }

private:
    Fails fails_;
    std::uint64_t& count_;
};

struct FaultyScene {
    TinyTask task;
    SolverParty solver;
    StoreSource source{task.source, *solver.store, task.pool};
    VerifierParty verifier{task, source, 1, std::nullopt};
    std::uint64_t steps = 0;
    std::unique_ptr<MiniChain> chain;

    explicit FaultyScene(FaultyMemory::Fails fails, solver::RunnerFactory runners = solver::honest_runners())
        : solver(task, std::move(runners)) {
        verifier.agent.reset();  // Destroyed before the task cache that it uses.
        verifier.task_cache = std::make_unique<solver::TaskCache>(
            source, task.pool,
            [this, fails](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                          kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
                return std::make_unique<FaultyMemory>(fails, steps, program, std::move(inputs), pool);
            });
        VerifierConfig config;
        config.secret = verifier.secret;
        config.address = verifier.address;
        config.beacon_length = 100;
        verifier.agent = std::make_unique<VerifierAgent>(config, *verifier.task_cache, *verifier.store);
        chain = std::make_unique<MiniChain>(task, solver, std::vector<VerifierParty*>{&verifier});
    }
    /// Expects no move in its only dispute, about the first segment, and one message with the reason.
    void expect_no_move(const char* why) {
        ASSERT_EQ(chain->disputes.size(), 1u);
        EXPECT_EQ(chain->disputes[0].game.phase, Phase::search_steps) << slug(chain->disputes[0].game.phase);
        EXPECT_EQ(chain->disputes[0].game.rounds, 0u);
        EXPECT_THAT(verifier.agent->take_problems(), ::testing::ElementsAre(::testing::HasSubstr(why)));
    }
};

TEST(MemoryFault, OfTheFirstReplayIsFoundBeforeTheFirstMoveAndCostsTheBondAlone) {
    FaultyScene scene([](std::uint64_t count, std::uint64_t) { return count == 0; });
    scene.chain->run(60);
    ASSERT_FALSE(scene.chain->audits.empty());
    const auto& seat = scene.chain->audits[0].seats.at(0);
    EXPECT_TRUE(seat.revealed.has_value()) << "it could not know, and a second replay may outlast the time for that";
    EXPECT_NE(seat.revealed, scene.chain->audits[0].end);
    scene.expect_no_move("the second replay agrees with the solver");
}

TEST(MemoryFault, OfBothReplaysLeavesNothingToAccuseAnybodyOf) {
    FaultyScene scene([](std::uint64_t count, std::uint64_t step) { return count == 0 || (count > 3 && step == 3); });
    scene.chain->run(60);
    scene.expect_no_move("the second replay differs from the first, so this machine cannot be trusted");
}

TEST(MemoryFault, OfTheSecondReplayLetsAFraudGoRatherThanPlayFromAWrongAccount) {
    TinyTask task;
    const std::uint64_t before = task.terms.schedule.steps;  // All steps replayed once, including the fraud of the last
                                                             // segment.
    FaultyScene scene([before](std::uint64_t count, std::uint64_t) { return count == before; },
                      solver::attacking_runners(solver::ComputeAttack::ulp));
    scene.chain->run(120);
    scene.expect_no_move("the second replay differs from the first");
}

TEST(MemoryFault, OfNoneRevealsEverything) {
    FaultyScene scene([](std::uint64_t, std::uint64_t) { return false; });
    scene.chain->run(60);
    ASSERT_FALSE(scene.chain->audits.empty());
    EXPECT_EQ(scene.chain->audits[0].seats.at(0).revealed, scene.chain->audits[0].end);
    EXPECT_TRUE(scene.chain->disputes.empty());
}

/// Runs out of memory once, in the middle of a step.
class RunsOutOnce final : public solver::ProgramRunner {
public:
    using ProgramRunner::ProgramRunner;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        if (state.step == 1 && !std::exchange(ran_out_, true)) {
            state.tensors[0].data[2] ^= 0x10;
            throw std::bad_alloc();
        }
        return ProgramRunner::attempt(state, stop);
    }

private:
    bool ran_out_ = false;
};

TEST(MemoryFault, ThatEndsAMoveInADisputeLeavesNoWrongBitForTheNext) {
    TinyTask task;
    solver::ProgramRunner honest(task.train.program(), task.inputs(), task.pool);
    RunsOutOnce runner(task.train.program(), task.inputs(), task.pool);
    const auto replayer = [&](solver::StepRunner& with) {
        return Replayer({&task.train, &task.train, &with, &task.pool, task.terms.seed, task.inputs().datasets},
                        task.initial(), 4);
    };
    Replayer mine = replayer(runner), expected = replayer(honest);
    EXPECT_THROW(mine.trace_of(3), std::bad_alloc);
    EXPECT_EQ(mine.trace_of(3), expected.trace_of(3));
    EXPECT_EQ(mine.root_at(4), expected.root_at(4));
}

}  // namespace
}  // namespace retrace::test
