// SPDX-License-Identifier: MIT
// A refused move changes nothing: wrong turns, wrong moves, wrong counts, flipped bytes.
#include <gtest/gtest.h>

#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/game/op_cases.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// A position of one dispute, with the move that was made in it.
struct Position {
    Game game;
    Move move;
};

std::vector<Position> positions() {
    const OpCase c = small_training();
    kernels::Tensor x = kernels::zeros(kernels::DType::f32, {200, 300});
    for (std::uint64_t i = 0; i < x.elements(); ++i) x.f32()[i] = static_cast<float>(i % 13);
    Arena arena(c.program, {x});
    Party liar(arena, c.start, 20, flip(9, 2, 50, 20)), honest(arena, c.start, 20);
    std::vector<Position> seen;
    const Liar recorder = [&](const Game& game, Side side, Replayer& replay) -> std::optional<Move> {
        const Move move = next_move(game, side, replay).value();
        seen.push_back({game, move});
        return move;
    };
    const Outcome outcome = duel(arena, c.start, liar, honest, recorder);
    EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong);
    return seen;
}

class Refusals : public ::testing::Test {
protected:
    static void SetUpTestSuite() { seen_ = new std::vector<Position>(positions()); }
    static void TearDownTestSuite() { delete seen_; }
    static const std::vector<Position>& seen() { return *seen_; }

    /// Applies a move and expects a refusal without side effects.
    static void expect_refused(const Game& before, Side side, const Move& move, const char* what) {
        Game game = before;
        EXPECT_FALSE(apply(game, side, move).has_value()) << what << " in " << slug(before.phase);
        EXPECT_EQ(encode(game), encode(before)) << what << " in " << slug(before.phase);
    }

private:
    static inline std::vector<Position>* seen_ = nullptr;
};

TEST_F(Refusals, EveryPhaseIsVisited) {
    std::vector<bool> visited(static_cast<std::size_t>(Phase::decided));
    for (const Position& p : seen()) visited[static_cast<std::size_t>(p.game.phase)] = true;
    for (std::size_t phase = 1; phase < visited.size(); ++phase) {
        if (Phase(phase) == Phase::search_links) continue;  // K = 300 has only two links; the test of chains has more.
        EXPECT_TRUE(visited[phase]) << slug(Phase(phase));
    }
}

TEST_F(Refusals, TheOtherSideMayNotMove) {
    for (const Position& p : seen()) {
        expect_refused(p.game, p.game.mover == Side::solver ? Side::challenger : Side::solver, p.move, "other side");
    }
}

TEST_F(Refusals, MovesOfOtherPhases) {
    for (const Position& p : seen()) {
        for (const Position& other : seen()) {
            if (other.move.index() == p.move.index()) continue;
            expect_refused(p.game, p.game.mover, other.move, "move of another phase");
        }
    }
}

TEST_F(Refusals, WrongCountsAndIndices) {
    for (const Position& p : seen()) {
        if (const auto* post = std::get_if<PostHashes>(&p.move)) {
            PostHashes fewer = *post, more = *post;
            fewer.hashes.pop_back();
            more.hashes.push_back({});
            expect_refused(p.game, p.game.mover, fewer, "too few hashes");
            expect_refused(p.game, p.game.mover, more, "too many hashes");
        }
        if (std::holds_alternative<Choose>(p.move)) {
            const auto count = static_cast<std::uint32_t>(p.game.posted.size());
            expect_refused(p.game, p.game.mover, Choose{count + 1}, "index out of range");
            expect_refused(p.game, p.game.mover, Choose{0xffffffff}, "index out of range");
        }
        if (std::holds_alternative<NameElement>(p.move)) {
            expect_refused(p.game, p.game.mover, NameElement{1024}, "place out of range");
        }
    }
}

TEST_F(Refusals, ChildrenThatDoNotLeadToTheNode) {
    for (const Position& p : seen()) {
        const auto* post = std::get_if<PostHashes>(&p.move);
        if (post == nullptr || p.game.phase == Phase::search_steps || p.game.phase == Phase::search_links) continue;
        PostHashes swapped = *post;
        std::swap(swapped.hashes.front(), swapped.hashes.back());
        expect_refused(p.game, p.game.mover, swapped, "swapped children");
    }
}

TEST_F(Refusals, EvidenceThatIsLeftOutOrSurplus) {
    for (const Position& p : seen()) {
        const auto* proof = std::get_if<ProveElement>(&p.move);
        if (proof == nullptr) continue;
        ProveElement move = *proof;
        move.inputs.pop_back();
        expect_refused(p.game, p.game.mover, move, "an input left out");
        move = *proof;
        move.inputs.push_back(move.inputs.back());
        expect_refused(p.game, p.game.mover, move, "an input twice");
        move = *proof;
        move.partial = Bytes(4096);
        expect_refused(p.game, p.game.mover, move, "another partial");
        move = *proof;
        move.inputs[0].tiles[0] ^= 1;
        expect_refused(p.game, p.game.mover, move, "a tile in another place");
        move = *proof;
        move.input_state.reset();
        if (proof->input_state) expect_refused(p.game, p.game.mover, move, "the input state left out");
    }
}

/// Moves with proofs or openings have exactly one encoding: any flipped bit is refused by the codec or the rules.
TEST_F(Refusals, FlippedBytesOfOpeningsAndProofs) {
    std::uint64_t random = 12345;
    for (const Position& p : seen()) {
        if (std::holds_alternative<PostHashes>(p.move) || std::holds_alternative<Choose>(p.move) ||
            std::holds_alternative<NameElement>(p.move)) {
            continue;
        }
        const Bytes wire = encode(p.move);
        for (int i = 0; i < 400; ++i) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            Bytes flipped = wire;
            // Half of the flips fall into the first bytes, where counts and headers are.
            const std::size_t range = i % 2 == 0 ? std::min<std::size_t>(wire.size(), 300) : wire.size();
            flipped[(random >> 20) % range] ^= static_cast<std::uint8_t>(1u << (random >> 60) % 8);
            const auto move = decode_move(flipped);
            if (move) expect_refused(p.game, p.game.mover, *move, "flipped byte");
        }
        for (std::size_t cut = 0; cut < wire.size(); cut += 1 + wire.size() / 50) {
            EXPECT_FALSE(decode_move(View(wire).first(cut)).has_value());
        }
        Bytes longer = wire;
        longer.push_back(0);
        EXPECT_FALSE(decode_move(longer).has_value());
    }
}

TEST_F(Refusals, NothingMovesAfterTheEnd) {
    Game game = seen().front().game;
    expire(game);
    EXPECT_EQ(game.ending, Ending::timeout_solver);
    expect_refused(game, Side::solver, seen().front().move, "a move after the end");
    const Bytes before = encode(game);
    expire(game);
    EXPECT_EQ(encode(game), before);
}

TEST_F(Refusals, MovesThatAreTooLargeDoNotDecode) {
    EXPECT_FALSE(decode_move(Bytes(kMoveBytesMax + 1)).has_value());
    EXPECT_FALSE(decode_move({}).has_value());
    const Bytes unknown = {8, 0, 0, 0, 0};
    EXPECT_FALSE(decode_move(unknown).has_value());
}

}  // namespace
}  // namespace retrace::test
