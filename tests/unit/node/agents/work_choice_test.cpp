// SPDX-License-Identifier: MIT
// The expected profit of tasks, also of hostile ones, and the choice among them.
#include "node/agents/work_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <limits>

namespace retrace::node {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr Machine kMachine{1e9, 1, 0};

/// Ten segments of six minutes each on kMachine, for a coin each.
WorkTerms hour() {
    return {.segments = 10,
            .segment_work = 360e9,
            .segment_price = 1,
            .segment_fees = 0.1,
            .lock = 20,
            .checkpoint_s = 720,
            .finish_s = 36'000};
}

TEST(WorkChoice, CountsHoursFeesAndLoad) {
    const Profit profit = expected_profit(hour(), kMachine);
    EXPECT_THAT(profit.hours, DoubleNear(1, 1e-9));
    EXPECT_THAT(profit.cost, DoubleNear(1, 1e-9));
    EXPECT_THAT(profit.per_hour, DoubleNear(9, 1e-9));
    EXPECT_THAT(profit.load, DoubleNear(0.5, 1e-9)) << "a segment takes half of the time between checkpoints";
    WorkTerms late = hour();
    late.finish_s = 3000;
    EXPECT_THAT(expected_profit(late, kMachine).load, DoubleNear(1.2, 1e-9)) << "the end comes before that";
}

TEST(WorkChoice, AMemberMakesAsManyStepsAsItsRoundHasRoomFor) {
    WorkTerms round = hour();
    round.fits_itself = true;
    EXPECT_THAT(expected_profit(round, kMachine).load, DoubleNear(0.5, 1e-9));
    round.checkpoint_s = 100;
    EXPECT_EQ(expected_profit(round, kMachine).load, 1) << "all of the machine, and not: too much";
}

TEST(WorkChoice, ARecordWithFaultsCostsItsShareOfTheLock) {
    EXPECT_EQ(loss_rate_of({}), 0);
    EXPECT_EQ(loss_rate_of({.settled = 2, .faults = 1}), 0.25);
    EXPECT_EQ(loss_rate_of({.settled = 2, .silences = 1}), 0.25) << "a missed deadline costs the lock too";
    Machine machine = kMachine;
    machine.loss_rate = 0.25;
    EXPECT_THAT(expected_profit(hour(), machine).per_hour, DoubleNear(9 - 5, 1e-9));
}

TEST(WorkChoice, ASegmentTakesABlockAtLeastAndTheWholeWindowWhereWorkOrSpeedAreUnknown) {
    WorkTerms tiny = hour();
    tiny.segment_work = 1;
    EXPECT_THAT(expected_profit(tiny, kMachine).hours, DoubleNear(10.0 / 3600, 1e-12));
    WorkTerms silent = hour();
    silent.segment_work = 0;
    EXPECT_THAT(expected_profit(silent, kMachine).hours, DoubleNear(2, 1e-9));
    EXPECT_THAT(expected_profit(hour(), Machine{0, 1, 0}).hours, DoubleNear(2, 1e-9));
}

TEST(WorkChoice, ThePriceOfAnHourIsThatOfItsSegments) {
    const double price = price_at(hour(), kMachine, 3);
    EXPECT_THAT(price, DoubleNear(0.4, 1e-9));
    WorkTerms sold = hour();
    sold.segment_price = price;
    EXPECT_THAT(expected_profit(sold, kMachine).per_hour, DoubleNear(3, 1e-9));
}

TEST(WorkChoice, HostileTermsGiveFiniteNumbers) {
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
    for (const double value : {0.0, -1.0, 1e-300, 1e300, infinity, -infinity, nan})
        for (const std::uint64_t segments : {std::uint64_t{0}, std::uint64_t{1}, market::kStepsMax, UINT64_MAX})
            for (const Machine& machine : {kMachine, Machine{value, value, value, value}, Machine{}}) {
                const WorkTerms terms{segments, value, value, value, value, value, value};
                const Profit profit = expected_profit(terms, machine);
                for (const double number : {profit.hours, profit.cost, profit.per_hour, profit.load,
                                            price_at(terms, machine, value), price_at(terms, machine, 1)})
                    EXPECT_TRUE(std::isfinite(number)) << value << ' ' << segments;
                EXPECT_GE(profit.load, 0);
                const auto choices = choose_work({{1, terms}}, machine, {1, 1, 1}, value);
                ASSERT_EQ(choices.size(), 1u);
            }
    WorkTerms free = hour();
    free.segment_price = 0;
    EXPECT_LT(expected_profit(free, kMachine).per_hour, 0) << "its fees are lost";
}

TEST(WorkChoice, KeepsTheTimeOfAReservedTaskFree) {
    EXPECT_EQ(end_of(hour(), kMachine, 100), 100 + 7920u)
        << "ten segments and the first state at the pace of their deadlines";
    WorkTerms round = hour();
    round.finish_s = 3'000;
    EXPECT_EQ(end_of(round, kMachine, 100), 3'100u);
    round.fits_itself = true;
    EXPECT_EQ(end_of(round, kMachine, 100), 8'020u);
    EXPECT_EQ(end_of(hour(), Machine{1e9, 0, 0}, UINT64_MAX), UINT64_MAX);

    WorkTerms small = hour();
    small.segment_work = 36e9;  // A twentieth of the time, until as late.
    const Candidate long_one{1, hour(), 100}, small_one{2, small, 100};
    Room room{1, 100, 32, {{.reservation = 7, .from = 5'000, .until = 6'000, .load = 0.6, .left = 0.4}}};
    auto choices = choose_work({long_one, small_one}, kMachine, room, std::nullopt);
    EXPECT_EQ(choices[0].task, 2u);
    EXPECT_TRUE(choices[0].taken) << "both fit together";
    EXPECT_FALSE(choices[1].taken);
    EXPECT_THAT(choices[1].why, HasSubstr("its deadlines need 50 % of this machine's time, it may run until block "
                                          "8020, and reservation 7 keeps time from block 5000, when 35 % is left"));
    room.reserved[0].from = 8'020;
    choices = choose_work({long_one, small_one}, kMachine, room, std::nullopt);
    EXPECT_TRUE(choices[1].taken) << "it has ended when the reserved task may begin";
    room.reserved[0].from = 5'000;
    room.reserved[0].left = -0.1;
    EXPECT_FALSE(choose_work({small_one}, kMachine, room, std::nullopt)[0].taken) << "there is too much already";
    EXPECT_EQ(reserved_json(room.reserved), R"([{"reservation":7,"from":5000,"until":6000,"load":6E-1,"left":-1E-1}])");
}

/// 1 - 0.9 is less than 0.1.
TEST(WorkChoice, SharesThatAddUpToAllOfTheTimeFit) {
    WorkTerms large = hour(), small = hour();
    large.segment_work = 648e9;
    small.segment_work = 72e9;
    small.segment_price = 0.15;
    const Candidate most{1, large, 100}, rest{2, small, 100};
    Room room{1, 100, 32, {{.reservation = 7, .from = 5'000, .until = 6'000, .load = 0.9, .left = 1 - 0.9}}};
    EXPECT_EQ(in_the_way_of(room.reserved, 0.1, 8'020), nullptr);
    EXPECT_NE(in_the_way_of(room.reserved, 0.11, 8'020), nullptr);
    room.reserved[0].from = 9'000;
    for (const Choice& choice : choose_work({most, rest}, kMachine, room, std::nullopt))
        EXPECT_TRUE(choice.taken) << choice.why;
}

TEST(WorkChoice, TakesTheBestThatFit) {
    std::vector<Candidate> candidates;
    for (std::uint64_t task = 1; task <= 4; ++task) {
        WorkTerms terms = hour();
        terms.segment_price = static_cast<double>(task);
        candidates.push_back({task, terms});
    }
    const auto choices = choose_work(candidates, kMachine, {1, 100, 32}, 15.0);
    ASSERT_EQ(choices.size(), 4u);
    EXPECT_EQ(choices[0].task, 4u);
    EXPECT_TRUE(choices[0].taken);
    EXPECT_THAT(choices[0].why, HasSubstr("39 coins an hour, in 1 hours of this machine; its deadlines need 50 %"));
    EXPECT_TRUE(choices[1].taken);
    EXPECT_FALSE(choices[2].taken);
    EXPECT_THAT(choices[2].why, HasSubstr("need 50 % of this machine's time and 0 % is left"));
    EXPECT_FALSE(choices[3].taken);
    EXPECT_THAT(choices[3].why, HasSubstr("9 coins an hour, in 1 hours of this machine; --min-price asks for 15"));

    const auto poor = choose_work(candidates, kMachine, {1, 30, 32}, 0.0);
    EXPECT_TRUE(poor[0].taken);
    EXPECT_THAT(poor[1].why, HasSubstr("it locks 20 of stake and 10 is left; raise --stake"));
    const auto few = choose_work(candidates, kMachine, {1, 1000, 1}, std::nullopt);
    EXPECT_TRUE(few[0].taken);
    EXPECT_THAT(few[1].why, HasSubstr("others bring more"));
}

/// A late checkpoint costs stake, whatever an hour is to bring.
TEST(WorkChoice, TakesNoMoreThanItsTimeWithoutAPriceOfAnHour) {
    const std::vector<Candidate> candidates{{1, hour()}, {2, hour()}, {3, hour()}};
    const auto choices = choose_work(candidates, kMachine, {1, 1000, 32}, std::nullopt);
    EXPECT_TRUE(choices[0].taken);
    EXPECT_TRUE(choices[1].taken);
    EXPECT_FALSE(choices[2].taken);
    EXPECT_THAT(choices[2].why, HasSubstr("need 50 % of this machine's time and 0 % is left"));
}

TEST(WorkChoice, CountsWithTheLowerOfTheMeasuredSpeeds) {
    Machine machine = kMachine;
    machine.block_s = 2;
    machine.proved_per_block = 1e9;
    EXPECT_THAT(expected_profit(hour(), machine).load, DoubleNear(1, 1e-9)) << "half of the machine's own measurement";
    machine.proved_per_block = 4e9;
    EXPECT_THAT(expected_profit(hour(), machine).load, DoubleNear(0.5, 1e-9));
    machine.multiply_adds_per_s = 0;
    EXPECT_THAT(expected_profit(hour(), machine).load, DoubleNear(0.25, 1e-9)) << "only the ledger has one";
}

TEST(WorkChoice, ASmallTaskFitsBesideALargeOne) {
    WorkTerms large = hour(), medium = hour(), small = hour();
    large.checkpoint_s = 450;
    large.segment_price = 3;
    medium.segment_price = 2;
    small.segment_work /= 10;
    small.segment_price = 0.15;
    const auto choices = choose_work({{1, large}, {2, medium}, {3, small}}, kMachine, {1, 100, 32}, 0.0);
    EXPECT_TRUE(choices[0].taken);
    EXPECT_FALSE(choices[1].taken);
    EXPECT_TRUE(choices[2].taken);
}

TEST(WorkChoice, TheChoiceAboutATaskIsKeptWhenItTakesNoMoreBids) {
    ChoiceHistory history;
    history.update(10, {{1, true, {}, "best", 0}, {2, false, {}, "too cheap", 0}});
    EXPECT_TRUE(history.earlier().empty());
    history.update(11, {{2, false, {}, "no room", 0}});
    history.update(12, {});
    ASSERT_EQ(history.earlier().size(), 2U);
    EXPECT_EQ(history.earlier()[0].choice.task, 2U) << "the newest first";
    EXPECT_EQ(history.earlier()[0].choice.why, "no room") << "its last reason";
    EXPECT_EQ(history.earlier()[0].height, 11U);
    EXPECT_TRUE(history.earlier()[1].choice.taken);
    EXPECT_EQ(history.earlier()[1].height, 10U);
    history.update(13, {{1, false, {}, "the second auction", 0}});
    EXPECT_EQ(history.earlier().size(), 1U) << "it is chosen from again";
    history.update(14, {});
    ASSERT_EQ(history.earlier().size(), 2U);
    EXPECT_EQ(history.earlier()[0].choice.why, "the second auction");
    for (std::uint64_t task = 100; task < 100 + 2 * ChoiceHistory::kKept; ++task)
        history.update(task, {{task, false, {}, "", 0}});
    EXPECT_EQ(history.earlier().size(), ChoiceHistory::kKept);
    const auto rows = boost::json::parse(earlier_json(history.earlier())).as_array();
    EXPECT_EQ(rows.at(0).at("height"), 100 + 2 * ChoiceHistory::kKept - 2);
}

TEST(WorkChoice, ConvertsCoins) {
    EXPECT_THAT(coins_of(ledger::U256(1'500'000'000'000'000'000u)), DoubleNear(1.5, 1e-12));
    EXPECT_TRUE(std::isfinite(coins_of(ledger::U256::max())));
    EXPECT_EQ(amount_of(1.5), ledger::U256(1'500'000'000'000'000'000u));
    EXPECT_EQ(amount_of(1e-9), ledger::U256(1'000'000'000'000u)) << "rounded up";
    EXPECT_EQ(amount_of(-1), ledger::U256());
    EXPECT_EQ(amount_of(std::nan("")), ledger::U256());
    EXPECT_EQ(amount_of(1e300), amount_of(1e200));
    EXPECT_EQ(short_coins(1.5), "1.5");
    EXPECT_EQ(short_coins(100), "100");
    EXPECT_EQ(short_coins(0), "0");
}

}  // namespace
}  // namespace retrace::node
