// SPDX-License-Identifier: MIT
#include "kernels/plan/regions.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/plan_executor.hpp"
#include "tests/unit/kernels/plan/small_plan.hpp"

namespace retrace::kernels {
namespace {

struct Entry {
    std::uint32_t run = 0, weight = 0, region = 0;
};
struct Record {
    std::vector<Entry> entries;
    std::uint32_t total = 0;
};

Record record_of(std::uint32_t runs) {
    Record out;
    for (std::uint32_t run = 0; run < runs; ++run) {
        out.entries.push_back({run, run + 1, run % 2});
        out.total += run + 1;
    }
    return out;
}

std::vector<std::uint32_t> numbers(std::uint32_t count) {
    std::vector<std::uint32_t> out(count);
    for (std::uint32_t run = 0; run < count; ++run) out[run] = run;
    return out;
}

Hash32 seed_of(std::uint8_t number) {
    Hash32 out;
    out.bytes[0] = number;
    return out;
}

TEST(Regions, AreOfEqualSizeWhateverTheNumbersOfRuns) {
    // Numbers that differ by the square of the number of regions, as one party could choose them.
    std::vector<std::uint32_t> runs = numbers(32);
    for (std::uint32_t i = 0; i < 32; ++i) runs.push_back(64 * (i + 1));
    std::map<std::uint32_t, int> sizes;
    for (const auto& [run, region] : in_regions(drawn_order(runs, seed_of(1)), 8)) ++sizes[region];
    ASSERT_EQ(sizes.size(), 8u);
    for (const auto& [region, size] : sizes) EXPECT_EQ(size, 8) << "region " << region;
}

TEST(Regions, TheSeedDecidesWhoIsTogether) {
    const auto runs = numbers(64);
    int together = 0;
    for (std::uint8_t seed = 0; seed < 200; ++seed) {
        std::map<std::uint32_t, std::uint32_t> region;
        for (const auto& [run, of] : in_regions(drawn_order(runs, seed_of(seed)), 8)) region[run] = of;
        together += region[0] == region[63] ? 1 : 0;
    }
    EXPECT_GT(together, 5) << "one in nine";
    EXPECT_LT(together, 45);
    EXPECT_EQ(drawn_order(runs, seed_of(1)), drawn_order(runs, seed_of(1)));
    EXPECT_EQ(kRegionRounds % 2, 0u) << "a round and the one that merges its messages have the same regions";
}

TEST(Regions, HaveTwoRunsOrAreFewer) {
    EXPECT_EQ(regions_for(64, 8), 8u);
    EXPECT_EQ(regions_for(5, 8), 2u);
    EXPECT_EQ(regions_for(1, 8), 1u);
    EXPECT_EQ(regions_for(0, 8), 1u);
}

TEST(Regions, EachMessageHasThreeJudgesBesideItsAuthor) {
    for (const std::uint32_t members : {4u, 5u, 16u, 64u}) {
        const std::uint32_t regions = regions_for(members, 8);
        const auto order = in_regions(drawn_order(numbers(members), seed_of(7)), regions);
        const auto judges = judges_of(order, regions);
        std::map<std::uint32_t, std::size_t> lists;
        for (std::size_t i = 0; i < order.size(); ++i) {
            EXPECT_EQ(std::set<std::uint32_t>(judges[i].begin(), judges[i].end()).size(), 3u) << members;
            EXPECT_EQ(std::ranges::count(judges[i], order[i].run), 0) << "its own message does not count";
            for (const std::uint32_t judge : judges[i]) ++lists[judge];
        }
        if (members != 64) continue;
        // Three of the eight of a region have all of it, and three others one message each.
        std::map<std::size_t, int> loads;
        for (const auto& [run, count] : lists) ++loads[count];
        EXPECT_EQ(loads, (std::map<std::size_t, int>{{1, 24}, {7, 24}}));
    }
}

TEST(Regions, WhoIsAloneInItsRegionIsJudgedByTheNextOne) {
    const std::vector<PlacedRun> order{{4, 1}, {9, 0}, {2, 1}, {7, 1}};  // One in region 0, three in region 1.
    const auto judges = judges_of(order, 2);
    EXPECT_EQ(judges[1], (std::vector<std::uint32_t>{4, 2, 7}));
    EXPECT_EQ(judges[3], (std::vector<std::uint32_t>{4, 2, 9})) << "run 7 of region 1";
    EXPECT_EQ(judges_of(std::vector<PlacedRun>{{4, 1}, {9, 0}}, 2),
              (std::vector<std::vector<std::uint32_t>>{{9}, {4}}));
    EXPECT_EQ(judges_of(std::vector<PlacedRun>{{4, 0}}, 2), (std::vector<std::vector<std::uint32_t>>{{}}));
}

/// The definition of plan/SPEC.md 2.7 beside the template that contracts, agents and local groups use.
TEST(Regions, ASegmentReadsItsRegionOrNothing) {
    const Record all = record_of(8);
    const std::uint32_t run = 3, region = 1;
    Record merged = all, skipped = all, plain = all;
    keep_read_entries(merged, 4, 2, run, {4, 5, 1, {}, 0, true});
    std::uint32_t sum = 0;
    for (const Entry& entry : merged.entries) {
        EXPECT_EQ(entry.region, region);
        sum += entry.weight;
    }
    EXPECT_EQ(merged.entries.size(), 4u);
    EXPECT_EQ(merged.total, sum);
    keep_read_entries(skipped, 4, 2, run, {4, 6, 3, {}, 0, true});
    EXPECT_TRUE(skipped.entries.empty());
    EXPECT_EQ(skipped.total, 0u);
    keep_read_entries(plain, 5, 2, run, {4, 6, 3, {}, 0, true});
    EXPECT_EQ(plain.entries.size(), 8u);
    Record stranger = all;
    keep_read_entries(stranger, 4, 2, 99, {4, 5, 1, {}, 0, true});
    EXPECT_TRUE(stranger.entries.empty()) << "who is not in the record has no region";
    keep_read_entries(plain, 4, 0, run, {4, 6, 3, {}, 0, false});
    EXPECT_EQ(plain.total, all.total) << "without regions";
}

std::vector<Phase> phases_of(const SegmentPositions& segment) {
    std::vector<Phase> out;
    for (std::uint64_t place = 0; place < segment.count(); ++place) out.push_back(segment.at(place).phase);
    return out;
}

TEST(RegionalPositions, OfAMergerEndWithItsRegion) {
    // Two records of merged messages that it has not taken in yet, one of them empty, then three messages to merge.
    const std::vector<std::uint32_t> counts{0, 2, 0, 0, 3};
    const auto segment = SegmentPositions::make({4, 9, 1, {}, 0, true}, counts, 10).value();
    EXPECT_EQ(phases_of(segment),
              (std::vector<Phase>{Phase::begin, Phase::add, Phase::add, Phase::end, Phase::merge_begin,
                                  Phase::merge_add, Phase::merge_add, Phase::merge_add, Phase::merge_press}));
    EXPECT_EQ(segment.recorded(), 4u);
    EXPECT_EQ(segment.at(1), (Position{Phase::add, 5, 0, 30})) << "record 5 is of the third round of training";
    EXPECT_EQ(segment.at(6), (Position{Phase::merge_add, 8, 1, 50}));
    EXPECT_EQ(segment.at(8), (Position{Phase::merge_press, 8, 0, 50}));
}

TEST(RegionalPositions, OfTrainingCountRoundsOfTraining) {
    const auto segment = SegmentPositions::make({8, 10, 2, 8, 0, true}, std::vector<std::uint32_t>{0, 2}, 10).value();
    EXPECT_EQ(phases_of(segment), (std::vector<Phase>{Phase::restore, Phase::begin, Phase::add, Phase::add, Phase::end,
                                                      Phase::inner, Phase::inner, Phase::press}));
    EXPECT_EQ(segment.at(0).op_step, 50u);
    EXPECT_EQ(segment.at(1).op_step, 50u);
    EXPECT_EQ(segment.at(5).op_step, 50u) << "the first step of the sixth round";
    const auto taken_back = SegmentPositions::make({9, 10, 0, 9, 0, true}, std::vector<std::uint32_t>{1}, 10).value();
    EXPECT_EQ(phases_of(taken_back), (std::vector<Phase>{Phase::begin, Phase::add, Phase::end, Phase::merge_restore}));
}

TEST(RegionalPositions, WithoutSenseAreRefused) {
    const auto refused = [](const SegmentSpan& span, const std::vector<std::uint32_t>& counts) {
        return !SegmentPositions::make(span, counts, 10).has_value();
    };
    EXPECT_FALSE(refused({4, 5, 1, {}, 0, true}, {3}));
    EXPECT_TRUE(refused({4, 5, 1, {}, 0, true}, {0})) << "nothing to merge";
    EXPECT_TRUE(refused({5, 5, 1, {}, 0, true}, {})) << "the record to merge is not in it";
    EXPECT_TRUE(refused({4, 5, 2, {}, 0, true}, {3})) << "merging is one step";
    EXPECT_TRUE(refused({4, 5, 1, 4, 0, true}, {3})) << "its own message is in the record";
    EXPECT_TRUE(refused({4, 6, 2, {}, 0, true}, {3, 1})) << "messages that have to be merged first";
    EXPECT_TRUE(refused({4, 5, 0, {}, 0, true}, {3}));
    EXPECT_FALSE(refused({4, 5, 0, {}, 0, true}, {0})) << "it has nothing to do";
    EXPECT_FALSE(refused({8, 10, 1, {}, 0, true}, {0, 2}));
    EXPECT_TRUE(refused({8, 10, 1, {}, 1, true}, {0, 2})) << "a message under masks is not merged";
    const std::vector<std::uint32_t> counts{0, 2}, masks{0, 1};
    EXPECT_TRUE(SegmentPositions::make({8, 10, 1, {}, 0, false}, counts, 10, masks).has_value());
    EXPECT_FALSE(SegmentPositions::make({8, 10, 1, {}, 0, true}, counts, 10, masks).has_value());
}

GroupPlan merging_plan() {
    GroupPlan plan = testing::small_plan();
    const auto phase = [&](Phase kind, const testing::SmallPhase& write) {
        plan.phases.push_back(testing::small_phase(kind, false, write));
    };
    using testing::SmallStates;
    phase(Phase::merge_begin, [](Graph& g, const SmallStates& s) { g.set_next(s.local, fill(g, 0.0f, {4})); });
    phase(Phase::merge_add, [](Graph& g, const SmallStates& s) {
        const Value message = g.dataset("message", DType::f32, {4});
        g.dataset("facts", DType::i32, kFactDims);
        g.set_next(s.local, add(g, s.local, message));
    });
    phase(Phase::merge_press,
          [](Graph& g, const SmallStates& s) { g.set_next(s.message, testing::copied(g, s.local)); });
    phase(Phase::merge_restore,
          [](Graph& g, const SmallStates& s) { g.set_next(s.local, add(g, s.local, s.message)); });
    return plan;
}

TEST(RegionalPlan, HasAllPhasesOrNone) {
    const GroupPlan plan = merging_plan();
    ASSERT_TRUE(check(plan).has_value()) << check(plan).error().message;
    EXPECT_TRUE(plan.has_regions());
    EXPECT_FALSE(testing::small_plan().has_regions());
    EXPECT_EQ(decode_plan(encode(plan)).value(), plan);
    EXPECT_NE(plan_root(plan), plan_root(testing::small_plan()));
    for (std::size_t missing = 8; missing < 12; ++missing) {
        GroupPlan less = plan;
        less.phases.erase(less.phases.begin() + static_cast<std::ptrdiff_t>(missing));
        EXPECT_FALSE(check(less).has_value()) << missing;
    }
}

TEST(RegionalPlan, HasNoMasks) {
    GroupPlan plan = merging_plan();
    for (const Phase phase : {Phase::mask, Phase::unmask})
        plan.phases.insert(plan.phases.begin() + 8, testing::small_phase(phase, false, [](Graph& g, const auto& s) {
                               g.dataset("masks", DType::i32, kMaskTableDims);
                               g.dataset("facts", DType::i32, kFactDims);
                               g.set_next(s.count, testing::copied(g, s.count));
                           }));
    const auto refused = check(plan);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("not merged in regions"), std::string::npos) << refused.error().message;
}

TEST(RegionalPlan, MergingWritesNothingThatMembersShare) {
    GroupPlan plan = merging_plan();
    plan.phases[9] = testing::small_phase(Phase::merge_add, false, [](Graph& g, const testing::SmallStates& s) {
        const Value message = g.dataset("message", DType::f32, {4});
        g.dataset("facts", DType::i32, kFactDims);
        g.set_next(s.anchor, add(g, s.anchor, message));
    });
    const auto refused = check(plan);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("merge_add writes"), std::string::npos) << refused.error().message;
    plan = merging_plan();
    plan.phases[9] = testing::small_phase(Phase::merge_add, false, [](Graph& g, const testing::SmallStates& s) {
        g.set_next(s.local, add(g, s.local, s.local));
    });
    EXPECT_FALSE(check(plan).has_value()) << "it takes no message";
}

}  // namespace
}  // namespace retrace::kernels
