// SPDX-License-Identifier: MIT
// What each state of a reservation means, what can be done, and what happens next and when.
#include "node/explain/reservation_reason.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using market::ReservationState;
using testing::HasSubstr;

class NoRecords final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return {}; }
};

struct ReservationReasons : testing::Test {
    NoRecords nothing;
    ledger::State state{nothing};
    market::Reservation reservation;

    ReservationReasons() {
        reservation.id = 3;
        reservation.from = 100;
        reservation.until = 150;
        reservation.deposit = ledger::U256(2'000 * market::kMilli);
        reservation.locked = ledger::U256(9'000 * market::kMilli);
        reservation.task = 7;
        market::Run run;
        run.task = 7;
        run.state = market::RunState::assigned;
        run.deadline = 170;
        contracts::store(state, keys::run(7, 0), run);
    }
    ReservationExplanation told(ReservationState as, std::uint64_t height = 90) {
        reservation.state = as;
        return explain_reservation(state, reservation, height);
    }
};

TEST_F(ReservationReasons, OfOpenOnesNameWhatEitherSideCanDoAndByWhen) {
    const ReservationExplanation offered = told(ReservationState::offered);
    EXPECT_THAT(offered.why, HasSubstr("loses 2 coins of it if it does not come"));
    EXPECT_THAT(offered.remedy, HasSubstr("retrace reservation accept 3"));
    EXPECT_THAT(offered.remedy, HasSubstr("retrace reservation withdraw 3"));
    EXPECT_EQ(offered.next_height, 100U);
    const ReservationExplanation late = told(ReservationState::offered, 99);
    EXPECT_THAT(late.why, HasSubstr("can no longer")) << "the next block is 100";
    EXPECT_THAT(late.remedy, HasSubstr("withdraw 3` returns the deposit of 2 coins"));
    EXPECT_EQ(late.next_height, std::nullopt);
    const ReservationExplanation early = told(ReservationState::accepted, 98);
    EXPECT_THAT(early.why, HasSubstr("locked 9 coins"));
    EXPECT_EQ(early.remedy, "");
    EXPECT_EQ(early.next_height, 100U);
    const ReservationExplanation due = told(ReservationState::accepted, 99);
    EXPECT_THAT(due.remedy, HasSubstr("retrace reservation begin 3 FILE")) << "the next block is 100";
    EXPECT_THAT(due.next, HasSubstr("the solver has the deposit of 2 coins"));
    EXPECT_EQ(due.next_height, 150U);
    EXPECT_THAT(told(ReservationState::accepted, 148).remedy, HasSubstr("begin 3 FILE"));
    const ReservationExplanation over = told(ReservationState::accepted, 149);
    EXPECT_EQ(over.remedy, "") << "the next block is 150";
    EXPECT_EQ(over.next_height, 150U);
    const ReservationExplanation begun = told(ReservationState::begun);
    EXPECT_THAT(begun.remedy, HasSubstr("retrace task upload 7"));
    EXPECT_THAT(begun.next, HasSubstr("are burned"));
    EXPECT_EQ(begun.next_height, 170U);
}

TEST_F(ReservationReasons, OfAFrozenTaskSayThatNobodyIsAtFault) {
    market::Task task;
    task.id = 7;
    task.state = market::TaskState::frozen;
    contracts::store(state, keys::task(7), task);
    const ReservationExplanation frozen = told(ReservationState::begun);
    EXPECT_THAT(frozen.why, HasSubstr("task 7 was frozen"));
    EXPECT_EQ(frozen.remedy, "") << "an upload changes nothing";
    EXPECT_THAT(frozen.next, HasSubstr("the deposit of 2 coins returns"));
    EXPECT_EQ(frozen.next_height, std::nullopt) << "the run's deadline does not count";
}

TEST_F(ReservationReasons, OfThoseThatAreOverNameWhereTheDepositWent) {
    for (const auto& [state_of, words] :
         {std::pair{ReservationState::honoured, "took task 7; the deposit of 2 coins returned"},
          std::pair{ReservationState::broken, "and as much of its stake are burned"},
          std::pair{ReservationState::unused, "the solver has the deposit of 2 coins"},
          std::pair{ReservationState::lapsed, "the deposit of 2 coins returned"},
          std::pair{ReservationState::withdrawn, "took the offer back"},
          std::pair{ReservationState::released, "the deposit of 2 coins returned and the solver's stake is free"}}) {
        const ReservationExplanation over = told(state_of);
        EXPECT_THAT(over.why, HasSubstr(words));
        EXPECT_EQ(over.next, "") << market::slug(state_of);
        EXPECT_EQ(over.next_height, std::nullopt);
    }
}

}  // namespace
}  // namespace retrace::node
