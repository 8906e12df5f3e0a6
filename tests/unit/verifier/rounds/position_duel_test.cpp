// SPDX-License-Identifier: MIT
// Disputes about members of a group: a flipped bit in any op of any phase is found, whoever lies.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/rounds/group_world.hpp"

namespace retrace::test {
namespace {

using namespace verifier;
using kernels::Phase;

/// A place of a segment where the phase runs, as late as possible.
struct Place {
    const PlayedSegment* segment = nullptr;
    std::uint64_t place = 0;
};
std::optional<Place> find_place(const GroupWorld& world, Phase phase) {
    std::optional<Place> out;
    for (const PlayedSegment& segment : world.segments) {
        const kernels::SegmentPositions positions = world.positions(segment);
        for (std::uint64_t p = 0; p < positions.count(); ++p)
            if (positions.at(p).phase == phase && positions.count() > 4) out = Place{&segment, p};
    }
    return out;
}

class PositionDuel : public ::testing::TestWithParam<kernels::UpdateKind> {
protected:
    PositionDuel() { play_eventful(world_); }

    static Game game_about(const GroupWorld& world, const PlayedSegment& segment, const Hash32& end_root) {
        const std::uint64_t count = world.positions(segment).count();
        return start(world.facts(), {false, 0, count, segment.start_root, end_root, true});
    }
    Outcome duel_about(const PlayedSegment& segment, Replayer& solver, Replayer& challenger, const Liar& liar = {}) {
        return play(game_about(world_, segment, solver.end_root()), solver, challenger, liar,
                    [&](const Game& game) { return world_.facts_at(segment, game.found.step); });
    }
    /// Lies in a bit of op `op` of the phase at that place, as the solver and as the challenger. False if the lie does
    /// not reach the segment's end, so that there is nothing to dispute.
    bool lie_at(const Place& at, std::uint32_t op, std::uint32_t bit) {
        const kernels::Position position = world_.positions(*at.segment).at(at.place);
        const Phase phase = position.phase;
        const auto liar_runner = world_.runner({phase, flip(position.op_step, op, 0, bit)});
        const auto runner = world_.runner();
        Replayer liar = world_.replay(*at.segment, *liar_runner), honest = world_.replay(*at.segment, *runner);
        if (liar.end_root() == honest.end_root()) return false;
        const Outcome caught = duel_about(*at.segment, liar, honest);
        EXPECT_FALSE(caught.stuck);
        EXPECT_EQ(slug(caught.game.ending), slug(Ending::referee_solver_wrong)) << name(phase) << " op " << op;
        EXPECT_EQ(caught.game.loser, Side::solver);
        EXPECT_EQ(world_.positions(*at.segment).at(caught.game.found.step).phase, phase);
        EXPECT_EQ(caught.game.found.op, op) << name(phase);
        EXPECT_LE(caught.game.rounds, 24U);

        Replayer accuser = world_.replay(*at.segment, *liar_runner), accused = world_.replay(*at.segment, *runner);
        const Outcome kept = duel_about(*at.segment, accused, accuser);
        EXPECT_FALSE(kept.stuck);
        EXPECT_EQ(slug(kept.game.ending), slug(Ending::referee_challenger_wrong)) << name(phase) << " op " << op;
        EXPECT_EQ(kept.game.loser, Side::challenger);
        return true;
    }
    /// `press`, or the last mask over the message.
    Phase last_phase(const PlayedSegment& segment) const {
        const kernels::SegmentPositions positions = world_.positions(segment);
        return positions.at(positions.count() - 1).phase;
    }
    static std::string name(Phase phase) { return "phase " + std::to_string(static_cast<int>(phase)); }

    GroupWorld world_{GetParam(), 3};
};

TEST_P(PositionDuel, AFlippedBitInAnyOpOfAnyPhaseIsFound) {
    std::vector<Phase> phases{Phase::begin, Phase::add, Phase::end, Phase::inner, Phase::restore, Phase::press};
    if (world_.plan.has_masks()) phases.insert(phases.end(), {Phase::unmask, Phase::mask});
    for (const Phase phase : phases) {
        const auto at = find_place(world_, phase);
        ASSERT_TRUE(at.has_value()) << name(phase);
        std::uint32_t disputed = 0;
        const kernels::Program& program = world_.plan.at(phase).program;
        for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
            const bool word = kernels::size_of(program.tensors[program.output_of(op)].dtype) == 4;
            // The lowest bit of a zero is often lost in a sum, but not one of its exponent.
            disputed += lie_at(*at, op, 0) || (word && lie_at(*at, op, 30)) ? 1 : 0;
        }
        EXPECT_GT(disputed, 0U) << name(phase);
    }
}

TEST_P(PositionDuel, InnerStepsThatFollowASegmentOfRecordsAreDisputed) {
    play_apart(world_);
    const PlayedSegment& segment = trained_apart(world_);
    const std::uint64_t count = world_.positions(segment).count();
    for (const std::uint64_t place : {std::uint64_t{0}, count - 1}) {
        std::uint32_t disputed = 0;
        const Phase phase = world_.positions(segment).at(place).phase;
        const kernels::Program& program = world_.plan.at(phase).program;
        for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
            const bool word = kernels::size_of(program.tensors[program.output_of(op)].dtype) == 4;
            disputed += lie_at({&segment, place}, op, 0) || (word && lie_at({&segment, place}, op, 30)) ? 1 : 0;
        }
        EXPECT_GT(disputed, 0U) << name(phase);
    }
}

/// The challenger says that a tensor has changed which no op of the first inner step writes.
TEST_P(PositionDuel, AnUnwrittenTensorIsThatOfTheStateBeforeTheInnerSteps) {
    play_apart(world_);
    const PlayedSegment& segment = trained_apart(world_);
    ASSERT_EQ(world_.positions(segment).at(0).phase, Phase::inner);
    const kernels::Program& inner = world_.plan.at(Phase::inner).program;
    ASSERT_EQ(inner.tensors[0].writer, kernels::kNoWriter) << "it is shared";
    const auto runner = world_.runner();
    Replayer accused = world_.replay(segment, *runner);
    PlayedSegment other = segment;
    other.start.tensors[0].data[0] ^= 1;
    Replayer accuser = world_.replay(other, *runner);
    ASSERT_NE(accuser.root_at(1), accused.root_at(1));
    const Outcome kept = duel_about(segment, accused, accuser);
    EXPECT_FALSE(kept.stuck);
    EXPECT_EQ(slug(kept.game.ending), slug(Ending::unwritten_equal));
    EXPECT_EQ(kept.game.loser, Side::challenger);
    EXPECT_EQ(kept.game.found.step, 0u);
}

TEST_P(PositionDuel, FirstStatesAreDisputed) {
    for (const std::uint32_t run : {1u, 3u}) {
        const bool joined = run == 3;
        const Phase phase = joined ? Phase::enter : Phase::init;
        const solver::EntryView entry = world_.entry(run);
        const StepFacts facts{world_.committed->program(phase).root(), GroupWorld::kSeed, entry.anchor,
                              std::uint64_t{entry.base} * world_.plan.steps_max, kernels::header_step(entry.base, 0)};
        const auto replay_of = [&](solver::PlanRunner& runner) {
            const MemberSetup setup = world_.setup(runner, run);
            return Replayer(joined ? enter_steps_of(setup, entry.base, world_.anchor(run)) : init_steps_of(setup),
                            world_.pool);
        };
        std::uint32_t disputed = 0;
        const auto ops = static_cast<std::uint32_t>(world_.plan.at(phase).program.ops.size());
        for (std::uint32_t op = 0; op < ops; ++op) {
            const auto liar_runner = world_.runner({phase, flip(facts.op_step, op, 0)});
            const auto runner = world_.runner();
            Replayer liar = replay_of(*liar_runner), honest = replay_of(*runner);
            if (liar.end_root() == honest.end_root()) continue;
            ++disputed;
            for (const bool solver_lies : {true, false}) {
                Replayer& solver = solver_lies ? liar : honest;
                Replayer& challenger = solver_lies ? honest : liar;
                const Outcome out = play(start(world_.facts(), {true, 0, 0, {}, solver.end_root(), true}), solver,
                                         challenger, {}, [&](const Game&) { return facts; });
                EXPECT_FALSE(out.stuck);
                EXPECT_EQ(slug(out.game.ending),
                          slug(solver_lies ? Ending::referee_solver_wrong : Ending::referee_challenger_wrong))
                    << name(phase) << " op " << op;
                EXPECT_EQ(out.game.found.op, op);
            }
        }
        EXPECT_GT(disputed, 0U) << name(phase);
    }
}

TEST_P(PositionDuel, AStateWhoseHeaderIsNotThePositionsLoses) {
    const PlayedSegment& segment = *find_place(world_, Phase::press)->segment;
    const auto runner = world_.runner();
    const Phase last = last_phase(segment);
    const std::uint64_t step = segment.end.step, base = segment.view.span.base;
    using Change = std::function<void(kernels::StateHeader&)>;
    const std::vector<Change> changes = {
        [&](kernels::StateHeader& h) { h.step = step + 1; },
        [&](kernels::StateHeader& h) { h.step = kernels::header_step(base + 1, world_.positions(segment).count()); },
        [&](kernels::StateHeader& h) { h.step = world_.positions(segment).count(); },
        [&](kernels::StateHeader& h) { h.program = world_.committed->program(last).root(); },
        [&](kernels::StateHeader& h) { h.contract = h.program; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Replayer solver = world_.replay(segment, *runner), challenger = world_.replay(segment, *runner);
        OpenState lie{solver.output_of(solver.last_step() - 1).header, world_.committed->program(last).header()};
        changes[i](lie.header);
        const Liar liar = [&](const Game& game, Side, Replayer&) -> std::optional<Move> {
            return game.phase == verifier::Phase::open_state ? std::optional<Move>(lie) : std::nullopt;
        };
        const Outcome out = play(game_about(world_, segment, lie.header.root()), solver, challenger, liar,
                                 [&](const Game& game) { return world_.facts_at(segment, game.found.step); });
        EXPECT_EQ(slug(out.game.ending), slug(Ending::wrong_header)) << i;
        EXPECT_EQ(out.game.loser, Side::solver) << i;
    }
}

TEST_P(PositionDuel, OnlyThePositionsProgramOpensAState) {
    const PlayedSegment& segment = *find_place(world_, Phase::press)->segment;
    const auto runner = world_.runner();
    Replayer solver = world_.replay(segment, *runner);
    Game game = game_about(world_, segment, segment.end_root);
    game.search.low = game.found.step = solver.last_step() - 1;
    game.phase = verifier::Phase::open_state;
    ASSERT_TRUE(needs_position(game));
    set_position(game, world_.facts_at(segment, game.found.step));
    const kernels::StateHeader header = solver.output_of(game.found.step).header;
    for (const Phase phase : {Phase::begin, Phase::inner, Phase::restore, last_phase(segment)}) {
        Game copy = game;
        const auto applied = apply(copy, Side::solver, OpenState{header, world_.committed->program(phase).header()});
        EXPECT_EQ(applied.has_value(), phase == last_phase(segment)) << name(phase);
        if (!applied) {
            EXPECT_EQ(applied.error(), MoveError::wrong_opening);
        }
    }
}

TEST(PositionGames, WaitForTheFactsOfThePosition) {
    const Facts facts{};
    EXPECT_FALSE(needs_position(start(facts, {false, 0, 2, {}, {}, true})));
    EXPECT_TRUE(needs_position(start(facts, {false, 0, 1, {}, {}, true})));
    EXPECT_TRUE(needs_position(start(facts, {true, 0, 0, {}, {}, true})));
    EXPECT_FALSE(needs_position(start(facts, {true, 0, 0, {}, {}, false})));
    Game game = start(facts, {false, 0, 3, {}, {}, true});
    ASSERT_TRUE(apply(game, Side::solver, PostHashes{{Hash32{}, Hash32{}}}).has_value());
    EXPECT_FALSE(needs_position(game));
    ASSERT_TRUE(apply(game, Side::challenger, Choose{2}).has_value());
    ASSERT_TRUE(needs_position(game));
    EXPECT_EQ(game.found.step, 2U);
    const StepFacts position{Hash32{}, 5, {Hash32{}}, 6, 7};
    set_position(game, position);
    EXPECT_FALSE(needs_position(game));
    EXPECT_EQ(step_facts(game), position);
}

TEST(PositionGames, AreStoredWithTheirFactsOnceThePositionIsFound) {
    Game game = start({}, {false, 0, 3, {}, {}, true});
    auto stored = decode_game(encode(game));
    ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(stored->claim, game.claim);
    EXPECT_FALSE(stored->position.has_value());
    game.position = StepFacts{};
    EXPECT_EQ(decode_game(encode(game)).error(), CodecError::not_canonical);

    game = start({}, {false, 0, 1, {}, {}, true});
    EXPECT_EQ(decode_game(encode(game)).error(), CodecError::not_canonical);
    set_position(game, {Hash32{}, 5, {Hash32{}}, 6, 7});
    stored = decode_game(encode(game));
    ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(stored->position, game.position);
}

INSTANTIATE_TEST_SUITE_P(Updates, PositionDuel,
                         ::testing::Values(kernels::UpdateKind::dense, kernels::UpdateKind::sparse,
                                           kernels::UpdateKind::gradient, kernels::UpdateKind::masked));

}  // namespace
}  // namespace retrace::test
