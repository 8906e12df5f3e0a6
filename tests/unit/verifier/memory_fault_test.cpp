// SPDX-License-Identifier: MIT
// An honest verifier whose memory fails once must not accuse anybody (SPEC 8.2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <utility>

#include "tests/unit/verifier/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// Computes honestly, but one bit of the state flips after the steps that `fails` names by their count.
class FaultyMemory final : public solver::ProgramRunner {
public:
    using Fails = std::function<bool(std::uint64_t count)>;
    FaultyMemory(Fails fails, std::uint64_t& count, const kernels::Program& program, kernels::Inputs inputs,
                 kernels::ThreadPool& pool)
        : ProgramRunner(program, std::move(inputs), pool), fails_(std::move(fails)), count_(count) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::GoOn& go_on) override {
        auto metrics = ProgramRunner::attempt(state, go_on);
        if (fails_(count_++)) state.tensors[0].data[2] ^= 0x10;
        return metrics;
    }

private:
    Fails fails_;
    std::uint64_t& count_;
};

struct FaultyScene {
    TinyTask task;
    SolverParty solver{task, solver::honest_runners()};
    StoreSource source{task.source, *solver.store, task.pool};
    VerifierParty verifier{task, source, 1, std::nullopt};
    std::uint64_t steps = 0;
    std::unique_ptr<MiniChain> chain;

    explicit FaultyScene(FaultyMemory::Fails fails) {
        verifier.agent.reset();  // Before the workshop that it uses.
        verifier.workshop = std::make_unique<solver::Workshop>(
            source, task.pool,
            [this, fails](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                          kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
                return std::make_unique<FaultyMemory>(fails, steps, program, std::move(inputs), pool);
            });
        VerifierConfig config;
        config.secret = verifier.secret;
        config.address = verifier.address;
        config.beacon_length = 100;
        verifier.agent = std::make_unique<VerifierAgent>(config, *verifier.workshop, *verifier.store);
        chain = std::make_unique<MiniChain>(task, solver, std::vector<VerifierParty*>{&verifier});
    }
};

TEST(MemoryFault, of_one_replay_accuses_nobody) {
    FaultyScene scene([](std::uint64_t count) { return count == 0; });
    scene.chain->run(60);
    ASSERT_FALSE(scene.chain->audits.empty());
    EXPECT_TRUE(scene.chain->disputes.empty());
    const auto& seat = scene.chain->audits[0].seats.at(0);
    EXPECT_FALSE(seat.commitment.is_zero()) << "it could not know";
    EXPECT_FALSE(seat.revealed.has_value());
    EXPECT_THAT(scene.verifier.agent->take_problems(),
                ::testing::Contains(::testing::HasSubstr("this machine cannot be trusted")));
}

TEST(MemoryFault, of_none_reveals_everything) {
    FaultyScene scene([](std::uint64_t) { return false; });
    scene.chain->run(60);
    ASSERT_FALSE(scene.chain->audits.empty());
    EXPECT_EQ(scene.chain->audits[0].seats.at(0).revealed, scene.chain->audits[0].end);
    EXPECT_TRUE(scene.chain->disputes.empty());
}

/// Has half a step done when memory runs out, once.
class RunsOutOnce final : public solver::ProgramRunner {
public:
    using ProgramRunner::ProgramRunner;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::GoOn& go_on) override {
        if (state.step == 1 && !std::exchange(ran_out_, true)) {
            state.tensors[0].data[2] ^= 0x10;
            throw std::bad_alloc();
        }
        return ProgramRunner::attempt(state, go_on);
    }

private:
    bool ran_out_ = false;
};

TEST(MemoryFault, that_ends_a_move_in_a_dispute_leaves_no_wrong_bit_for_the_next) {
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
