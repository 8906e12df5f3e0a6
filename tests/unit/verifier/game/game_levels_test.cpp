// SPDX-License-Identifier: MIT
// Lies at every level of the game, and their outcomes.
#include <gtest/gtest.h>

#include "kernels/commit/contract.hpp"
#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/game/op_cases.hpp"

namespace retrace::test {
namespace {

using namespace verifier;
using kernels::DType;

Arena training_arena() {
    const OpCase c = small_training();
    kernels::Tensor x = kernels::zeros(DType::f32, {200, 300});
    for (std::uint64_t i = 0; i < x.elements(); ++i) x.f32()[i] = static_cast<float>(i % 17) / 8.0f - 1.0f;
    return Arena(c.program, {x});
}

class Levels : public ::testing::Test {
protected:
    Arena arena = training_arena();
    kernels::State start = small_training().start;
};

TEST_F(Levels, TheDisputedStepIsFoundWhereverItIs) {
    for (const std::uint64_t steps : {1u, 2u, 16u, 17u, 40u}) {
        for (const std::uint64_t step : {std::uint64_t{0}, steps / 2, steps - 1}) {
            Party liar(arena, start, steps, flip(step, 6, 100)), honest(arena, start, steps);
            const Outcome outcome = duel(arena, start, liar, honest);
            EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong);
            EXPECT_EQ(outcome.game.found.step, step);
            EXPECT_EQ(outcome.game.found.op, 6u);
        }
    }
}

TEST_F(Levels, TheDisputedOpIsTheFirstWrongOne) {
    const std::vector<std::uint32_t> elements = {3, 7, 1000, 77, 1200, 900, 500, 11999, 4000, 0};
    for (std::uint32_t op = 0; op < elements.size(); ++op) {
        // A high mantissa bit, so that no later rounding hides it; the lowest bit of an index, which keeps it in range.
        const std::uint32_t bit = op == 0 || op == 9 ? 0 : 21;
        Party liar(arena, start, 5, flip(2, op, elements[op], bit)), honest(arena, start, 5);
        const Outcome outcome = duel(arena, start, liar, honest);
        EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong) << op;
        EXPECT_EQ(outcome.game.found.step, 2u);
        EXPECT_EQ(outcome.game.found.op, op);
        EXPECT_EQ(outcome.game.found.element, elements[op]);
        EXPECT_LE(outcome.game.rounds, 24u);

        Party right(arena, start, 5), accuser(arena, start, 5, flip(2, op, elements[op], bit));
        const Outcome reversed = duel(arena, start, right, accuser);
        EXPECT_EQ(reversed.game.ending, Ending::referee_challenger_wrong) << op;
    }
}

TEST_F(Levels, AStateHeaderThatIsNotTheSegmentsLoses) {
    Party solver(arena, start, 4), honest(arena, start, 4);
    kernels::StateHeader header =
        kernels::commit_state(arena.program.root(), solver.replay.end_state(), arena.pool).header;
    for (int lie = 0; lie < 3; ++lie) {
        kernels::StateHeader wrong = header;
        if (lie == 0) wrong.step = 3;
        if (lie == 1) wrong.contract.bytes[0] ^= 1;
        if (lie == 2) wrong.program.bytes[0] ^= 1;
        const Liar liar = [&](const Game& game, Side, Replayer&) -> std::optional<Move> {
            if (game.phase != Phase::open_state) return std::nullopt;
            return Move(OpenState{wrong, arena.program.header()});
        };
        const Claim claim{false, 0, 4, solver.replay.root_at(0), wrong.root()};
        const Outcome outcome = play(verifier::start(arena.facts(), claim), solver.replay, honest.replay, liar);
        EXPECT_EQ(outcome.game.ending, Ending::wrong_header);
        EXPECT_EQ(outcome.game.loser, Side::solver);
    }
}

/// A solver whose committed state holds another tensor root than it computed, with a matching trace.
struct Forger {
    Arena& arena;
    std::uint32_t tensor;          ///< Forged state tensor.
    Hash32 root;                   ///< Root of the forged tensor.
    kernels::TensorHeader header;  ///< Header that `root` opens to.
    merkle::TileTree tiles;        ///< Tiles of the forged tensor.
    Bytes tile;                    ///< Opened as the disputed tile.

    kernels::StateCommitment commitment(Replayer& replay) const {
        kernels::StateCommitment own = replay.output_of(0);
        own.tensor_roots[tensor] = root;
        return kernels::commit_roots(arena.program.root(), 1, own.tensor_roots);
    }

    std::optional<Move> operator()(const Game& game, Side side, Replayer& replay) const {
        if (side != Side::solver) return std::nullopt;
        const kernels::StateCommitment forged = commitment(replay);
        const std::uint32_t writer = arena.program.program().tensors[tensor].writer;
        std::vector<Hash32> trace = replay.trace_of(0);
        if (writer != kernels::kNoWriter) trace[writer] = root;
        const merkle::TileTree trace_tree = kernels::trace_tree(trace);
        const auto children = [&](const merkle::TileTree& tree) {
            const Children at = children_of(game.descent);
            PostHashes post;
            for (std::uint64_t i = 0; i < at.count; ++i) post.hashes.push_back(tree.node(at.level, at.first + i));
            return Move(post);
        };
        switch (game.phase) {
            case Phase::open_state: return Move(OpenState{forged.header, arena.program.header()});
            case Phase::descend_state: return children(forged.tree());
            case Phase::open_trace: {
                const auto own = solver_move(game, replay);
                OpenTrace move = std::get<OpenTrace>(*own);
                move.tensor_root = root;
                const std::uint64_t at = writer;
                if (writer != kernels::kNoWriter) move.source = Written{trace_tree.root(), trace_tree.prove({&at, 1})};
                return Move(move);
            }
            case Phase::descend_trace: return children(trace_tree);
            case Phase::open_tensor: {
                OpenTensor move = std::get<OpenTensor>(*solver_move(game, replay));
                move.header = header;
                return Move(move);
            }
            case Phase::descend_tiles: return children(tiles);
            case Phase::open_tile: return Move(OpenTile{tile});
            default: return std::nullopt;
        }
    }
};

class Forgeries : public Levels {
protected:
    Party solver{arena, start, 1}, honest{arena, start, 1};

    Outcome play_forged(const Forger& forger) {
        const Claim claim{false, 0, 1, solver.replay.root_at(0), forger.commitment(solver.replay).root};
        return play(verifier::start(arena.facts(), claim), solver.replay, honest.replay, forger);
    }
    /// Tensor w2 (40×33: four tiles, the second one column wide) with one tile changed by the forger.
    Forger with_tile(std::uint64_t index, const std::function<void(Bytes&)>& change) {
        const std::uint32_t output = arena.program.program().output_of(6);
        merkle::TileTree tiles = solver.replay.tiles_of(0, output);
        Bytes tile = kernels::tile_bytes(solver.replay.tensor_of(0, output), index);
        change(tile);
        tiles.update(index, merkle::tile_leaf(tile));
        const kernels::TensorHeader header{DType::f32, {40, 33}, tiles.root()};
        return {arena, 1, header.root(), header, tiles, tile};
    }
};

TEST_F(Forgeries, ATensorOfAnotherShapeLoses) {
    const merkle::TileTree tiles = solver.replay.tiles_of(0, arena.program.program().output_of(6));
    const kernels::TensorHeader header{DType::f32, {33, 40}, tiles.root()};
    const Outcome outcome = play_forged({arena, 1, header.root(), header, tiles, {}});
    EXPECT_EQ(outcome.game.ending, Ending::wrong_header);
    EXPECT_EQ(outcome.game.loser, Side::solver);
}

TEST_F(Forgeries, AWrongElementLosesAtTheReferee) {
    const Outcome outcome = play_forged(with_tile(3, [](Bytes& tile) { tile[0] ^= 1; }));
    EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong);
    EXPECT_EQ(outcome.game.found.tile, 3u);
    EXPECT_EQ(outcome.game.found.element, 32u * 33 + 32);
}

TEST_F(Forgeries, PaddingThatIsNotZeroLoses) {
    const Outcome outcome = play_forged(with_tile(1, [](Bytes& tile) { tile[4] = 1; }));
    EXPECT_EQ(outcome.game.ending, Ending::bad_tile);
}

TEST_F(Forgeries, ATileOfAnotherLengthLoses) {
    EXPECT_EQ(play_forged(with_tile(0, [](Bytes& tile) { tile.pop_back(); })).game.ending, Ending::bad_tile);
    EXPECT_EQ(play_forged(with_tile(0, [](Bytes& tile) { tile.resize(5000); })).game.ending, Ending::bad_tile);
}

TEST_F(Forgeries, AFrozenTensorThatChangedLosesAtOnce) {
    Hash32 other;
    other.bytes[0] = 1;
    const Outcome outcome = play_forged({arena, 2, other, {}, {}, {}});
    EXPECT_EQ(outcome.game.ending, Ending::unwritten_changed);
    EXPECT_EQ(outcome.game.found.state_tensor, 2u);
}

TEST_F(Forgeries, ARootThatNothingHashesToTimesOut) {
    Hash32 nothing;
    nothing.bytes[0] = 1;
    const Claim claim{false, 0, 1, solver.replay.root_at(0), nothing};
    const Outcome outcome = play(verifier::start(arena.facts(), claim), solver.replay, honest.replay);
    EXPECT_EQ(outcome.game.ending, Ending::timeout_solver);
}

TEST_F(Forgeries, ATraceWithoutTheDisputedTensorIsRefused) {
    Forger forger = with_tile(0, [](Bytes& tile) { tile[0] ^= 1; });
    const Liar honest_trace = [&](const Game& game, Side side, Replayer& replay) -> std::optional<Move> {
        auto move = forger(game, side, replay);
        if (side == Side::solver && game.phase == Phase::open_trace) {
            std::get<OpenTrace>(*move).source = std::get<OpenTrace>(*solver_move(game, replay)).source;
        }
        return move;
    };
    const Claim claim{false, 0, 1, solver.replay.root_at(0), forger.commitment(solver.replay).root};
    const Outcome outcome = play(verifier::start(arena.facts(), claim), solver.replay, honest.replay, honest_trace);
    EXPECT_TRUE(outcome.stuck);
    EXPECT_EQ(outcome.game.ending, Ending::timeout_solver);
}

TEST_F(Levels, AChallengerThatDisputesAFrozenTensorLoses) {
    Party solver(arena, start, 1), accuser(arena, start, 1, flip(0, 6, 0));
    const Liar liar = [&](const Game& game, Side side, Replayer&) -> std::optional<Move> {
        if (side == Side::challenger && game.phase == Phase::descend_state) return Move(Choose{2});
        return std::nullopt;
    };
    const Outcome outcome = duel(arena, start, solver, accuser, liar);
    EXPECT_EQ(outcome.game.ending, Ending::unwritten_equal);
    EXPECT_EQ(outcome.game.loser, Side::challenger);
}

TEST_F(Levels, AChallengerWithoutACaseLosesWhateverItChooses) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Party solver(arena, start, 20), accuser(arena, start, 20);
        std::uint64_t state = seed * 7919 + 1;
        const Liar random = [&](const Game& game, Side side, Replayer&) -> std::optional<Move> {
            if (side != Side::challenger) return std::nullopt;
            state = state * 6364136223846793005u + 1442695040888963407u;
            const auto pick = static_cast<std::uint32_t>(state >> 33);
            if (!game.posted.empty()) return Move(Choose{pick % static_cast<std::uint32_t>(game.posted.size())});
            return std::nullopt;
        };
        const Outcome outcome = duel(arena, start, solver, accuser, random);
        EXPECT_EQ(outcome.game.loser, Side::challenger) << "seed " << seed << " " << slug(outcome.game.ending);
    }
}

TEST(Initialiser, IsDisputedWithoutAnInputState) {
    kernels::Program init;
    init.states = 2;
    init.tensors = {{kernels::TensorKind::state, DType::f32, {70, 40}, 0, "w"},
                    {kernels::TensorKind::state, DType::f32, {40}, 1, "b"},
                    {kernels::TensorKind::op_output, DType::f32, {70, 40}, kernels::kNoWriter, ""},
                    {kernels::TensorKind::op_output, DType::f32, {40}, kernels::kNoWriter, ""}};
    init.ops = {{kernels::OpCode{0x0905}, {}, {}, "w"}, {kernels::OpCode{0x0901}, {}, {0}, ""}};
    Arena arena(init);
    TamperedRunner lying(arena, arena.pool, flip(0, 0, 1234)), right(arena, arena.pool, {});
    const ReplaySetup setup{&arena.program, &arena.program, &lying, &arena.pool, arena.seed, {}};
    ReplaySetup own = setup;
    own.runner = &right;
    Replayer solver(setup), challenger(own);
    const Claim claim{true, 0, 0, {}, solver.end_root()};
    Outcome outcome = play(start(arena.facts(), claim), solver, challenger);
    EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong);
    EXPECT_EQ(outcome.game.found.element, 1234u);

    const Claim truth{true, 0, 0, {}, challenger.end_root()};
    outcome = play(start(arena.facts(), truth), challenger, solver);
    EXPECT_EQ(outcome.game.ending, Ending::referee_challenger_wrong);
}

}  // namespace
}  // namespace retrace::test
