// SPDX-License-Identifier: MIT
// The cost of a dispute for the ledger does not grow with the model (SPEC 7): programs of 10^4 to 10^9 parameters.
#include <gtest/gtest.h>

#include "tests/sanitized.hpp"
#include "tests/unit/verifier/game/bounds_synthetic.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

class Bounds : public ::testing::TestWithParam<SyntheticShape> {};

void expect_bounds(const SyntheticResult& result) {
    const Game& game = result.game;
    ASSERT_EQ(result.refused, "");
    EXPECT_LE(game.rounds, 24u);
    EXPECT_LE(game.largest_move, 96u * 1024);
    EXPECT_LE(game.evidence_bytes + result.moves * kTxOverhead, 160u * 1024);
    EXPECT_LE(result.moves, 60u) << "with blocks of a second, and a move in each";
#ifdef NDEBUG
    EXPECT_LE(result.referee_ms, kRefereeMs);
#endif
}

TEST_P(Bounds, HoldWhenTheSolverLies) {
    const SyntheticResult result = synthetic_dispute(GetParam(), true);
    expect_bounds(result);
    EXPECT_EQ(result.game.ending, Ending::referee_solver_wrong) << slug(result.game.ending);
    EXPECT_EQ(result.game.found.claimed_bits ^ result.game.found.referee_bits, 1u);
    if (GetParam().name == "p1e9_batch") {
        EXPECT_GT(result.game.largest_move, 19u * 4096) << "18 input tiles and the partial before";
    }
    RecordProperty("rounds", static_cast<int>(result.game.rounds));
    RecordProperty("largest_move", static_cast<int>(result.game.largest_move));
    RecordProperty("evidence_bytes", static_cast<int>(result.game.evidence_bytes));
}

TEST_P(Bounds, HoldWhenTheChallengerLies) {
    const SyntheticResult result = synthetic_dispute(GetParam(), false);
    expect_bounds(result);
    EXPECT_EQ(result.game.ending, Ending::referee_challenger_wrong) << slug(result.game.ending);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Bounds, ::testing::ValuesIn(synthetic_shapes()),
                         [](const auto& info) { return info.param.name; });

TEST(BoundsCases, ReachFromTenThousandToABillionParameters) {
    const std::vector<SyntheticShape> shapes = synthetic_shapes();
    double wanted = 1e4;
    for (std::size_t i = 0; i < 6; ++i, wanted *= 10) {
        EXPECT_GE(static_cast<double>(shapes[i].parameters()), wanted * 0.9);
        EXPECT_LE(static_cast<double>(shapes[i].parameters()), wanted * 1.3);
    }
    for (std::size_t i = 6; i < shapes.size(); ++i) EXPECT_GE(shapes[i].parameters(), 950'000'000u) << shapes[i].name;
}

}  // namespace
}  // namespace retrace::test
