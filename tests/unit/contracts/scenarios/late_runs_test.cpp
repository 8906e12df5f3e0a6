// SPDX-License-Identifier: MIT
// Runs that miss a deadline, or wait for auditors. SPEC 13.5.1, 13.8, 14.12, 15.10.
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "market/draw.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SegmentState;
using market::TaskState;

class LateRuns : public HostileReports {
protected:
    void bid(const std::string& name, std::uint64_t price, std::uint64_t finish, bool reveals) {
        const Hash32 hidden = market::bid_commitment(1, task().round, U256(price), finish, word(name), party(name));
        if (reveals) {
            ASSERT_EQ(send(name, RevealBid{1, U256(price), finish, word(name)}), CallStatus::ok);
        } else {
            ASSERT_EQ(send(name, CommitBid{1, hidden}, params.bid_deposit), CallStatus::ok);
        }
    }
    std::uint64_t before_a_draw(std::uint64_t after) const {
        std::uint64_t finish = task().reveal_end + after;
        while (finish % params.epoch_blocks != params.epoch_blocks - 2) ++finish;
        return finish;
    }
};

/// 15.10.1: a challenge is measured by the deadline without the work that has moved it, so a challenge just before the
/// deadline earns nothing although its own work moves the deadline by more than `move_blocks`.
TEST_F(LateRuns, AChallengeDoesNotMoveTheDeadlineThatItIsMeasuredBy) {
    auto wanted = small_params();
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4, 2, 4));
    verify_first(id);
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(2).window_end != 0; }));
    const std::string challenger = accomplice(0);
    const U256 before = balance(challenger), stake = bonded("alice"), lock = run().locked;
    const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
    while (height + 1 < run().deadline) next_block(), serve("alice");
    const std::uint64_t due = run().deadline;
    ASSERT_EQ(send(challenger, ChallengeSegment{id, 0, 2, word("anything")}, bond), CallStatus::ok);
    for (int i = 0; i < 200 && run().state == RunState::running; ++i) {
        if (dispute(1).state == market::DisputeState::open &&
            dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok) << last.revert_reason;  // an honest solver plays at once
        }
        next_block(), serve("alice");
    }
    ASSERT_EQ(run().state, RunState::forfeited);
    EXPECT_LE(balance(challenger), before)
        << "challenged at " << due - 1 << ", due at " << due << ", ended at " << height;
    EXPECT_EQ(stake - bonded("alice"), market::split(lock, params.silence_penalty_bp).share);
}

/// 13.5.1: a challenge of a run that has missed its deadline and waits for its draws does not move that deadline.
TEST_F(LateRuns, AChallengeDoesNotMoveTheDeadlineThatALateRunHasMissed) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    post(spec_of(24, 2, 4));
    const std::uint64_t finish = before_a_draw(200);
    bid("alice", 400, finish, false);
    while (height < task().bid_end) next_block();
    bid("alice", 400, finish, true);
    const std::uint64_t end = task().reveal_end;
    while (height < end) next_block();
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    verify_first(1);
    while (height + 25 < finish) next_block(), serve("alice");
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    while (height + 2 < finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok);
    const std::string challenger = accomplice(0);
    const U256 lock = run().locked, before = balance(challenger), stake = bonded("alice");
    while (height <= finish) next_block(), serve("alice");
    ASSERT_EQ(run().state, RunState::running);
    ASSERT_EQ(checkpoint("alice", 5), CallStatus::too_late);
    ASSERT_TRUE(challenge(challenger, 1, 2) == CallStatus::ok || challenge(challenger, 1, 1) == CallStatus::ok);
    for (int i = 0; i < 400 && run().state == RunState::running; ++i) {
        if (dispute(1).state == market::DisputeState::open &&
            dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok) << last.revert_reason;
        }
        next_block(), serve("alice");
    }
    EXPECT_EQ(run().state, RunState::forfeited);
    EXPECT_EQ(stake - bonded("alice"), market::split(lock, params.silence_penalty_bp).share);
    EXPECT_LT(balance(challenger), before) << "a false challenge";
}

/// 15.10.1: an auditor whose dispute opens less than `move_blocks` before the forger's deadline is paid when the forger
/// falls silent.
TEST_F(LateRuns, AnAuditorIsPaidThoughItsDisputeOpensShortlyBeforeTheDeadline) {
    auto wanted = small_params();
    wanted.reveal_segment_blocks = 30;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] {
        if (seated(0) == 0 || audit(seated(0)).phase != AuditPhase::revealing) serve("alice"), check_audits();
        return seated(0) != 0 && audit(seated(0)).phase == AuditPhase::revealing;
    }));
    const std::uint64_t a = seated(0), due = run().deadline;
    ASSERT_LT(height, due - 2);
    while (height + 1 < due) next_block();
    std::map<std::string, U256> before;
    for (const auto& seat : audit(a).seats) {
        const std::string name = name_of(seat.auditor);
        before[name] = balance(name) + bonded(name);
    }
    serve("alice"), check_audits();  // she reveals, they reveal: a dispute is open
    ASSERT_EQ(views::dispute_count(state), 1u);
    ASSERT_LE(dispute(1).opened_height, due);
    for (int i = 0; i < 200 && run().state == RunState::running; ++i) next_block();  // she falls silent
    ASSERT_EQ(run().state, RunState::forfeited);
    EXPECT_GT(balance(name_of(dispute(1).challenger)) + bonded(name_of(dispute(1).challenger)),
              before[name_of(dispute(1).challenger)])
        << "opened " << dispute(1).opened_height << " due " << due << " ended " << height;
    (void)id;
}

/// 13.5.1: a late run also waits for a dispute in which it accuses a replica. The forger opens its forged state only
/// when the honest accuser is late, and is convicted all the same.
TEST_F(LateRuns, ALateReplicaEndsAfterItsDisputeAboutAForgery) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.open_blocks = 12;
    start(wanted, {"alice", "bob"});
    TaskSpec spec = spec_of(24);
    spec.replicas = 2;
    post(spec);
    const std::uint64_t finish = before_a_draw(200), late = task().reveal_end + 900;
    bid("alice", 400, late, false), bid("bob", 500, finish, false);
    while (height < task().bid_end) next_block();
    bid("alice", 400, late, true), bid("bob", 500, finish, true);
    const std::uint64_t end = task().reveal_end;
    while (height < end) next_block();
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    ASSERT_EQ(run(1).solver, party("bob"));
    wrong_from = 4;
    const auto both = [&](std::uint64_t i) {
        ASSERT_EQ(checkpoint("alice", i), CallStatus::ok) << last.revert_reason;
        ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok) << last.revert_reason;
    };
    both(0), both(1);
    ASSERT_TRUE(advance_until([&] {
        serve("alice"), serve("bob", 1), check_audits();
        return segment(0).state == SegmentState::verified && segment(0, 1).state == SegmentState::verified;
    }));
    both(2), both(3);
    while (height + 9 < finish) next_block(), serve("alice"), serve("bob", 1), check_audits();
    both(4);
    while (height + 2 < finish) {
        next_block(), serve("bob", 1);
        if (views::checkpoint(state, 1, 1, 4)->opened) continue;
        serve("alice");
    }
    ASSERT_TRUE(views::checkpoint(state, 1, 1, 4)->opened) << "bob has opened state 4";
    ASSERT_FALSE(views::checkpoint(state, 1, 0, 4)->opened);
    ASSERT_EQ(checkpoint("bob", 5, 1), CallStatus::ok);  // waits for its draw at his finishing height
    while (height <= finish) next_block(), serve("bob", 1);
    ASSERT_EQ(run(1).state, RunState::running) << "late";
    ASSERT_EQ(checkpoint("bob", 6, 1), CallStatus::too_late);
    const U256 lock = run(1).locked, stake = bonded("bob");
    serve("alice");  // her forged state 4, in time
    ASSERT_EQ(views::dispute_count(state), 1u);
    ASSERT_GT(dispute(1).opened_height, finish);
    ASSERT_EQ(dispute(1).challenger, party("bob"));
    for (int i = 0; i < 100 && run(1).state == RunState::running && run(0).state == RunState::running; ++i) {
        if (dispute(1).state == market::DisputeState::open &&
            dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::challenger)) {
            // bob plays at once; alice need not move at all
        }
        next_block(), serve("bob", 1);
    }
    EXPECT_EQ(dispute(1).state, market::DisputeState::solver_lost) << "the forgery was found before bob's run ended";
    EXPECT_EQ(run(0).state, RunState::forfeited);
    EXPECT_LT(stake - bonded("bob"), lock) << "bob is late, and honest";
    for (int i = 0; i < 300 && run(0).state == RunState::running && run(0).paid < 4; ++i) {
        if (run(0).finalised > run(0).paid && views::checkpoint(state, 1, 0, run(0).finalised)->keepers.empty()) {
            send("alice", RequestRetention{1, 0, run(0).finalised}, params.audit_fee);
            send("v1", AttestRetention{1, 0, run(0).finalised});
        }
        next_block(), serve("alice");
    }
    EXPECT_LT(run(0).paid, 4u) << "the forged segment 3 is paid, and alice has her lock";
}

/// 13.8.12: a solver that commits to a state in each epoch, so that a segment waits for its draw at every beacon, may
/// commit to none once the requester may decide.
TEST_F(LateRuns, ACommitmentPerEpochDoesNotHoldARunThatWaitsForAuditors) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.unbond_blocks = 2'000;
    begin(wanted);
    add_solver("alice");
    advance(9);
    const std::uint64_t id = assign("alice", spec_of(900));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    const std::uint64_t since = run().unaudited_since;
    int decisions = 0;
    while (run().state == RunState::running && height < since + 1'000) {
        next_block();
        if (run().state != RunState::running) break;
        // Twice an epoch; in the block of a beacon she pays a higher tip than the requester.
        if (views::pending_draws(state, 1, 0) == 0 || height % params.epoch_blocks == 2) {
            const bool may = height < since + params.unaudited_blocks;  // 13.8.12
            ASSERT_EQ(checkpoint("alice", run().next_state), may ? CallStatus::ok : CallStatus::too_many_open);
        }
        if (height >= since + params.unaudited_blocks) {
            ++decisions;
            send("requester", DecideUnaudited{id, 0, false});
        }
    }
    EXPECT_NE(run().state, RunState::running) << decisions << " decisions refused; waits since " << since << ", now "
                                              << height << ", states " << run().next_state;
}

/// 13.8.12: without a decision such a run ends by itself.
TEST_F(LateRuns, ACommitmentPerEpochDoesNotKeepAWaitingRunFromEndingByItself) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.unbond_blocks = 2'000;
    begin(wanted);
    add_solver("alice");
    advance(9);
    assign("alice", spec_of(900));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    const std::uint64_t since = run().unaudited_since;
    while (run().state == RunState::running && height < since + 1'000) {
        next_block();
        if (run().state == RunState::running && height % params.epoch_blocks == 2) {
            const bool may = height < since + params.unaudited_blocks;  // 13.8.12
            ASSERT_EQ(checkpoint("alice", run().next_state), may ? CallStatus::ok : CallStatus::too_many_open);
        }
    }
    EXPECT_NE(run().state, RunState::running) << "waits since " << since << ", now " << height;
}

/// 15.10: a forger that accuses an honest replica and misses a checkpoint under the dispute loses its whole lock, and
/// the replica gets the share.
TEST_F(LateRuns, AnHonestReplicaIsPaidThoughTheForgerThatAccusedItFallsSilent) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice", "bob"});
    TaskSpec spec = spec_of(24);
    spec.replicas = 2;
    post(spec);
    const std::uint64_t finish = before_a_draw(200), late = task().reveal_end + 900;
    bid("alice", 400, late, false), bid("bob", 500, finish, false);
    while (height < task().bid_end) next_block();
    bid("alice", 400, late, true), bid("bob", 500, finish, true);
    const std::uint64_t end = task().reveal_end;
    while (height < end) next_block();
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    wrong_run = 1, wrong_from = 4;
    const auto both = [&](std::uint64_t i) {
        ASSERT_EQ(checkpoint("alice", i), CallStatus::ok) << last.revert_reason;
        ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok) << last.revert_reason;
    };
    both(0), both(1);
    ASSERT_TRUE(advance_until([&] {
        serve("alice"), serve("bob", 1), check_audits();
        return segment(0).state == SegmentState::verified && segment(0, 1).state == SegmentState::verified;
    }));
    both(2), both(3);
    while (height + 13 < finish) next_block(), serve("alice"), serve("bob", 1), check_audits();
    both(4);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), serve("bob", 1), views::dispute_count(state) != 0; }));
    ASSERT_EQ(dispute(1).challenger, party("bob"));
    ASSERT_LT(dispute(1).opened_height + params.move_blocks, finish);
    const U256 before = balance("alice") + bonded("alice"), stake = bonded("bob"), lock = run(1).locked;
    for (int i = 0; i < 100 && run(1).state == RunState::running; ++i) {
        if (dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok) << last.revert_reason;
        }
        next_block(), serve("alice");
    }
    ASSERT_EQ(run(1).state, RunState::forfeited);
    ASSERT_EQ(stake - bonded("bob"), lock);
    ASSERT_EQ(run(0).state, RunState::running);
    EXPECT_GT(balance("alice") + bonded("alice"), before)
        << "opened " << dispute(1).opened_height << " ended " << height;
}

/// 13.8.11: a deadline that has passed does not move, even if an accomplice challenges the run.
TEST_F(LateRuns, ADeadlineThatIsOverDoesNotMove) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    post(spec_of(24, 2, 4));
    const std::uint64_t finish = before_a_draw(200);
    bid("alice", 400, finish, false);
    while (height < task().bid_end) next_block();
    bid("alice", 400, finish, true);
    const std::uint64_t end = task().reveal_end;
    while (height < end) next_block();
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    verify_first(1);
    while (height + 25 < finish) next_block(), serve("alice");
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    while (height + 2 < finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 4), CallStatus::ok);
    while (height <= finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 5), CallStatus::too_late);
    const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
    const U256 penalty = market::split(run().locked, params.silence_penalty_bp).share;
    ASSERT_TRUE(challenge(accomplice(0), 1, 2) == CallStatus::ok || challenge(accomplice(0), 1, 1) == CallStatus::ok);
    EXPECT_EQ(checkpoint("alice", 5), CallStatus::too_late) << "bond " << bond.low64() << " penalty " << penalty.low64()
                                                            << " solver's part of the bond " << params.solver_cost_bp;
}

/// 13.5.1: a run that has missed its deadline and begins to wait for auditors stays late: it commits nothing more and
/// loses the penalty.
TEST_F(LateRuns, ALateRunWhoseDrawFindsNoAuditorsIsStillLate) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    TaskSpec spec = spec_of(24);
    spec.audit_bp = 10'000;
    post(spec);
    const std::uint64_t finish = before_a_draw(200);
    bid("alice", 400, finish, false);
    while (height < task().bid_end) next_block();
    bid("alice", 400, finish, true);
    const std::uint64_t end = task().reveal_end;
    while (height < end) next_block();
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    verify_first(1);
    for (const char* name : {"v1", "v2", "v3"}) ASSERT_EQ(send(name, RetireVerifier{}), CallStatus::ok);
    while (height + 2 < finish) next_block(), serve("alice");
    ASSERT_EQ(checkpoint("alice", 2), CallStatus::ok);
    ASSERT_EQ(run().deadline, finish);
    while (height <= finish) next_block(), serve("alice");
    ASSERT_EQ(run().state, RunState::running);
    ASSERT_EQ(checkpoint("alice", 3), CallStatus::too_late);
    const U256 stake = bonded("alice"), lock = run().locked;
    for (int i = 0; i < 300 && run().state == RunState::running; ++i) {
        next_block(), serve("alice");
        if (run().state == RunState::running && run().next_state == 3) {
            EXPECT_NE(checkpoint("alice", 3), CallStatus::ok) << "late since " << finish << ", commits at " << height;
        }
    }
    const auto ended = all<RunEnded>();
    ASSERT_FALSE(ended.empty());
    EXPECT_EQ(stake - bonded("alice"), market::split(lock, params.silence_penalty_bp).share)
        << "ended: " << ended.back().reason << " at " << height;
}

}  // namespace
}  // namespace retrace::contracts
