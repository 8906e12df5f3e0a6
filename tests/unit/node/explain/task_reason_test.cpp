// SPDX-License-Identifier: MIT
// Each reason of the closed list, with its remedy, what happens next and when.
#include "node/explain/task_reason.hpp"

#include <gmock/gmock.h>

#include "contracts/records/auctions.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/task_end.hpp"
#include "market/groups.hpp"
#include "market/params.hpp"
#include "node/explain/auction_words.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using market::TaskState;
using testing::AllOf;
using testing::HasSubstr;

class NothingStored final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return {}; }
};

struct Reasons : ::testing::Test {
    NothingStored nothing;
    ledger::State state{nothing};
    market::Params params;
    market::TaskSpec spec;
    market::Task task;
    market::Run run;

    Reasons() {
        contracts::store(state, keys::params(), params);
        spec.program_root = spec.init_root = Hash32{{1}};
        spec.steps = 40;
        spec.interval = 10;
        spec.price_ceiling = ledger::U256(market::kMilli);
        contracts::store(state, keys::spec(1), spec);
        task.id = 1;
        task.requester = ledger::Address{{1}};
        task.round = 1;
        task.bid_end = 110;
        task.reveal_end = 120;
        task.deliver_end = 900;
        run.task = 1;
        run.solver = ledger::Address{{2}};
        run.state = market::RunState::running;
        run.assigned_height = 120;
        run.deadline = 700;
    }
    void in(TaskState of, bool runs = true) {
        task.state = of;
        task.runs = runs ? 1 : 0;
        task.active.clear();
        if (runs) task.active.push_back(0);
        contracts::store(state, keys::task(1), task);
        contracts::store(state, keys::run(1, 0), run);
    }
    TaskExplanation told() const { return explain_task(state, 1, 100, nullptr).value(); }
    /// With the auction as this state has it.
    TaskExplanation told_of_the_auction() const {
        const auto auction = examine_auction(state, 1, 119, true);
        return explain_task(state, 1, 100, &*auction).value();
    }
};

TEST_F(Reasons, AreThoseOfARunThatGoesWell) {
    in(TaskState::assigned);
    EXPECT_EQ(told().reason, TaskReason::fetching_data);
    EXPECT_EQ(told().next_height, 700U);
    run.next_state = 2;
    in(TaskState::running);
    EXPECT_EQ(told().reason, TaskReason::training);
    EXPECT_THAT(told().why, HasSubstr("checkpoint 2 of 4 is next"));
    EXPECT_EQ(told().next_height, 700U);
    EXPECT_EQ(told().remedy, "") << "nothing need be done";
    run.next_state = 5;
    run.paid = 1;
    in(TaskState::running);
    EXPECT_EQ(told().reason, TaskReason::auditing);
    EXPECT_THAT(told().why, HasSubstr("1 of 4 segments are paid"));
    EXPECT_EQ(told().next_height, std::nullopt) << "its end is not opened yet";
    market::Segment segment;
    segment.state = market::SegmentState::verified;
    segment.window_end = 444;
    contracts::store(state, keys::segment(1, 0, 1), segment);
    EXPECT_EQ(told().next_height, 444U);
    EXPECT_THAT(told().next, HasSubstr("the challenge window of segment 1"));
    in(TaskState::delivering);
    EXPECT_EQ(told().reason, TaskReason::model_ready);
    EXPECT_THAT(told().remedy, AllOf(HasSubstr("retrace task fetch"), HasSubstr("retrace task accept")));
    EXPECT_EQ(told().next_height, 900U);
    in(TaskState::settled);
    EXPECT_EQ(told().reason, TaskReason::settled);
    EXPECT_EQ(told().next, "");
}

TEST_F(Reasons, ASegmentWithoutAuditorsNamesTheHeightOfTheDecision) {
    run.unaudited_since = 50;
    run.unaudited_from = 3;
    in(TaskState::running);
    EXPECT_EQ(told().reason, TaskReason::no_auditors);
    EXPECT_THAT(told().why, HasSubstr("segment 3 of run 0"));
    EXPECT_THAT(told().remedy, HasSubstr("retrace task decide"));
    EXPECT_EQ(told().next_height, 50 + params.unaudited_blocks);
}

TEST_F(Reasons, AreThoseOfATaskThatEndedWithoutAModel) {
    in(TaskState::cancelled, false);
    EXPECT_EQ(told().reason, TaskReason::cancelled);
    in(TaskState::expired, false);
    EXPECT_EQ(auction_height(task), 119U);
    EXPECT_EQ(told().reason, TaskReason::no_winner) << "there is no record of the auction";
    EXPECT_THAT(told().why, HasSubstr("this node has no record of the auction that closed at block 120"));
    EXPECT_EQ(told_of_the_auction().reason, TaskReason::no_bids);
    run.state = market::RunState::forfeited;
    in(TaskState::expired);
    EXPECT_EQ(told().reason, TaskReason::solvers_lost);
    EXPECT_THAT(told().why, AllOf(HasSubstr("run 0 by 0x02"), HasSubstr("forfeited with 0 segments paid")));
    task.round = static_cast<std::uint32_t>(params.rounds);
    in(TaskState::expired);
    EXPECT_EQ(told().reason, TaskReason::auctions_used_up);
    run.assigned_height = 60;  // in an auction before the newest
    in(TaskState::expired);
    EXPECT_EQ(told_of_the_auction().reason, TaskReason::no_bids) << "the successor's auction had none";
    task.round = 3;  // The first of them had the winner.
    in(TaskState::expired);
    EXPECT_THAT(told_of_the_auction().why,
                AllOf(testing::StartsWith("every solver of an earlier auction left or failed; run 0"),
                      HasSubstr("forfeited with 0 segments paid"), HasSubstr("; then nobody bid in 2 auctions")));
    EXPECT_THAT(told_of_the_auction().remedy, testing::StartsWith("`retrace task follow` shows why each run ended"));
    in(TaskState::frozen);
    EXPECT_EQ(told().reason, TaskReason::frozen);
    in(TaskState::released, false);
    EXPECT_EQ(told().reason, TaskReason::released);
    EXPECT_EQ(explain_task(state, 2, 100, nullptr), std::nullopt);
}

/// Neither auctions nor solvers are the cause of these, so neither is blamed.
TEST_F(Reasons, TellAnEndThatTheLedgerHasNoted) {
    using contracts::TaskEnd;
    run.state = market::RunState::left;
    run.paid = 2;
    in(TaskState::expired);
    const auto told_of = [&](TaskEnd end) {
        contracts::note_task_end(state, 1, end);
        EXPECT_THAT(told().why, AllOf(testing::Not(HasSubstr("left or failed")), HasSubstr("run 0 by 0x02"),
                                      HasSubstr("with 2 segments paid; the rest of the escrow was returned")));
        return told();
    };
    const TaskExplanation unaudited = told_of(TaskEnd::not_audited);
    EXPECT_EQ(unaudited.reason, TaskReason::not_audited);
    EXPECT_THAT(unaudited.why, HasSubstr("no fault of its solver"));
    EXPECT_THAT(unaudited.remedy, AllOf(HasSubstr("fewer auditors"), HasSubstr("--allow-unaudited")));
    const TaskExplanation place = told_of(TaskEnd::place_over);
    EXPECT_EQ(place.reason, TaskReason::place_over);
    EXPECT_THAT(place.remedy, HasSubstr("retrace task top-up"));
    const TaskExplanation wrong = told_of(TaskEnd::paid_wrong);
    EXPECT_EQ(wrong.reason, TaskReason::paid_wrong);
    EXPECT_THAT(wrong.why, HasSubstr("convicted"));
    run.assigned_height = 60;  // In an auction before the newest, which had no bids.
    contracts::note_task_end(state, 1, TaskEnd::place_over);
    in(TaskState::expired);
    EXPECT_EQ(told_of_the_auction().reason, TaskReason::no_bids) << "`--again` posts such a task again";
    EXPECT_THAT(told_of_the_auction().why, HasSubstr("paid for no other auction"));
    run.assigned_height = 120;
    in(TaskState::expired);
    contracts::store(state, contracts::keys::task_end(1), contracts::Counter{77});
    EXPECT_EQ(told().reason, TaskReason::solvers_lost) << "a node may show any number";
}

/// A task that began by a reservation has had a run without an auction.
TEST_F(Reasons, CountTheAuctionsAfterAReservedRun) {
    contracts::store(state, keys::reserved_for(1), contracts::Counter{3});
    market::Reservation reservation;
    reservation.id = 3;
    reservation.task = 1;
    reservation.state = market::ReservationState::broken;
    contracts::store(state, keys::reservation(3), reservation);
    run.state = market::RunState::left;
    run.assigned_height = 60;
    in(TaskState::expired);
    EXPECT_THAT(told_of_the_auction().why, HasSubstr("; then nobody bid in 1 auction;"));
}

/// "Lower the ceiling" and "raise the ceiling" in one line help nobody.
TEST_F(Reasons, TheRemedyFollowsTheLargerGroupOfSolvers) {
    OtherSolvers others;
    others.registered = others.examined = 5;
    others.free = 1;
    others.obstacles = {{static_cast<std::uint32_t>(contracts::CallStatus::stake_too_low), 4}};
    EXPECT_THAT(remedy_for(others),
                AllOf(HasSubstr("lower price_ceiling"), testing::Not(HasSubstr("raise price_ceiling")),
                      HasSubstr("raise checkpoint_blocks")));
    others.free = 4;
    others.obstacles[0].solvers = 1;
    EXPECT_THAT(remedy_for(others), AllOf(HasSubstr("raise price_ceiling"), HasSubstr("bond more"),
                                          testing::Not(HasSubstr("lower price_ceiling"))));
}

TEST_F(Reasons, NameTheReservationByWhichATaskBegan) {
    market::Reservation reservation;
    reservation.id = 3;
    reservation.solver = run.solver;
    reservation.state = market::ReservationState::begun;
    reservation.deposit = ledger::U256(1'000 * market::kMilli);
    reservation.task = 1;
    const auto store_it = [&](market::ReservationState as) {
        reservation.state = as;
        contracts::store(state, keys::reservation(3), reservation);
    };
    contracts::store(state, keys::reserved_for(1), contracts::Counter{3});
    store_it(market::ReservationState::begun);
    in(TaskState::assigned);
    EXPECT_EQ(told().reason, TaskReason::fetching_reserved);
    EXPECT_THAT(told().why, AllOf(HasSubstr("the solver 0x02"), HasSubstr("(reservation 3)")));
    EXPECT_THAT(told().remedy, HasSubstr("retrace task upload 1"));
    EXPECT_THAT(told().next, HasSubstr("the deposit of 1 coin and as much of its stake are burned"));
    EXPECT_EQ(told().next_height, 700U);
    store_it(market::ReservationState::honoured);
    in(TaskState::running);
    EXPECT_EQ(told().reason, TaskReason::training);
    EXPECT_THAT(told().why, HasSubstr("it began by reservation 3 (honoured): the deposit of 1 coin returned"));
    store_it(market::ReservationState::broken);
    in(TaskState::bidding);
    EXPECT_EQ(told().reason, TaskReason::no_bids_yet);
    EXPECT_THAT(told().why, HasSubstr("reservation 3 (broken): its solver did not take it"));
    store_it(market::ReservationState::begun);
    in(TaskState::frozen);
    EXPECT_THAT(told().why,
                HasSubstr("reservation 3 (begun): its solver had not accepted its data; the deposit of 1 coin "
                          "is held until the task is released, and returns"));
    store_it(market::ReservationState::released);
    in(TaskState::released, false);
    EXPECT_THAT(told().why,
                HasSubstr("(released): its solver had not accepted its data; the deposit of 1 coin returned"));
}

TEST_F(Reasons, SayThatASpotRunWasGivenBack) {
    contracts::store(state, keys::given_back(1, 0), contracts::Counter{});
    run.next_state = 4;
    run.paid = 1;
    run.deadline = 0;
    in(TaskState::running);
    EXPECT_EQ(told().reason, TaskReason::given_back);
    EXPECT_THAT(told().why, HasSubstr("gave run 0 back at checkpoint 3; it is paid up to checkpoint 1"));
    EXPECT_EQ(told().remedy, "") << "nothing need be done";
    EXPECT_THAT(told().next, HasSubstr("another solver takes the task from there"));
    EXPECT_EQ(told().next_height, std::nullopt);
    market::Segment segment;
    segment.state = market::SegmentState::verified;
    segment.window_end = 444;
    contracts::store(state, keys::segment(1, 0, 1), segment);
    EXPECT_EQ(told().next_height, 444U);
    task.round = static_cast<std::uint32_t>(params.rounds);
    in(TaskState::running);
    EXPECT_THAT(told().next, HasSubstr("it has had all auctions that a task may have"));
    task.round = 2;
    task.first_state = 3;
    run.state = market::RunState::left;
    in(TaskState::bidding);
    EXPECT_THAT(told().why, HasSubstr("run 0 was given back, and the next solver goes on from checkpoint 3"));
    in(TaskState::expired);
    EXPECT_THAT(told().why,
                HasSubstr("run 0 by 0x0200000000000000000000000000000000000000: given back with 1 segment"));
}

TEST_F(Reasons, FewerBidsThanReplicasAreTooFew) {
    spec.replicas = 2;
    contracts::store(state, keys::spec(1), spec);
    task.bidders = {ledger::Address{{7}}};
    in(TaskState::bidding, false);
    contracts::store(state, keys::solver(ledger::Address{{7}}), market::SolverInfo{});
    market::Bid bid;
    bid.revealed = true;
    bid.price = ledger::U256(5);
    bid.finish_height = 500;
    contracts::store(state, keys::bid(1, ledger::Address{{7}}), bid);
    EXPECT_EQ(told().reason, TaskReason::bids_sealed);
    EXPECT_EQ(explain_task(state, 1, 110, nullptr)->reason, TaskReason::bids_revealed);
    ledger::State ended{nothing};
    task.bidders.clear();
    task.state = TaskState::expired;
    contracts::store(ended, keys::spec(1), spec);
    contracts::store(ended, keys::task(1), task);
    const auto auction = examine_auction(state, 1, 119, true);
    const auto why = explain_task(ended, 1, 121, &*auction);
    EXPECT_EQ(why->reason, TaskReason::too_few_bids);
    EXPECT_THAT(why->why, HasSubstr("1 bids were revealed and the task asks for 2"));
}

TEST_F(Reasons, NameTheCeilingOfTheNextAuctionAndItsBlock) {
    spec.auctions = 3;
    spec.last_ceiling = spec.price_ceiling * ledger::U256(3);
    contracts::store(state, keys::spec(1), spec);
    in(TaskState::bidding, false);
    contracts::store(state, keys::auctions(1), market::Auctions{spec.price_ceiling, {}, 0, 2});
    const auto sealed = explain_task(state, 1, task.bid_end - 2, nullptr);
    EXPECT_EQ(sealed->next_height, task.bid_end);
    EXPECT_EQ(sealed->next, "bids are revealed; without winners another auction begins at block " +
                                std::to_string(task.reveal_end) + ", in which a segment costs at most 0.002 coins");
    EXPECT_THAT(sealed->why, HasSubstr("a segment costs at most 0.001 coins in this one, which rises to 0.003 coins"));
    const auto over = explain_task(state, 1, task.bid_end, nullptr);
    EXPECT_EQ(over->next, "another auction begins, in which a segment costs at most 0.002 coins");
    EXPECT_EQ(over->next_height, task.reveal_end);
    contracts::store(state, keys::auctions(1), market::Auctions{spec.price_ceiling, {}, 2, 0});
    EXPECT_EQ(explain_task(state, 1, task.bid_end, nullptr)->next, "the auction closes") << "it is the last one";
    auto once = params;
    once.rounds = 1;
    contracts::store(state, keys::params(), once);
    contracts::store(state, keys::auctions(1), market::Auctions{spec.price_ceiling, {}, 0, 2});
    EXPECT_EQ(explain_task(state, 1, task.bid_end, nullptr)->next, "the auction closes") << "no more are allowed";
}

TEST_F(Reasons, AreThoseOfEachPhaseOfARound) {
    market::GroupSpec terms;
    terms.rounds = 9;
    market::Group group;
    group.task = 1;
    group.round = 3;
    group.deadline = 333;
    group.committed = {0, 1};
    contracts::store(state, keys::group_spec(1), terms);
    in(TaskState::running);
    for (const auto& [phase, reason] : {std::pair{market::GroupPhase::starting, TaskReason::group_starting},
                                        std::pair{market::GroupPhase::training, TaskReason::group_training},
                                        std::pair{market::GroupPhase::spreading, TaskReason::group_fetching},
                                        std::pair{market::GroupPhase::revealing, TaskReason::group_revealing},
                                        std::pair{market::GroupPhase::settling, TaskReason::group_settling},
                                        std::pair{market::GroupPhase::over, TaskReason::group_finishing}}) {
        group.phase = phase;
        contracts::store(state, keys::group(1), group);
        EXPECT_EQ(told().reason, reason);
        EXPECT_EQ(told().next_height, 333U) << slug(reason);
        EXPECT_NE(told().next, "") << slug(reason);
    }
}

}  // namespace
}  // namespace retrace::node
