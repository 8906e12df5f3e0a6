// SPDX-License-Identifier: MIT
// Every op kind: the winner, rounds, evidence and referee time (SPEC 7).
#include <gtest/gtest.h>

#include <set>

#include "kernels/ops/op.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/game/op_cases.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

constexpr std::uint32_t kRoundsMax = 24;
constexpr std::uint64_t kEvidenceMax = 96 * 1024;

class EveryOp : public ::testing::TestWithParam<OpCase> {};
class EveryChain : public ::testing::TestWithParam<OpCase> {};

std::uint64_t links_of(const OpCase& c) { return kernels::link_count(kernels::facts_of(c.program, 0)); }

std::vector<OpCase> chain_cases() {
    std::vector<OpCase> cases;
    for (const OpCase& c : op_cases()) {
        if (links_of(c) > 1) cases.push_back(c);
    }
    return cases;
}

std::uint64_t some_element(const OpCase& c, std::uint64_t pick) {
    const auto elements = kernels::geometry(c.program.tensors.back().dims).elements();
    return pick * 2654435761u % elements;
}

void expect_bounds(const Outcome& outcome) {
    EXPECT_LE(outcome.game.rounds, kRoundsMax);
    EXPECT_LE(outcome.game.largest_move, kEvidenceMax);
    EXPECT_LE(outcome.game.evidence_bytes, 160u * 1024);
#ifdef NDEBUG
    EXPECT_LE(outcome.referee_ms, kRefereeMs);
#endif
}

TEST_P(EveryOp, OneFlippedBitConvictsTheSolver) {
    const OpCase& c = GetParam();
    Arena arena(c.program);
    for (std::uint64_t pick = 0; pick < 3; ++pick) {
        const std::uint64_t element = some_element(c, pick);
        Party liar(arena, c.start, 3, flip(1, 0, element)), honest(arena, c.start, 3);
        const Outcome outcome = duel(arena, c.start, liar, honest);
        const Game& game = outcome.game;
        EXPECT_EQ(game.ending, Ending::referee_solver_wrong) << slug(game.ending) << " in " << slug(game.phase);
        EXPECT_EQ(game.loser, Side::solver);
        EXPECT_EQ(game.found.step, 1u);
        EXPECT_EQ(game.found.op, 0u);
        EXPECT_EQ(game.found.element, element);
        EXPECT_EQ(game.found.claimed_bits ^ game.found.referee_bits, 1u);
        expect_bounds(outcome);
    }
}

TEST_P(EveryOp, OneFlippedBitConvictsAFalseAccuser) {
    const OpCase& c = GetParam();
    Arena arena(c.program);
    Party honest(arena, c.start, 3), liar(arena, c.start, 3, flip(1, 0, some_element(c, 5)));
    const Outcome outcome = duel(arena, c.start, honest, liar);
    EXPECT_EQ(outcome.game.ending, Ending::referee_challenger_wrong) << slug(outcome.game.ending);
    EXPECT_EQ(outcome.game.loser, Side::challenger);
    expect_bounds(outcome);
}

/// The solver's tile and all its links after `from` carry one wrong bit in `place`: a lie that starts at a link.
TEST_P(EveryChain, ALieThatStartsAtAnyLinkIsFoundThere) {
    const OpCase& c = GetParam();
    const std::uint64_t links = links_of(c);
    Arena arena(c.program);
    for (std::uint64_t from = 0; from + 1 < links; ++from) {
        Party liar(arena, c.start, 1, flip(0, 0, 0)), honest(arena, c.start, 1);
        const auto spoil = [](Bytes tile) {
            tile[0] ^= 1;
            return tile;
        };
        const Liar lie = [&](const Game& game, Side side, Replayer& replay) -> std::optional<Move> {
            if (side != Side::solver) return std::nullopt;
            if (game.phase == Phase::search_links) {
                PostHashes post;
                for (const std::uint64_t position : search_positions(game.search)) {
                    const Bytes& partial = replay.partial_of(0, 0, game.found.tile, position);
                    post.hashes.push_back(merkle::tile_leaf(position - 1 >= from ? spoil(partial) : partial));
                }
                return Move(post);
            }
            if (game.phase == Phase::open_tile && game.found.link + 1 < links) {
                return Move(OpenTile{spoil(own_tile(game, replay))});
            }
            return std::nullopt;
        };
        const Outcome outcome = duel(arena, c.start, liar, honest, lie);
        EXPECT_EQ(outcome.game.ending, Ending::referee_solver_wrong) << slug(outcome.game.ending);
        EXPECT_EQ(outcome.game.found.link, from);
        expect_bounds(outcome);
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, ::testing::ValuesIn(op_cases()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Chains, EveryChain, ::testing::ValuesIn(chain_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(OpCases, NameEveryOpCode) {
    std::set<kernels::OpCode> codes;
    for (const OpCase& c : op_cases()) codes.insert(c.program.ops[0].code);
    for (const kernels::OpRule& rule : kernels::all_rules()) {
        EXPECT_TRUE(codes.count(rule.code) == 1) << "no dispute is tested for " << rule.name;
    }
}

}  // namespace
}  // namespace retrace::test
