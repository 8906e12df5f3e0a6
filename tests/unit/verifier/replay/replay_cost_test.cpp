// SPDX-License-Identifier: MIT
// The cost of a party's own account in a dispute: commitments and steps of every move, and memory (SPEC 8.7).
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "kernels/ops/op.hpp"
#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/game/op_cases.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

struct Count {
    std::uint64_t steps = 0, commitments = 0;
};

/// Wraps a training and counts its commitments.
class CountedTraining final : public solver::Training {
public:
    CountedTraining(std::unique_ptr<solver::Training> other, Count& count) : other_(std::move(other)), count_(count) {}
    std::uint64_t step() const noexcept override { return other_->step(); }
    std::vector<kernels::Metric> advance() override { return other_->advance(); }
    const kernels::State& state() override { return other_->state(); }
    kernels::StateCommitment commit() override {
        ++count_.commitments;
        return other_->commit();
    }
    void begin_commitment() override {
        ++count_.commitments;
        other_->begin_commitment();
    }
    bool commitment_under_way() const noexcept override { return other_->commitment_under_way(); }
    kernels::StateCommitment finish_commitment() override { return other_->finish_commitment(); }
    const kernels::State& committed() override { return other_->committed(); }

private:
    std::unique_ptr<solver::Training> other_;
    Count& count_;
};

class CountingRunner final : public solver::ProgramRunner {
public:
    CountingRunner(const Arena& arena, kernels::ThreadPool& pool, kernels::Executor::Tamper tamper, Count& count)
        : ProgramRunner(arena.program.program(), arena.inputs(), pool), count_(count) {
        executor().set_tamper(std::move(tamper));
    }
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        ++count_.steps;
        return ProgramRunner::attempt(state, stop);
    }
    std::unique_ptr<solver::Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                            kernels::ThreadPool& pool) override {
        return std::make_unique<CountedTraining>(ProgramRunner::train(program, state, pool), count_);
    }

private:
    Count& count_;
};

struct CountedParty {
    Count count;
    CountingRunner runner;
    Replayer replay;
    CountedParty(Arena& arena, const kernels::State& start, std::uint64_t last_step,
                 kernels::Executor::Tamper tamper = {})
        : runner(arena, arena.pool, std::move(tamper), count),
          replay({&arena.program, &arena.program, &runner, &arena.pool, arena.seed, arena.inputs().datasets}, start,
                 last_step) {}
};

/// Every step negates a state, so an error persists to the end.
OpCase negation() {
    OpCase out;
    kernels::Program& program = out.program;
    program.states = 1;
    program.tensors = {{kernels::TensorKind::state, kernels::DType::boolean, {40, 33}, 0, "s"},
                       {kernels::TensorKind::op_output, kernels::DType::boolean, {40, 33}, kernels::kNoWriter, ""}};
    program.ops = {{kernels::OpCode::logical_not, {0}, {}, ""}};
    out.start.tensors.push_back(kernels::zeros(kernels::DType::boolean, {40, 33}));
    return out;
}

class ReplayCost : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ReplayCost, OfADisputeIsOneAndAHalfExecutionsAndOfAMoveFifteenCommitments) {
    constexpr std::uint64_t kSteps = 1500;
    OpCase task = negation();
    task.start.step = 7;
    const std::uint64_t wrong = 7 + GetParam();
    Arena arena(task.program);
    CountedParty solver(arena, task.start, 7 + kSteps, flip(wrong, 0, 0)), honest(arena, task.start, 7 + kSteps);
    const Claim claim{false, 7, 7 + kSteps, kernels::commit_state(arena.program.root(), task.start, arena.pool).root,
                      solver.replay.end_root()};
    solver.count = {};
    const Liar both = [&](const Game& game, Side side, Replayer& replay) -> std::optional<Move> {
        const Count& count = side == Side::solver ? solver.count : honest.count;
        const Count before = count;
        auto move = next_move(game, side, replay);
        EXPECT_LE(count.commitments - before.commitments, kArity - 1) << slug(game.phase);
        EXPECT_LE(count.steps - before.steps, kSteps + kArity) << slug(game.phase);
        return move ? std::optional(std::move(move).value()) : std::nullopt;
    };
    const Outcome outcome = play(start(arena.facts(), claim), solver.replay, honest.replay, both);
    EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong) << slug(outcome.game.ending);
    EXPECT_EQ(outcome.game.found.step, wrong);
    for (const Count& count : {solver.count, honest.count}) {
        EXPECT_LE(count.steps, kSteps + kSteps / 2 + 3 * kArity);
        EXPECT_LE(count.commitments, 3 * (kArity - 1)) << "1500 steps are searched in three rounds";
    }
}

INSTANTIATE_TEST_SUITE_P(Steps, ReplayCost, ::testing::Values(0, 93, 94, 700, 751, 1405, 1406, 1498, 1499));

/// One pixel that a kernel of 1024 x 1024 covers everywhere: 65,536 links.
OpCase long_chain() {
    constexpr std::uint64_t kSide = 1024;
    OpCase out;
    kernels::Program& program = out.program;
    program.states = 1;
    program.tensors.push_back({kernels::TensorKind::state, kernels::DType::f32, {1, 1, 1, 1}, 1, "s"});
    program.tensors.push_back(
        {kernels::TensorKind::op_output, kernels::DType::f32, {1, kSide * kSide}, kernels::kNoWriter, ""});
    program.tensors.push_back(
        {kernels::TensorKind::op_output, kernels::DType::f32, {1, 1, 1, 1}, kernels::kNoWriter, ""});
    kernels::OpRecord ones, scatter;
    ones.code = kernels::OpCode::fill;
    ones.attributes = {0x3f800000};
    scatter.code = kernels::OpCode::window_scatter;
    scatter.inputs = {1};
    scatter.attributes = {1, 1, 1, 1, kSide, kSide, kSide, kSide, kSide / 2, kSide / 2};
    program.ops = {ones, scatter};
    out.start.tensors.push_back(kernels::zeros(kernels::DType::f32, {1, 1, 1, 1}));
    return out;
}

TEST(ReplayMemory, OfASearchBetweenLinksIsThatOfTheTilesThatArePosted) {
    const OpCase task = long_chain();
    Arena arena(task.program);
    Party solver(arena, task.start, 1, flip(0, 1, 0)), honest(arena, task.start, 1);
    const auto used = [] {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    };
    std::uint64_t before = 0;
    const Liar watch = [&](const Game& game, Side, Replayer&) -> std::optional<Move> {
        if (game.phase == verifier::Phase::search_links && before == 0) before = used();
        return std::nullopt;
    };
    const Outcome outcome = duel(arena, task.start, solver, honest, watch);
    EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong) << slug(outcome.game.ending);
    EXPECT_EQ(kernels::link_count(outcome.game.op), 65536U);
    ASSERT_GT(before, 0U);
    EXPECT_LT(used() - before, std::uint64_t{100} << 20) << "all partial tiles together are 256 MiB";
}

}  // namespace
}  // namespace retrace::test
