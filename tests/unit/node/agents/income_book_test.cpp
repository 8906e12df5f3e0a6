// SPDX-License-Identifier: MIT
// Events of the ledger become what a party earned by task and day, however the blocks are read.
#include "node/agents/income_book.hpp"

#include <gmock/gmock.h>

#include "contracts/calls/encode.hpp"

namespace retrace::node {
namespace {

using ledger::U256;
using ::testing::ElementsAre;
using ::testing::Pair;

const ledger::Address kEarner{{1}}, kOther{{2}};

/// A node with events, whose blocks are a minute apart.
struct World {
    std::vector<PlacedLog> events;
    std::uint64_t kept_from = 0;
    std::size_t most = SIZE_MAX;
    bool is_down = false, is_busy = false;
    int times = 0;

    template <class Event>
    void add(std::uint64_t height, const Event& event) {
        events.push_back({height, {}, contracts::to_log(event)});
    }
    void pay(std::uint64_t height, std::uint64_t task, std::uint64_t amount, const ledger::Address& solver = kEarner) {
        add(height, contracts::SegmentsPaid{
                        .task = task, .solver = solver, .run = 0, .first = 0, .count = 2, .amount = U256(amount)});
    }
    IncomeBook::Source source() {
        return {[this](const auto& topics, std::uint64_t from,
                       std::uint64_t to) -> Result<std::vector<PlacedLog>, RpcFailure> {
                    if (is_down) return Unexpected{RpcFailure{0, "no answer", {}, true}};
                    if (is_busy) return Unexpected{RpcFailure{-32005, "rate limit", {}}};
                    if (from < kept_from) return Unexpected{RpcFailure{-32000, "block not kept", {}}};
                    EXPECT_LE(to - from, IncomeBook::kBlocks - 1);
                    std::vector<PlacedLog> out;
                    for (const PlacedLog& event : events) {
                        bool fits = event.height >= from && event.height <= to;
                        for (std::size_t i = 0; i < topics.size(); ++i)
                            fits = fits && i < event.log.topics.size() &&
                                   (!topics[i] || *topics[i] == event.log.topics[i]);
                        if (fits) out.push_back(event);
                    }
                    if (out.size() > most) return Unexpected{RpcFailure{-32000, "too many results", {}}};
                    return out;
                },
                [this](std::uint64_t height) -> Result<std::uint64_t, RpcFailure> {
                    ++times;
                    return height * 60;
                }};
    }
};

TEST(IncomeBook, SumsByTaskAuditAndDay) {
    World world;
    world.pay(10, 1, 100);
    world.pay(20, 2, 50);
    world.pay(20, 2, 7, kOther);
    world.pay(2000, 1, 30);  // A day has 1,440 blocks.
    world.add(2001, contracts::AuditPaid{.audit = 4, .auditor = kEarner, .amount = U256(5)});
    world.add(2002,
              contracts::Slashed{
                  .party = kEarner, .task = 2, .amount = U256(9), .burned = {}, .to_others = {}, .reason = "fault"});
    IncomeBook book(kEarner);
    ASSERT_TRUE(book.advance(world.source(), 3000).has_value());
    EXPECT_TRUE(book.is_complete());
    EXPECT_EQ(book.first(), 1U);
    EXPECT_EQ(book.total(), (IncomeBook::Sum{U256(185), U256(9), 6, 1, 2002}));
    EXPECT_THAT(book.tasks(), ElementsAre(Pair(1, IncomeBook::Sum{U256(130), {}, 4, 0, 2000}),
                                          Pair(2, IncomeBook::Sum{U256(50), U256(9), 2, 0, 2002})));
    EXPECT_THAT(book.audits(), ElementsAre(Pair(4, IncomeBook::Sum{U256(5), {}, 0, 1, 2001})));
    EXPECT_THAT(book.days(), ElementsAre(Pair(0, IncomeBook::Sum{U256(150), {}, 4, 0, 20}),
                                         Pair(1, IncomeBook::Sum{U256(35), U256(9), 2, 1, 2002})));
}

TEST(IncomeBook, ReadsTheNewestBlocksFirstAndThenTheOlder) {
    World world;
    for (std::uint64_t height = 500; height <= 35'000; height += 500) world.pay(height, height / 500, 1);
    IncomeBook book(kEarner);
    ASSERT_TRUE(book.advance(world.source(), 30'000).has_value());
    EXPECT_EQ(book.first(), 20'001U);
    EXPECT_EQ(book.total().earned, U256(20));
    EXPECT_FALSE(book.is_complete());
    ASSERT_TRUE(book.advance(world.source(), 30'000).has_value());
    EXPECT_EQ(book.first(), 10'001U);
    ASSERT_TRUE(book.advance(world.source(), 30'500).has_value());
    EXPECT_EQ(book.last(), 30'500U) << "new blocks come before old ones";
    ASSERT_TRUE(book.advance(world.source(), 30'500).has_value());
    EXPECT_TRUE(book.is_complete());
    EXPECT_EQ(book.total().earned, U256(61));
    ASSERT_TRUE(book.advance(world.source(), 30'500).has_value());
    EXPECT_EQ(book.total().earned, U256(61)) << "nothing is counted twice";
}

TEST(IncomeBook, AsksForFewTimes) {
    World world;
    for (std::uint64_t height = 1; height <= 9'000; ++height) world.pay(height, 1, 1);
    IncomeBook book(kEarner);
    ASSERT_TRUE(book.advance(world.source(), 9'000).has_value());
    EXPECT_EQ(book.days().size(), 7U);
    EXPECT_LT(world.times, 100);
    EXPECT_EQ(book.days().at(3).segments, 2U * 1440);
}

TEST(IncomeBook, BeginsWhereTheBlocksOfItsNodeDo) {
    World world;
    world.kept_from = 5'000;
    world.pay(19'000, 1, 1);
    IncomeBook book(kEarner);
    for (int i = 0; i < 100 && !book.is_complete(); ++i) ASSERT_TRUE(book.advance(world.source(), 19'000).has_value());
    EXPECT_TRUE(book.is_complete());
    EXPECT_EQ(book.first(), 5'000U);
}

TEST(IncomeBook, ReadsLessAtOnceFromANodeThatTellsFewLogsInACall) {
    World world;
    world.most = 100;
    for (std::uint64_t height = 1; height <= 3'000; ++height) world.pay(height, 1, 1);
    IncomeBook book(kEarner);
    for (int i = 0; i < 200 && !book.is_complete(); ++i) ASSERT_TRUE(book.advance(world.source(), 3'000).has_value());
    EXPECT_TRUE(book.is_complete());
    EXPECT_EQ(book.total().earned, U256(3'000));
}

TEST(IncomeBook, RefusesAmountsThatNoChainHas) {
    World world;
    for (const std::uint64_t height : {10, 11})
        world.add(height, contracts::SegmentsPaid{
                              .task = 1, .solver = kEarner, .run = 0, .first = 0, .count = 2, .amount = U256::max()});
    IncomeBook book(kEarner);
    const auto read = book.advance(world.source(), 20);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(book.last(), 0U);
    EXPECT_TRUE(book.total().earned.is_zero());
}

TEST(IncomeBook, LosesNothingWhenItsNodeFails) {
    World world;
    world.pay(12'000, 1, 1);
    world.pay(1, 1, 1);
    IncomeBook book(kEarner);
    world.is_down = true;
    EXPECT_FALSE(book.advance(world.source(), 12'000).has_value());
    EXPECT_EQ(book.last(), 0U);
    world.is_down = false;
    ASSERT_TRUE(book.advance(world.source(), 12'000).has_value());
    world.is_busy = true;
    EXPECT_FALSE(book.advance(world.source(), 12'000).has_value());
    EXPECT_FALSE(book.is_complete()) << "a node that is busy has them";
    world.is_busy = false;
    ASSERT_TRUE(book.advance(world.source(), 12'000).has_value());
    EXPECT_EQ(book.total().earned, U256(2));
}

}  // namespace
}  // namespace retrace::node
