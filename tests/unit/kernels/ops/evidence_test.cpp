// SPDX-License-Identifier: MIT
// Evidence for the referee: it is bounded, links compose to the op, and missing data gives errors instead of guesses.
#include <gmock/gmock.h>

#include "kernels/ops/op_call.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels {
namespace {

using testing::OpCase;
using testing::TensorSource;

/// Holds only the tiles that were named as evidence.
class TileSource final : public TensorSource {
public:
    TileSource(const OpCase& one, std::set<TileRef> tiles)
        : TensorSource(one.inputs), one_(one), tiles_(std::move(tiles)) {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        if (!tiles_.contains({slot, geometry(one_.facts.inputs[slot].dims).tile_of(element)})) return std::nullopt;
        return TensorSource::read(slot, element);
    }

private:
    const OpCase& one_;
    std::set<TileRef> tiles_;
};

/// The largest number of tiles that any link of the sampled elements reads; checks that those tiles suffice.
std::size_t widest_evidence(const OpCase& one, std::uint64_t elements_step) {
    TensorSource source(one.inputs);
    std::size_t widest = 0;
    for (std::uint64_t e = 0; e < elements_of(one.facts.output); e += elements_step) {
        ElementQuery query{e, 0, 0, 1, 2};
        for (; query.link < link_count(one.facts); ++query.link) {
            const std::set<TileRef> tiles = inputs_of(one.facts, query, source);
            widest = std::max(widest, tiles.size());
            TileSource opened(one, tiles);
            const auto from_tiles = evaluate(one.facts, query, opened);
            const auto from_all = evaluate(one.facts, query, source);
            EXPECT_TRUE(from_tiles && from_all && *from_tiles == *from_all) << one.name;
            query.before = *from_all;
        }
    }
    return widest;
}

TEST(Evidence, NoRandomCaseReadsMoreThanEighteenTiles) {
    for (const OpCase& one : testing::random_cases(5, 3)) {
        EXPECT_LE(widest_evidence(one, 1 + elements_of(one.facts.output) / 50), kEvidenceTilesMax) << one.name;
    }
}

TEST(Evidence, TheWidestGeometriesReachButDoNotPassTheBound) {
    std::size_t widest = 0;
    for (const OpCase& one : testing::widest_cases()) {
        const std::size_t tiles = widest_evidence(one, 1 + elements_of(one.facts.output) / 400);
        EXPECT_LE(tiles, kEvidenceTilesMax) << one.name;
        widest = std::max(widest, tiles);
    }
    EXPECT_EQ(widest, kEvidenceTilesMax);
}

TEST(Evidence, AnElementWithoutItsTileIsMissingInput) {
    for (const OpCase& one : testing::widest_cases()) {
        TileSource nothing(one, {});
        const auto result = evaluate(one.facts, {0, 0, 0, 0, 0}, nothing);
        ASSERT_FALSE(result.has_value()) << one.name;
        EXPECT_EQ(result.error(), EvalError::missing_input);
    }
}

TEST(Evidence, AnElementOrLinkThatDoesNotExistIsOutOfRange) {
    for (const OpCase& one : testing::random_cases(6, 1)) {
        TensorSource source(one.inputs);
        const ElementQuery past_end{elements_of(one.facts.output), 0, 0, 0, 0};
        EXPECT_EQ(evaluate(one.facts, past_end, source).error(), EvalError::out_of_range) << one.name;
        const ElementQuery past_links{0, link_count(one.facts), 0, 0, 0};
        EXPECT_EQ(evaluate(one.facts, past_links, source).error(), EvalError::out_of_range) << one.name;
    }
}

}  // namespace
}  // namespace retrace::kernels
