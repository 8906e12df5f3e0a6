// SPDX-License-Identifier: MIT
// Limited places must not exclude parties that have a right to act (SPEC 15.2, 16.1).
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/audits/waiting_audits.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class CrowdedOut : public MarketTest {
protected:
    /// Opens a forged state 0 of alice's seeded run.
    void open_forged_start() {
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const char* name : {"alice", "bob"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.init_root = word("init");
        spec.initial_state_root = {};
        spec.checkpoint_blocks = 300;
        post(spec);
        auction({{"alice", 400}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        wrong_from = 0;
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        seat_auditors("alice");
    }
    CallStatus challenge_initial(const std::string& name, const std::string& root = "x") {
        return send(name, ChallengeInitial{1, 0, word(root)}, params.challenge_bond);
    }
    /// Returns an account of one owner, with the stake of a verifier.
    std::string accomplice(int i) {
        const std::string name = "accomplice " + std::to_string(i);
        EXPECT_TRUE(ledger::mint(state, party(name), U256(10) * kCoin));
        parties.push_back(party(name));
        EXPECT_EQ(send(name, Deposit{}, params.min_verifier_stake), CallStatus::ok);
        return name;
    }
    std::string auditor(std::size_t seat) const { return name_of(views::audit(state, 1)->seats.at(seat).auditor); }
};

TEST_F(CrowdedOut, AnAccountChallengesASegmentOnceAtATime) {
    open_forged_start();
    EXPECT_EQ(challenge_initial("bob", "x"), CallStatus::ok);
    EXPECT_EQ(challenge_initial("bob", "y"), CallStatus::too_many_open);
    EXPECT_EQ(challenge_initial("v4"), CallStatus::ok) << "another account may";
}

TEST_F(CrowdedOut, SixteenAccountsDoNotShutOutAnAuditor) {
    open_forged_start();
    for (int i = 0; i < 16; ++i) ASSERT_EQ(challenge_initial(accomplice(i)), CallStatus::ok);
    EXPECT_EQ(challenge_initial("bob"), CallStatus::too_many_open);
    EXPECT_EQ(challenge_initial(auditor(0), "truth"), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(challenge_initial(auditor(1), "truth"), CallStatus::ok) << last.revert_reason;
}

TEST_F(CrowdedOut, NorWhenItsAuditHadNoMatchInAnyRound) {
    open_forged_start();
    const std::vector<std::string> auditors{auditor(0), auditor(1)};
    // As if both auditors had been wrong in the last round (14.12.14).
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    auto last_round = segment(0);
    last_round.audits = params.redraws + 1;
    store(fx.state, keys::segment(1, 0, 0), last_round);
    auto audit = views::audit(state, 1).value();
    for (market::Seat& seat : audit.seats) {
        free_seat(fx, audit, seat);
        seat.state = market::SeatState::mismatched;
        seat.commitment = word("a verdict");
    }
    wait_for_auditors(fx, audit);
    state.apply(next.diff());
    for (int i = 0; i < 16; ++i) ASSERT_EQ(challenge_initial(accomplice(i)), CallStatus::ok);
    EXPECT_EQ(challenge_initial("bob"), CallStatus::too_many_open);
    for (const std::string& name : auditors)
        EXPECT_EQ(challenge_initial(name, "truth"), CallStatus::ok) << last.revert_reason;
}

TEST_F(CrowdedOut, WhoWasShutOutHasAWindowWhenThereIsRoomAgain) {
    auto slow = params;
    slow.checkpoint_blocks = 300;
    begin(slow);
    start_run();
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice");
    for (int i = 0; i < 2; ++i) {
        check_audits();
        serve("alice");
    }
    const std::uint64_t window_end = segment(0).window_end;
    ASSERT_NE(window_end, 0u);
    const ChallengeSegment challenge{1, 0, 0, word("mine")};
    for (std::uint64_t id = 1; id <= 16; ++id) {
        ASSERT_EQ(send(accomplice(static_cast<int>(id)), challenge, params.challenge_bond), CallStatus::ok);
        verifier::PostHashes post;
        post.hashes.resize(verifier::search_positions(views::game(state, id)->search).size());
        ASSERT_EQ(send("alice", PlayMove{id, verifier::encode(verifier::Move{post})}), CallStatus::ok);
    }
    EXPECT_EQ(send("bob", challenge, params.challenge_bond), CallStatus::too_many_open);
    // The accomplices stay silent, and their clocks last longer than the window.
    ASSERT_TRUE(advance_until([&] { return views::dispute(state, 16)->state != market::DisputeState::open; }));
    ASSERT_GT(height, window_end);
    EXPECT_EQ(segment(0).window_end, height + params.challenge_blocks);
    EXPECT_EQ(run().paid, 0u);
    EXPECT_EQ(send("bob", challenge, params.challenge_bond), CallStatus::ok) << last.revert_reason;
}

/// An accomplice with eight disputes reports 64 tiles as missing.
TEST_F(CrowdedOut, ReportsOfChallengersDoNotShutOutAnAuditor) {
    auto slow = params;
    slow.checkpoint_blocks = 300;
    begin(slow);
    start_run();
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice", 2);
    const auto first = views::audit(state, 1).value(), other = views::audit(state, 2).value();
    ASSERT_EQ(first.segment, 0u);
    for (const market::Seat& seat : first.seats) {
        const Hash32 verdict = solver::verdict_commitment(root(1), word("salt"), seat.auditor.bytes, 1);
        ASSERT_EQ(send(name_of(seat.auditor), CommitVerdict{1, verdict}), CallStatus::ok);
    }
    serve("alice");
    ASSERT_NE(segment(0).window_end, 0u);
    for (int i = 0; i < 8; ++i) {
        const std::string name = accomplice(i);
        ASSERT_EQ(send(name, ChallengeSegment{1, 0, 0, word("mine")}, params.challenge_bond), CallStatus::ok);
        for (std::uint64_t tile = 0; tile < params.reports; ++tile)
            ASSERT_EQ(send(name, ReportUnavailable{1, 1, 0, 0, 0, tile}, params.report_fee), CallStatus::ok);
    }
    ASSERT_EQ(views::open_reports(state, 1).size(), 64u);
    ASSERT_EQ(views::audit(state, 2)->phase, market::AuditPhase::collecting);
    const ReportUnavailable missing{1, 1, 0, other.segment, 0, 0};
    EXPECT_EQ(send(name_of(other.seats[0].auditor), missing, params.report_fee), CallStatus::ok) << last.revert_reason;
}

}  // namespace
}  // namespace retrace::contracts
