// SPDX-License-Identifier: MIT
// A party that is silent because it could not act loses no stake, and causes no loss to others. These are the attacks
// of the third hostile review.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SeatState;

class Blameless : public MarketTest {
protected:
    void start_with(const market::Params& wanted, const std::vector<std::string>& verifiers,
                    const std::vector<std::string>& solvers, std::uint64_t coins = 100) {
        begin(wanted);
        for (const std::string& name : verifiers) add_verifier(name, coins);
        for (const std::string& name : solvers) add_solver(name);
        advance(2 * wanted.epoch_blocks + 1);
    }

    void assign(const std::string& name, std::uint64_t id, std::uint64_t price = 1) {
        auction({{name, price}}, id);
        ASSERT_EQ(send(name, AcceptData{id}), CallStatus::ok);
    }

    /// A task that costs almost nothing, with audits of its first and last segment.
    TaskSpec cheap_spec() const {
        TaskSpec spec = small_spec();
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1000);
        spec.checkpoint_blocks = 2'000;
        spec.finish_blocks = 100'000;
        return spec;
    }

    /// Reports tiles of the start of segment 0 until no report is left; each one is answered at once.
    void use_up_reports(const std::string& who, std::uint64_t task, const std::string& solver) {
        for (std::uint64_t tile = 0; tile < params.reports; ++tile) {
            ASSERT_EQ(send(who, ReportUnavailable{1, task, 0, 0, 0, tile}, params.report_fee), CallStatus::ok);
            ledger::State next{static_cast<const ledger::StateView&>(state)};
            Effects fx{next, params, height, {}};
            const std::uint64_t report = views::report_count(state);
            close_report(fx, report, party(solver));
            resume_after_answer(fx, views::report(state, report).value());
            state.apply(next.diff());
        }
    }

    market::Audit first_audit(std::uint64_t task) { return views::audit(state, segment(0, 0, task).audit).value(); }
    bool collects(std::uint64_t task) {
        return segment(0, 0, task).audit != 0 && first_audit(task).phase == AuditPhase::collecting;
    }
    U256 bonded(const std::string& name) const { return views::stake(state, party(name)).bonded; }
};

TEST_F(Blameless, AuditorsOfATaskThatNobodyCanReplayLoseNothing) {
    start_with(small_params(), {"v1", "v2", "v3", "v4"}, {"carol"}, 1);
    TaskSpec spec = cheap_spec();
    spec.audit_bp = 10'000;
    spec.auditors = 4;
    spec.checkpoint_blocks = 100;
    post(spec);
    assign("carol", 1);
    lazy = {"v1", "v2", "v3", "v4"};
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("carol", i), CallStatus::ok);
    play("carol");
    EXPECT_EQ(run().state, RunState::left) << "nobody audited it, and its requester does not say that it pays";
    EXPECT_TRUE(views::stake(state, party("carol")).locked.is_zero());
    EXPECT_TRUE(all<Slashed>().empty());
    for (const std::string& name : lazy) {
        EXPECT_EQ(bonded(name), kCoin);
        EXPECT_TRUE(views::stake(state, party(name)).locked.is_zero());
        EXPECT_GT(views::verifier(state, party(name))->missed, 0u);
    }
}

TEST_F(Blameless, SilenceWhereMostCameToAVerdictCostsItsPenaltyWhenTheAuditEnds) {
    start_with(small_params(), {"v1", "v2", "v3"}, {"alice"});
    TaskSpec spec = cheap_spec();
    spec.auditors = 3;
    spec.checkpoint_blocks = 100;
    post(spec);
    assign("alice", 1);
    lazy = {"v2"};
    const U256 penalty = market::split(params.audit_bond, params.silence_penalty_bp).share;
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).audit != 0 && first_audit(1).redraws == 1;
    }));
    EXPECT_EQ(views::stake(state, party("v2")).locked, penalty)
        << "held until it is known whether it could have answered";
    EXPECT_TRUE(all<Slashed>().empty());
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return first_audit(1).phase == AuditPhase::closed;
    }));
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].party, party("v2"));
    EXPECT_EQ(slashed[0].amount, penalty);
    EXPECT_EQ(slashed[0].reason, "verdict_missed");
    EXPECT_TRUE(views::stake(state, party("v2")).locked.is_zero());
}

TEST_F(Blameless, OneLiarAmongSilentAuditorsTakesNoStakeFromTheSolver) {
    start_with(small_params(), {"v1", "v2", "v3", "v4"}, {"alice"});
    TaskSpec spec = cheap_spec();
    spec.auditors = 4;
    spec.checkpoint_blocks = 300;
    post(spec);
    assign("alice", 1);
    const U256 before = bonded("alice");
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    lazy = {"v1", "v2", "v3", "v4"};  // three are too slow for this task, one reports that nothing is served
    ASSERT_TRUE(advance_until([&] { return serve("alice"), collects(1); }));
    use_up_reports("v1", 1, "alice");
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().state != RunState::running; }));
    EXPECT_EQ(run().state, RunState::left);
    EXPECT_EQ(all<RunEnded>().back().reason, "not_audited");
    EXPECT_EQ(bonded("alice"), before);
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
    EXPECT_TRUE(all<Slashed>().empty());
    EXPECT_EQ(task(1).state, market::TaskState::bidding);
}

/// A liar that is drawn after the audit has waited for auditors is one of all that were drawn, not the only one.
TEST_F(Blameless, OneLiarAfterAWaitForAuditorsTakesNoStakeFromTheSolver) {
    start_with(small_params(), {"v1", "v2", "v3", "v4"}, {"alice"});
    TaskSpec spec = cheap_spec();
    spec.auditors = 1;
    post(spec);
    assign("alice", 1);
    const U256 before = bonded("alice");
    lazy = {"v1", "v2", "v3", "v4"};
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    ASSERT_TRUE(first_audit(1).seats.empty());
    ASSERT_TRUE(advance_until([&] { return serve("alice"), collects(1) && !first_audit(1).seats.empty(); }));
    use_up_reports(name_of(first_audit(1).seats.at(0).auditor), 1, "alice");
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().state != RunState::running; }));
    EXPECT_EQ(run().state, RunState::left);
    EXPECT_EQ(bonded("alice"), before);
    EXPECT_TRUE(views::stake(state, party("alice")).locked.is_zero());
}

/// Otherwise a solver that is about to be convicted in a dispute could leave with its stake.
TEST_F(Blameless, ARunDoesNotEndBesideADisputeBecauseAuditorsAreSilent) {
    start_with(small_params(), {"v1", "v2", "v3", "v4"}, {"alice"});
    TaskSpec spec = cheap_spec();
    spec.auditors = 4;
    spec.checkpoint_blocks = 300;
    post(spec);
    assign("alice", 1);
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    lazy = {"v1", "v2", "v3", "v4"};
    ASSERT_TRUE(advance_until([&] { return serve("alice"), collects(1); }));
    use_up_reports("v1", 1, "alice");
    const auto dispute = [&](std::uint64_t open) {
        market::Run run = *views::run(state, 1, 0);
        run.open_disputes = open;
        store(state, keys::run(1, 0), run);
    };
    dispute(1);
    for (int i = 0; i < 150; ++i) serve("alice"), next_block();
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_GT(first_audit(1).redraws, params.redraws);
    // However long it lasts, no further auditors are drawn after so many draws, and the audit only waits.
    market::Audit often = first_audit(1);
    often.redraws = kRedrawsMax;
    store(state, keys::audit(often.id), often);
    for (int i = 0; i < 60; ++i) serve("alice"), next_block();
    const std::size_t seats = first_audit(1).seats.size();
    for (int i = 0; i < 60; ++i) serve("alice"), next_block();
    EXPECT_EQ(run().state, RunState::running);
    EXPECT_EQ(first_audit(1).redraws, kRedrawsMax);
    EXPECT_EQ(first_audit(1).seats.size(), seats);
    dispute(0);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().state != RunState::running; }));
    EXPECT_EQ(run().state, RunState::left);
}

TEST_F(Blameless, WhoServesNobodyStillLosesItsLock) {
    start_with(small_params(), {"v1", "v2", "v3"}, {"alice"});
    TaskSpec spec = cheap_spec();
    spec.auditors = 3;
    post(spec);
    assign("alice", 1);
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    lazy = {"v1", "v2", "v3"};
    ASSERT_TRUE(advance_until([&] { return serve("alice"), collects(1); }));
    use_up_reports("v1", 1, "alice");
    use_up_reports("v2", 1, "alice");  // the third colludes with the cheater and is silent
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().state != RunState::running; }));
    EXPECT_EQ(run().state, RunState::forfeited);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("alice"));
}

/// Another round of a replica's audit does not cancel a deadline that has begun.
TEST_F(Blameless, AReplicaMayOpenUntilTheDeadlineThatBegan) {
    auto wanted = small_params();
    wanted.open_blocks = wanted.reveal_segment_blocks = 60;
    wanted.verdict_blocks = 60;
    wanted.checkpoint_blocks = 300;
    wanted.epoch_blocks = 10;
    wanted.unbond_blocks = 10'000;
    start_with(wanted, {"v1", "v2", "v3"}, {"alice", "bob"});
    TaskSpec spec = cheap_spec();
    spec.replicas = 2;
    spec.auditors = 1;
    spec.checkpoint_blocks = 300;
    post(spec);
    auction({{"alice", 400}, {"bob", 500}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (const std::uint32_t r : {0u, 1u})
        for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint(r == 0 ? "alice" : "bob", i, r), CallStatus::ok);
    // Alice's auditor belongs to her: it accuses her and loses the dispute at once, so that another round begins.
    const auto audit_by = [&](std::uint32_t r) {
        const market::Audit drawn = *views::audit(state, segment(0, r).audit);
        for (const market::Seat& seat : drawn.seats) {
            const std::string name = name_of(seat.auditor);
            const auto audit = *views::audit(state, segment(0, r).audit);
            const Hash32 mine = r == 0 ? word("lie") : root(1), secret = word("verdict " + name);
            if (segment(0, r).audits != 1) continue;
            if (audit.phase == AuditPhase::collecting && seat.state == SeatState::drawn)
                send(name,
                     CommitVerdict{audit.id, solver::verdict_commitment(mine, secret, seat.auditor.bytes, audit.id)});
            if (audit.phase == AuditPhase::verdicts && seat.state == SeatState::committed)
                send(name, RevealVerdict{audit.id, mine, secret});
        }
    };
    const auto lose_disputes = [&] {
        for (const auto id : views::run_disputes(state, 1, 0)) {
            auto dispute = *views::dispute(state, id);
            auto game = *views::game(state, id);
            dispute.mover = 2;
            dispute.deadline = height - 1;
            game.mover = verifier::Side::challenger;
            ledger::State next{static_cast<const ledger::StateView&>(state)};
            Effects fx{next, params, height, {}};
            store(fx.state, keys::dispute(id), dispute);
            fx.state.set_slot(address_of(keys::game(id).contract), keys::game(id).bytes, verifier::encode(game));
            dispute_clock(fx, id);
            state.apply(next.diff());
        }
    };
    std::uint64_t deadline = 0;
    for (int i = 0; i < 400 && (deadline == 0 || height + 1 < deadline); ++i) {
        serve("alice", 0);
        const bool seated = segment(0, 1).audit != 0;
        const auto mine = seated ? *views::audit(state, segment(0, 1).audit) : market::Audit{};
        if (mine.phase == AuditPhase::revealing && mine.deadline != 0)
            deadline = mine.deadline;
        else
            serve("bob", 1);
        for (const std::uint32_t r : {0u, 1u})
            if (segment(0, r).audit != 0) audit_by(r);
        lose_disputes();
        next_block();
    }
    ASSERT_NE(deadline, 0u);
    ASSERT_GT(segment(0, 0).audits, 1u) << "alice's segment is audited again";
    EXPECT_EQ(send("bob", RevealSegment{1, 1, 0, salt(1, 1), root(1)}), CallStatus::ok) << last.revert_reason;
    advance(3);
    EXPECT_EQ(run(1).state, RunState::running);
}

/// The first audit of the queue may wait for the few auditors it can have, but must not block the whole market.
TEST_F(Blameless, AnAuditThatWaitsForOneAccompliceKeepsNobodyElseWaiting) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 2'000;
    wanted.unbond_blocks = 25'000;
    begin(wanted);
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    add_verifier("v3", 1);  // the accomplice: one coin
    for (const char* name : {"alice", "carol"}) add_solver(name);
    ASSERT_EQ(send("v3", RegisterSolver{"http://x", 1}), CallStatus::ok);
    advance(9);
    // The accomplice locks its stake in runs of its own, one of which is disputed, so it counts as busy.
    TaskSpec own = cheap_spec();
    own.replay_blocks = 2'000;
    own.auditors = 1;
    post(own);
    assign("v3", 1);
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("v3", i, 0, 1), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("v3", 0, 1);
        check_audits();
        return segment(0, 0, 1).window_end != 0;
    }));
    ASSERT_EQ(send("dave", Deposit{}, kCoin), CallStatus::ok);
    ASSERT_EQ(send("dave", ChallengeSegment{1, 0, 0, word("x")}, params.challenge_bond), CallStatus::ok);
    while (views::stake(state, party("v3")).available() >= params.audit_bond + params.beacon_penalty)
        assign("v3", post(own));
    // The auditors that replayed it were quick: they have no work left.
    for (const char* name : {"v1", "v2"}) store(state, keys::backlog(party(name)), Backlog{});
    // Carol serves no data and answers every report, so only the accomplice is left for her audit.
    const std::uint64_t bait = post(cheap_spec());
    assign("carol", bait);
    const U256 carol = bonded("carol");
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("carol", i, 0, bait), CallStatus::ok);
    lazy = {"v1", "v2", "v3"};
    ASSERT_TRUE(advance_until([&] { return serve("carol", 0, bait), collects(bait); }));
    for (const char* name : {"v1", "v2"}) use_up_reports(name, bait, "carol");
    ASSERT_TRUE(advance_until([&] { return first_audit(bait).phase == AuditPhase::drawing; }));
    lazy.clear();
    const std::uint64_t good = post(cheap_spec());
    assign("alice", good);
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, good), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, good);
        check_audits();
        return run(0, good).paid == 4;
    }));
    EXPECT_EQ(run(0, bait).state, RunState::forfeited) << "all but one coin of the stake was not served";
    EXPECT_LT(bonded("carol"), carol);
}

}  // namespace
}  // namespace retrace::contracts
