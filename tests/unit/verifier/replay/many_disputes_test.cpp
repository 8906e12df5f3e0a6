// SPDX-License-Identifier: MIT
// Many disputes of one party at once: the cost of each, and their common memory (SPEC 8.7.3).
#include <gtest/gtest.h>

#include <new>

#include "kernels/exec/dispute_memory.hpp"
#include "kernels/ops/op.hpp"
#include "tests/unit/solver/tiny_task.hpp"
#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/game/op_cases.hpp"
#include "verifier/agent/dispute_agent.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

constexpr std::uint64_t kSteps = 1500;

/// Every step negates a state, and each step has its own commitment.
kernels::Program negating_program() {
    kernels::Program program;
    program.states = 1;
    program.tensors = {{kernels::TensorKind::state, kernels::DType::boolean, {40, 33}, 0, "s"},
                       {kernels::TensorKind::op_output, kernels::DType::boolean, {40, 33}, kernels::kNoWriter, ""}};
    program.ops = {{kernels::OpCode::logical_not, {0}, {}, ""}};
    return program;
}

/// Counts steps, and runs out of memory in the first `fails` of them.
class FailingRunner final : public solver::ProgramRunner {
public:
    FailingRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                  std::uint64_t& steps, std::uint64_t& fails)
        : ProgramRunner(program, std::move(inputs), pool), steps_(steps), fails_(fails) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        if (fails_ != 0) {
            --fails_;
            state.tensors[0].data[2] ^= 1;
            throw std::bad_alloc();
        }
        ++steps_;
        return ProgramRunner::attempt(state, stop);
    }

private:
    std::uint64_t &steps_, &fails_;
};

/// An honest solver of tasks 5, 6, … of one program, and challengers that lie about one step each.
struct ManyDisputes : ::testing::Test {
    Arena arena{negating_program()};
    MemorySource source;
    kernels::State first;
    std::uint64_t steps = 0, loads = 0, fails = 0;
    std::unique_ptr<solver::TaskCache> task_cache;
    std::unique_ptr<DisputeReplays> dispute_replays;
    struct Play {
        DisputeView view;
        std::unique_ptr<Party> challenger;
        std::uint64_t steps = 0, dearest = 0;  ///< Steps of the solver: in total and in its most expensive move.
    };
    std::map<std::uint64_t, Play> plays;

    ManyDisputes() {
        first.tensors.push_back(kernels::zeros(kernels::DType::boolean, {40, 33}));
        source.programs[arena.program.root()] = kernels::encode(arena.program.program());
        open();
    }
    void open(std::uint64_t task_memory = UINT64_MAX) {
        dispute_replays.reset();
        task_cache = std::make_unique<solver::TaskCache>(
            source, arena.pool,
            [this](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                   kernels::ThreadPool& pool) {
                return std::make_unique<FailingRunner>(program, std::move(inputs), pool, steps, fails);
            },
            task_memory);
        dispute_replays = std::make_unique<DisputeReplays>(*task_cache, [this](const DisputeView&) {
            ++loads;
            return Result<kernels::State>(first);
        });
    }
    solver::TaskTerms terms(std::uint64_t task) const {
        solver::TaskTerms out;
        out.id = task;
        out.program_root = arena.program.root();
        out.program_bytes = kernels::encode(arena.program.program()).size();
        out.initial_state_root = root_of(first);
        out.schedule = {kSteps, kSteps};
        out.seed = arena.seed;
        out.contract = kernels::contract_hash();
        return out;
    }
    Hash32 root_of(const kernels::State& state) const {
        kernels::ThreadPool pool{1};
        return kernels::commit_state(arena.program.root(), state, pool).root;
    }
    void dispute(std::uint64_t id, std::uint64_t wrong, std::uint64_t deadline, std::uint64_t task = 5) {
        kernels::State end = first;
        solver::ProgramRunner runner(arena.program.program(), arena.inputs(), arena.pool);
        while (end.step < kSteps) runner.step(end);
        Play& play = plays[id];
        play.challenger = std::make_unique<Party>(arena, first, kSteps, flip(wrong, 0, 0));
        play.view.id = id;
        play.view.terms = terms(task);
        play.view.side = Side::solver;
        play.view.game = start(arena.facts(), {false, 0, kSteps, root_of(first), root_of(end)});
        play.view.deadline = deadline;
    }
    std::vector<DisputeView> views() const {
        std::vector<DisputeView> out;
        for (const auto& [id, play] : plays)
            if (play.view.game.phase != verifier::Phase::decided) out.push_back(play.view);
        return out;
    }
    /// Plays the solver's next move in the dispute, and the challenger's answers to it.
    void move(std::uint64_t id) {
        Play& play = plays.at(id);
        Game& game = play.view.game;
        if (game.phase == verifier::Phase::decided) return;
        ASSERT_EQ(game.mover, Side::solver);
        const std::uint64_t before = steps;
        sweep();
        const auto made = dispute_replays->answer(play.view);
        ASSERT_TRUE(made.has_value()) << made.error().message;
        play.steps += steps - before;
        play.dearest = std::max(play.dearest, steps - before);
        if (after_move) after_move();
        const auto decoded = decode_move(*made);
        ASSERT_TRUE(apply(game, Side::solver, *decoded).has_value());
        while (game.phase != verifier::Phase::decided && game.mover == Side::challenger) {
            auto answer = challenger_move(game, play.challenger->replay);
            ASSERT_TRUE(answer.has_value());
            ASSERT_TRUE(apply(game, Side::challenger, *answer).has_value());
        }
    }
    void sweep() { dispute_replays->sweep(views(), 100); }
    std::uint64_t task_bytes() {
        solver::TaskCache measure(source, arena.pool);
        return (*measure.material(terms(5)))->bytes;
    }
    std::function<void()> after_move;
    /// Plays all disputes in turn to their ends.
    void play_in_turn() {
        while (!views().empty() && !HasFatalFailure())
            for (const DisputeView& view : views()) move(view.id);
        for (const auto& [id, play] : plays)
            EXPECT_EQ(play.view.game.ending, Ending::referee_challenger_wrong) << slug(play.view.game.ending);
    }
    static constexpr std::uint64_t kPromised = kSteps + kSteps / 2 + 4 * kArity;
};

TEST_F(ManyDisputes, AboutDifferentStepsOfOneSegmentCostEachWhatOneCosts) {
    dispute(1, 1400, 900);
    dispute(2, 3, 900);
    dispute(3, 800, 900);
    dispute(4, 1399, 900);
    play_in_turn();
    for (const auto& [id, play] : plays) {
        EXPECT_LE(play.steps, kPromised) << id;
        EXPECT_LE(play.dearest, kSteps + kArity) << id;
    }
    EXPECT_LE(steps, kSteps + 4 * (kSteps + 4 * kArity)) << "the first search is made once for all";
    EXPECT_EQ(loads, 1u) << "so is the start";
    sweep();
    EXPECT_EQ(dispute_replays->kept_bytes(), 0u) << "nothing is kept of what is over";
}

TEST_F(ManyDisputes, WithoutMemoryToSpareCostTimeAndNothingElse) {
    open(task_bytes());
    const std::uint64_t one =
        2 * kernels::state_bytes(arena.program.program()) + kernels::move_memory_bytes(arena.program.program());
    dispute(1, 1400, 900);
    dispute(2, 3, 900);
    dispute(3, 1399, 900);
    after_move = [&] { EXPECT_LE(dispute_replays->kept_bytes(), one); };
    play_in_turn();
    for (const auto& [id, play] : plays) EXPECT_LE(play.dearest, kSteps + kArity) << id;
    EXPECT_GT(plays.at(3).steps, kPromised) << "it was begun again and again";
}

TEST_F(ManyDisputes, KeepWhatTheClockThatEndsFirstNeeds) {
    dispute(1, 1400, 900);
    std::uint64_t peak = 0;
    after_move = [&] { peak = std::max(peak, dispute_replays->kept_bytes()); };
    play_in_turn();
    plays.clear();
    open(task_bytes() + peak);
    dispute(1, 1000, 901);
    dispute(2, 1400, 899);
    dispute(3, 900, 900);
    after_move = [&] { EXPECT_LE(dispute_replays->kept_bytes(), 2 * peak); };
    play_in_turn();
    EXPECT_LE(plays.at(2).steps, kPromised);
    EXPECT_GT(plays.at(1).steps, kPromised);
    EXPECT_GT(plays.at(3).steps, kPromised);
}

TEST_F(ManyDisputes, AreForgottenForOneThatMemoryDoesNotSufficeFor) {
    dispute(1, 1400, 900);
    dispute(2, 700, 900);
    for (int i = 0; i < 4; ++i) move(1 + i % 2);
    const std::uint64_t both = dispute_replays->kept_bytes();
    fails = 1;
    move(2);
    EXPECT_EQ(fails, 0u);
    EXPECT_LT(dispute_replays->kept_bytes(), both);
    fails = 2;
    sweep();
    EXPECT_THROW((void)dispute_replays->answer(plays.at(1).view), std::bad_alloc) << "twice is enough";
    EXPECT_EQ(dispute_replays->kept_bytes(), 0u);
    play_in_turn();
}

TEST_F(ManyDisputes, OfTasksThatDoNotFitBesideOneAnotherArePlayedInTurn) {
    open(task_bytes() + task_bytes() / 2);
    dispute(1, 1400, 900, 5);
    dispute(2, 700, 900, 6);
    after_move = [&] { EXPECT_EQ(task_cache->tasks().size(), 1u); };
    play_in_turn();
}

TEST_F(ManyDisputes, AboutATaskThatDoesNotFitAloneAreDeferredByName) {
    open(task_bytes() - 1);
    dispute(1, 1400, 900);
    sweep();
    const auto made = dispute_replays->answer(plays.at(1).view);
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().message.find("bytes of memory"), std::string::npos) << made.error().message;
}

TEST_F(ManyDisputes, GiveATaskThatIsTakenTheMemoryThatItNeeds) {
    open(2 * task_bytes());
    for (std::uint64_t id = 1; id <= 5; ++id) dispute(id, 300 * id - 1, 900 + id);
    for (std::uint64_t i = 0; i < 10; ++i) move(1 + i % 5);
    EXPECT_GT(dispute_replays->kept_bytes(), 4 * kernels::state_bytes(arena.program.program()));
    ASSERT_TRUE(task_cache->material(terms(6)).has_value());
    EXPECT_EQ(task_cache->spare(), 0u);
    EXPECT_LE(dispute_replays->kept_bytes(), 2 * kernels::state_bytes(arena.program.program()));
    play_in_turn();
}

TEST_F(ManyDisputes, TakeTheMemoryThatAnswersAreKeptIn) {
    dispute(1, 1400, 900);
    std::uint64_t peak = 0;
    after_move = [&] { peak = std::max(peak, dispute_replays->kept_bytes()); };
    play_in_turn();
    plays.clear();
    open(task_bytes() + peak);
    ASSERT_TRUE(task_cache->material(terms(5)).has_value());
    // A tile of the data takes 64 bytes in their tree.
    const auto remember = [&](std::uint8_t number, std::uint64_t bytes) {
        const kernels::Tensor data = kernels::zeros(kernels::DType::f32, {32 * (bytes / 64), 32});
        (void)task_cache->answers().data_tile(data, Hash32{{number}}, 0, arena.pool);
    };
    remember(1, 2 * peak);
    const std::uint64_t before = task_cache->answers().bytes();
    EXPECT_GT(before, peak);
    task_cache->bound_answers();
    EXPECT_EQ(task_cache->answers().bytes(), 0u) << "more than there is to spare";
    remember(2, peak / 2);
    task_cache->bound_answers();
    EXPECT_GT(task_cache->answers().bytes(), 0u);
    EXPECT_EQ(task_cache->spare() + task_cache->answers().bytes(), peak) << "it is counted";
    dispute(1, 1000, 901);
    dispute(2, 1400, 899);
    after_move = {};
    play_in_turn();
    EXPECT_EQ(task_cache->answers().bytes(), 0u);
    for (const auto& [id, play] : plays) EXPECT_LE(play.steps, kPromised) << id;
}

TEST_F(ManyDisputes, ThatNoRulesLeadToAreProblemsOfTheirsAlone) {
    dispute(1, 1400, 900);
    dispute(2, 700, 900);
    move(1);
    move(2);
    DisputeView told = plays.at(1).view;
    told.game.search.low = 2 * kSteps;
    told.game.search.high = 3 * kSteps;
    const auto made = dispute_replays->answer(told);
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().message.find("the node's game breaks an invariant of the rules"), std::string::npos)
        << made.error().message;
    play_in_turn();
}

}  // namespace
}  // namespace retrace::test
