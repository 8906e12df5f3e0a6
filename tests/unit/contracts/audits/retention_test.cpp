// SPDX-License-Identifier: MIT
// Keepers of states, the revenue and cost of keeping, and segments that cannot be audited.
#include "contracts/lifecycle/audits/reports.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::SeatState;
using market::TaskState;

class Retention : public MarketTest {
protected:
    /// alice has opened state 2, which no audit checked, and stops there; state 1 is paid for.
    void open_state_2() {
        auto slow = params;
        slow.checkpoint_blocks = 300;
        begin(slow);
        begin_with(1);
        ASSERT_TRUE(advance_until([&] {
            if (run().next_state <= 2) {
                EXPECT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
            }
            serve("alice");
            check_audits();
            return run().finalised == 2;
        }));
        ASSERT_EQ(run().paid, 1u) << "nobody keeps state 2";
    }
    void begin_with(std::uint16_t audit_bp) {
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        add_solver("alice");
        add_solver("bob");
        advance(9);
        TaskSpec spec = small_spec();
        spec.audit_bp = audit_bp;
        spec.price_ceiling = U256(1000);  // a higher price would require a very large stake at this audit probability
        post(spec);
        auction({{"alice", 400}, {"bob", 700}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    }
    /// Two auditors of segment 0 commit verdicts.
    void collect() {
        auto slow = params;
        slow.checkpoint_blocks = 300;
        begin(slow);
        start_run();
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        seat_auditors("alice");
    }
    market::Audit audit() const { return views::audit(state, 1).value(); }
    std::string auditor(std::size_t seat) const { return name_of(audit().seats.at(seat).auditor); }
    /// Reports tiles until none is left, and lets alice answer (proofs are tested with real tiles elsewhere).
    void use_up_reports(const std::string& name) {
        for (std::uint64_t i = 0; i < params.reports; ++i) {
            ASSERT_EQ(send(name, ReportUnavailable{1, 1, 0, 0, 0, i}, params.report_fee), CallStatus::ok);
            answer(views::report_count(state));
        }
    }
    void answer(std::uint64_t report) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        close_report(fx, report, party("alice"));
        resume_after_answer(fx, views::report(state, report).value());
        state.apply(next.diff());
    }
    std::uint64_t time_for_verdicts() const { return params.verdict_blocks + small_spec().replay_blocks; }
    /// Every auditor without a verdict reports that nothing is served.
    void starve_seats() {
        for (const market::Seat& seat : audit().seats)
            if (seat.state == SeatState::drawn && seat.reports == 0) use_up_reports(name_of(seat.auditor));
    }
};

TEST_F(Retention, ASolverPaysForKeepingAndIsPaidForItsWork) {
    open_state_2();
    const U256 fee = params.audit_fee;
    EXPECT_EQ(send("bob", RequestRetention{1, 0, 2}, fee), CallStatus::not_solver);
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 0}, fee), CallStatus::wrong_index);
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 9}, fee), CallStatus::not_opened);
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 2}, fee - U256(1)), CallStatus::wrong_value);
    ASSERT_EQ(send("alice", RequestRetention{1, 0, 2}, fee), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 2}, fee), CallStatus::already_requested);
    EXPECT_EQ(send("bob", AttestRetention{1, 0, 2}), CallStatus::not_member);
    const std::string keeper = "v1";
    const U256 before = ledger::balance_of(state, party(keeper));
    ASSERT_EQ(send(keeper, AttestRetention{1, 0, 2}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(ledger::balance_of(state, party(keeper)), before + fee);
    EXPECT_EQ(send(keeper, AttestRetention{1, 0, 2}), CallStatus::already_attested);
    EXPECT_EQ(send("v2", AttestRetention{1, 0, 2}), CallStatus::not_matched) << "one keeper was paid for";
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 2}, fee), CallStatus::wrong_index);
    EXPECT_EQ(run().paid, 2u) << "paid between audits, at once";
    EXPECT_EQ(run().state, RunState::running);
}

/// Solvers use the list to see whether a finalised state waits for a keeper; a state that stayed in it would keep them
/// from making further offers.
TEST_F(Retention, AStateThatIsPaidForIsNoLongerListedAsRetained) {
    open_state_2();
    EXPECT_FALSE(views::checkpoint(state, 1, 0, 1)->keepers.empty());
    EXPECT_THAT(run().retained, ::testing::IsEmpty()) << "its audit paid for state 1";
    ASSERT_EQ(send("alice", RequestRetention{1, 0, 2}, params.audit_fee), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send("v1", AttestRetention{1, 0, 2}), CallStatus::ok) << last.revert_reason;
    EXPECT_THAT(run().retained, ::testing::IsEmpty());
}

/// One replica must not use up the offers of the others.
TEST_F(Retention, EachRunOfATaskHasItsOwnRoomForOffers) {
    open_state_2();
    const auto fill = [&](std::uint32_t run_index, std::uint64_t from) {
        std::vector<std::uint64_t> ids;
        for (std::uint64_t id = from; id < from + 64; ++id) {
            market::Retention offer;
            offer.id = id;
            offer.state = market::RetentionState::open;
            offer.task = 1;
            offer.run = run_index;
            offer.index = id;
            store(state, keys::retention(id), offer);
            ids.push_back(id);
        }
        store_list(state, keys::run_retentions(1, run_index), ids);
    };
    fill(0, 1'000);
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 2}, params.audit_fee), CallStatus::too_many_open);
    remove(state, keys::run_retentions(1, 0));
    fill(1, 2'000);
    EXPECT_EQ(send("alice", RequestRetention{1, 0, 2}, params.audit_fee), CallStatus::ok) << last.revert_reason;
}

TEST_F(Retention, AnOfferThatNobodyTakesReturnsWithTheRun) {
    open_state_2();
    const U256 before = ledger::balance_of(state, party("alice"));
    ASSERT_EQ(send("alice", RequestRetention{1, 0, 2}, params.audit_fee), CallStatus::ok);
    const U256 earned = run().earned;
    play("alice");
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(ledger::balance_of(state, party("alice")), before + run().earned - earned);
    EXPECT_EQ(views::retention(state, 1)->state, market::RetentionState::withdrawn);
}

TEST_F(Retention, KeepersThatDoNotServeAreMadeToAnswerOrLoseABond) {
    start_run();
    wrong_from = 4;
    play("alice");
    ASSERT_EQ(task().state, TaskState::bidding);
    const std::uint64_t first = task().first_state;
    ASSERT_GE(first, 1u);
    auction({{"bob", 500}});
    ASSERT_EQ(run(1).first_state, first);
    const ReportUnavailable report{5, 1, 0, first, 0, 0};
    EXPECT_EQ(send("v1", report, params.report_fee), CallStatus::not_solver);
    EXPECT_EQ(send("bob", ReportUnavailable{5, 1, 0, first + 1, 0, 0}, params.report_fee),
              CallStatus::nothing_to_report);
    const std::uint64_t deadline = run(1).deadline;
    ASSERT_EQ(send("bob", report, params.report_fee), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(1).deadline, deadline + params.answer_blocks);
    const auto keepers = views::checkpoint(state, 1, 0, first)->keepers;
    ASSERT_FALSE(keepers.empty());
    const std::uint64_t id = views::report_count(state);
    EXPECT_EQ(send("alice", AnswerUnavailable{id, {1}}), CallStatus::not_keeper);
    EXPECT_EQ(send(name_of(keepers[0]), AnswerUnavailable{id, {1}}), CallStatus::wrong_answer);
    const std::size_t before = all<Slashed>().size();
    advance(params.answer_blocks + 1);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), before + keepers.size());
    EXPECT_EQ(slashed.back().reason, "not_kept");
    EXPECT_EQ(slashed.back().amount, params.audit_bond);
    EXPECT_EQ(run(1).state, RunState::assigned) << "bob may still accept, or leave free of charge";
    EXPECT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    EXPECT_EQ(checkpoint("bob", first, 1), CallStatus::ok);
    EXPECT_EQ(send("bob", report, params.report_fee), CallStatus::wrong_run_state) << "bob has it";
}

TEST_F(Retention, WhoServesNoneOfAllWhoAreDrawnLosesItsLock) {
    collect();
    const std::string first = auditor(0);
    use_up_reports(first);
    EXPECT_EQ(send(first, ReportUnavailable{1, 1, 0, 0, 0, 0}, params.report_fee), CallStatus::too_many_open);
    const U256 locked = run().locked, bonded = views::stake(state, party("alice")).bonded;
    ASSERT_GT(locked, U256());
    advance_until([&] {
        if (audit().phase == market::AuditPhase::collecting) starve_seats();
        return run().state != RunState::running;
    });
    EXPECT_EQ(audit().seats.size(), 3u) << "every verifier of the chain was asked before";
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(all<RunEnded>().at(0).reason, "not_audited");
    EXPECT_EQ(run().paid, 0u);
    ASSERT_EQ(all<Slashed>().size(), 1u) << "the auditors did what they could";
    EXPECT_EQ(all<Slashed>()[0].amount, locked);
    EXPECT_EQ(all<Slashed>()[0].burned, locked) << "nobody gains by saying that nothing is served";
    EXPECT_EQ(views::stake(state, party("alice")).bonded, bonded - locked);
    for (const char* name : {"v1", "v2", "v3"}) EXPECT_EQ(views::stake(state, party(name)).locked, U256()) << name;
    EXPECT_EQ(task().state, TaskState::bidding);
}

/// Two of three auditors report falsely that nothing is served: the third is drawn in the end, and no honest party
/// loses.
TEST_F(Retention, OneHonestAuditorOfAllWhoAreDrawnSavesAnHonestSolver) {
    collect();
    const U256 bonded = views::stake(state, party("alice")).bonded;
    lazy = {auditor(0), auditor(1)};
    ASSERT_TRUE(advance_until([&] {
        if (audit().phase == market::AuditPhase::collecting) {
            for (const market::Seat& seat : audit().seats)
                if (seat.state == SeatState::drawn && seat.reports == 0 && lazy.contains(name_of(seat.auditor)))
                    use_up_reports(name_of(seat.auditor));
            check_audits();
        }
        return audit().phase != market::AuditPhase::collecting && audit().phase != market::AuditPhase::drawing;
    }));
    lazy.clear();
    play("alice");
    EXPECT_EQ(run().state, RunState::delivering);
    EXPECT_EQ(segment(0).state, market::SegmentState::verified);
    EXPECT_EQ(views::stake(state, party("alice")).bonded, bonded);
}

TEST_F(Retention, AReportHoldsAnAuditUpForAsLongAsItsAnswerTakes) {
    collect();
    EXPECT_EQ(audit().deadline, height + time_for_verdicts());
    const std::string first = auditor(0), second = auditor(1);
    ASSERT_EQ(send(first, ReportUnavailable{1, 1, 0, 0, 0, 0}, params.report_fee), CallStatus::ok);
    const std::uint64_t due = height + params.answer_blocks;
    EXPECT_EQ(audit().deadline, due + time_for_verdicts()) << "an answer in the last block leaves the whole time";
    next_block();
    ASSERT_EQ(send(second, ReportUnavailable{1, 1, 0, 0, 0, 1}, params.report_fee), CallStatus::ok);
    EXPECT_EQ(audit().deadline, due + 1 + time_for_verdicts()) << "they wait together, not one after the other";
    next_block();
    answer(2);
    EXPECT_EQ(audit().deadline, due + time_for_verdicts()) << "the other one is still open";
    answer(1);
    EXPECT_EQ(audit().deadline, height + time_for_verdicts()) << "as if it had begun now";
}

TEST_F(Retention, AnAuditorWithoutReportsLeavesFreeWhileTheOthersGoOn) {
    collect();
    const std::string first = auditor(0), second = auditor(1);
    use_up_reports(first);
    lazy = {first};
    while (audit().phase == market::AuditPhase::collecting) {
        check_audits();
        next_block();
    }
    lazy.clear();
    play("alice");
    EXPECT_EQ(run().state, RunState::delivering);
    EXPECT_EQ(audit().seats[0].state, SeatState::released);
    for (const Slashed& event : all<Slashed>()) EXPECT_NE(event.party, party(first)) << event.reason;
    EXPECT_EQ(segment(0).state, market::SegmentState::verified);
}

TEST_F(Retention, AChallengerReportsTilesAndItsClockWaits) {
    start_run();
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).window_end != 0;
    }));
    ASSERT_EQ(send("bob", ChallengeSegment{1, 0, 0, word("mine")}, params.challenge_bond), CallStatus::ok);
    const auto before = views::dispute(state, 1).value();
    EXPECT_EQ(send("bob", ReportUnavailable{1, 1, 0, 1, 0, 0}, params.report_fee), CallStatus::not_auditor)
        << "another state than the one the disputed segment starts from";
    ASSERT_EQ(send("bob", ReportUnavailable{1, 1, 0, 0, 0, 0}, params.report_fee), CallStatus::ok);
    const auto after = views::dispute(state, 1).value();
    EXPECT_EQ(after.reports, 1u);
    EXPECT_EQ(after.challenger_clock, before.challenger_clock + params.answer_blocks);
    EXPECT_EQ(after.deadline, before.deadline) << "alice has to move";
    advance(params.answer_blocks + 1);
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(all<Slashed>().at(0).reason, "not_served");
    EXPECT_EQ(views::dispute(state, 1)->state, market::DisputeState::withdrawn);
}

TEST_F(Retention, StakeThatArrivesAfterTheRevealsDoesNotShiftTheDraw) {
    add_verifier("v1");
    advance(8);
    const auto info = [&] { return views::verifier(state, party("v1")).value(); };
    EXPECT_EQ(info().weight, U256(100) * kCoin);
    while (height % params.epoch_blocks != 2) next_block();
    ASSERT_EQ(send("v1", Deposit{}, U256(50) * kCoin), CallStatus::ok);
    while (height % params.epoch_blocks != 0) next_block();
    EXPECT_EQ(info().weight, U256(100) * kCoin) << "the draws of this beacon do not count it";
    advance(params.epoch_blocks);
    EXPECT_EQ(info().weight, U256(150) * kCoin);
}

}  // namespace
}  // namespace retrace::contracts
