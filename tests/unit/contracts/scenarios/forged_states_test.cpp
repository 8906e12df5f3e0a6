// SPDX-License-Identifier: MIT
// Nobody starts at a state that was proved wrong, however the forger ends. SPEC 13.7.1.
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "tests/unit/contracts/scenarios/replicas_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
class ForgedStates : public JoiningReplicas {
protected:
    /// alice wins the task and forges state 6 and what follows; bob joins at state 0 and takes all the time he has.
    void begin(std::uint64_t segments, std::uint64_t window = 0) {
        auto wanted = small_params();
        wanted.checkpoint_blocks = 40;
        if (window != 0) wanted.challenge_blocks = window;
        start(wanted, {"alice", "bob", "carol"});
        assign("alice", spec_of(segments));
        wrong_from = 6;  // nobody is drawn for segment 5
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        raise({{"bob", 300}});
        ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    }
    /// alice is fast up to state 9, and with `hurry` again when bob comes near; `each` is called in each block.
    void play_until_disputed(
        std::size_t disputes, bool hurry, const std::function<void()>& each = [] {}) {
        for (int i = 0; i < 2'000 && views::dispute_count(state) < disputes; ++i) {
            const market::Run a = run(0);
            ASSERT_EQ(a.state, RunState::running);
            const bool often = hurry && run(1).next_state >= 5 && height % 4 == 0 && a.next_state < 80;
            if (a.next_state <= 9 || height + 1 >= a.deadline || often) {
                ASSERT_EQ(checkpoint("alice", a.next_state), CallStatus::ok);
            }
            keep("alice", 0);
            commit_if_due("bob", 1);
            each();
            serve("alice", 0), serve("bob", 1), check_audits(), next_block();
        }
        ASSERT_EQ(views::dispute_count(state), disputes) << "paid " << run(0).paid << " bob at " << run(1).next_state;
        ASSERT_EQ(dispute(disputes).segment, 5u);
    }
};

/// 13.7.1: a run is convicted of a segment that it was paid for, and its successor starts before that segment.
TEST_F(ForgedStates, NobodyStartsAtAStateOfARunThatWasConvictedBeforeIt) {
    begin(40);
    play_until_disputed(1, false);
    ASSERT_GT(run(0).paid, 6u);
    for (int i = 0; i < 200 && run(0).state == RunState::running; ++i) {
        commit_if_due("alice", 0);
        commit_if_due("bob", 1);
        next_block(), serve("alice", 0), serve("bob", 1);
    }
    ASSERT_EQ(dispute(1).state, market::DisputeState::solver_lost);
    EXPECT_LE(task().first_state, 5u) << "state 6 of alice was proved wrong";
    raise({{"carol", 300}});
    EXPECT_EQ(run(2).first_root, root(run(2).first_state)) << "carol starts at state " << run(2).first_state;
}

/// 13.7.1: a forger that loses its lock by silence during a dispute with a replica: its states beyond the start of the
/// disputed segment count as wrong, too.
TEST_F(ForgedStates, AForgerThatFallsSilentUnderADisputeLeavesNoForgedStateToOthers) {
    begin(90);
    play_until_disputed(1, true);
    ASSERT_GT(run(0).paid, 6u);
    const U256 stake = bonded("alice"), lock = run(0).locked;
    for (int i = 0; i < 200 && run(0).state == RunState::running; ++i) {  // alice does nothing any more
        commit_if_due("bob", 1);
        next_block(), serve("bob", 1);
    }
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(stake - bonded("alice"), lock) << "the same lock";
    ASSERT_NE(dispute(1).state, market::DisputeState::solver_lost) << "withdrawn";
    EXPECT_LE(task().first_state, 5u) << "alice forged state 6 and what follows, and was accused";
    raise({{"carol", 300}});
    EXPECT_EQ(run(2).first_root, root(run(2).first_state)) << "carol starts at state " << run(2).first_state;
}

/// 13.7.1: a raise that was opened before the conviction, and whose winner would start at a forged state, is cancelled.
TEST_F(ForgedStates, ARaiseThatWasOpenAtTheConvictionStartsAtNoForgedState) {
    begin(40);
    play_until_disputed(1, false);
    const std::uint64_t takes = params.bid_blocks + params.reveal_blocks;
    while (height + takes / 2 < dispute(1).deadline) {
        commit_if_due("alice", 0);
        commit_if_due("bob", 1);
        next_block(), serve("alice", 0), serve("bob", 1);
    }
    pay_raise(1);  // the requester trusts nobody now, or alice's account is the requester
    const std::uint64_t joins_at = task().joining_state;
    const std::uint64_t finish = task().reveal_end + 600;
    const Hash32 sealed = market::bid_commitment(1, task().round, U256(300), finish, word("carol"), party("carol"));
    ASSERT_EQ(send("carol", CommitBid{1, sealed}, params.bid_deposit), CallStatus::ok) << last.revert_reason;
    const std::uint64_t bids = task().bid_end, end = task().reveal_end;
    const auto step = [&] {
        if (run(0).state == RunState::running && run(0).deadline != 0 && height + 1 >= run(0).deadline &&
            run(0).next_state <= 40)
            send("alice", CommitCheckpoint{1, 0, run(0).next_state, word("x")});
        if (run(1).state == RunState::running && height + 1 >= run(1).deadline && run(1).next_state <= 40) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), CallStatus::ok);
        }
        next_block(), serve("alice", 0), serve("bob", 1);
    };
    while (height < bids) step();
    ASSERT_EQ(send("carol", RevealBid{1, U256(300), finish, word("carol")}), CallStatus::ok) << last.revert_reason;
    while (height + 1 < end) step();
    ASSERT_EQ(dispute(1).state, market::DisputeState::solver_lost) << "before the auction ends";
    ASSERT_EQ(run(0).state, RunState::forfeited);
    step();
    EXPECT_GT(joins_at, 5u);
    EXPECT_EQ(task().runs, 2u) << "nobody starts at state " << joins_at << ": segment 5 was disproved";
    EXPECT_EQ(task().wanted, 0u) << "the raise is over";
    EXPECT_EQ(run(1).state, RunState::running);
}

/// 13.7.1: an accomplice has the forger convicted of a later segment while a replica disputes an earlier one: the
/// states beyond the start of the earlier segment count as wrong.
TEST_F(ForgedStates, AConvictionForALaterSegmentLeavesNoForgedStateToOthers) {
    begin(90, 20);
    const std::string friendly = accomplice(0);
    bool challenged = false;
    play_until_disputed(2, true, [&] {
        if (challenged || run(1).next_state != 7) return;  // Then bob's state 6 is committed, and not open yet.
        for (std::uint64_t k = run(0).next_state; k-- > run(0).finalised && !challenged;)
            challenged = challenge(friendly, 1, k) == CallStatus::ok;
    });
    ASSERT_TRUE(challenged);
    ASSERT_EQ(dispute(2).kind, market::DisputeKind::replica);
    ASSERT_GT(run(0).paid, 6u);
    ASSERT_LE(run(0).paid, dispute(1).segment);
    for (int i = 0; i < 300 && run(0).state == RunState::running; ++i) {
        commit_if_due("bob", 1);
        commit_if_due("alice", 0);
        if (dispute(2).state == market::DisputeState::open &&
            dispute(2).mover == static_cast<std::uint8_t>(verifier::Side::solver))
            post_hashes("alice", 2);  // she plays here, and not against her accomplice
        next_block(), serve("alice", 0), serve("bob", 1);
    }
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(dispute(1).state, market::DisputeState::solver_lost);
    ASSERT_EQ(dispute(2).state, market::DisputeState::withdrawn);
    EXPECT_LE(task().first_state, 5u) << "alice forged state 6, and bob had said so";
    raise({{"carol", 300}});
    EXPECT_EQ(run(2).first_root, root(run(2).first_state)) << "carol starts at state " << run(2).first_state;
}

/// 13.7.1: the same when the forger has the higher index, so that it is the accuser (15.8).
TEST_F(ForgedStates, AForgerWithTheHigherIndexThatFallsSilentLeavesNoForgedStateToOthers) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    start(wanted, {"alice", "bob", "carol", "dave"});
    assign("alice", spec_of(90));
    wrong_run = 2, wrong_from = 6;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    raise({{"bob", 300}, {"carol", 310}});
    ASSERT_EQ(run(1).solver, party("bob"));
    ASSERT_EQ(run(2).solver, party("carol"));
    for (const char* name : {"bob", "carol"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (int i = 0; i < 3'000 && views::dispute_count(state) == 0; ++i) {
        const market::Run c = run(2);
        ASSERT_EQ(c.state, RunState::running) << i;
        const bool often = run(1).next_state >= 5 && height % 4 == 0 && c.next_state < 80;
        if (c.next_state <= 9 || (c.deadline != 0 && height + 1 >= c.deadline) || often)
            checkpoint("carol", c.next_state, 2);
        keep("carol", 2);
        commit_if_due("bob", 1);
        serve("bob", 1), serve("carol", 2), check_audits(), next_block();
    }
    ASSERT_NE(run(0).state, RunState::running);
    ASSERT_EQ(views::dispute_count(state), 1u) << "paid " << run(2).paid << " bob at " << run(1).next_state;
    ASSERT_EQ(dispute(1).kind, market::DisputeKind::replica);
    ASSERT_EQ(dispute(1).challenger, party("carol"));
    ASSERT_EQ(dispute(1).segment, 5u);
    ASSERT_GT(run(2).paid, 6u);
    const U256 stake = bonded("carol"), lock = run(2).locked;
    for (int i = 0; i < 200 && run(2).state == RunState::running; ++i) {  // carol does nothing any more
        commit_if_due("bob", 1);
        if (dispute(1).state == market::DisputeState::open &&
            dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("bob", 1), CallStatus::ok) << last.revert_reason;
        }
        next_block(), serve("bob", 1);
    }
    ASSERT_EQ(run(2).state, RunState::forfeited);
    ASSERT_EQ(stake - bonded("carol"), lock);
    ASSERT_EQ(dispute(1).state, market::DisputeState::withdrawn);
    EXPECT_LE(task().first_state, 5u) << "carol forged state 6 and what follows, and disputed it with bob";
    raise({{"dave", 300}});
    EXPECT_EQ(run(3).first_root, root(run(3).first_state)) << "dave starts at state " << run(3).first_state;
}

/// 13.7.1: the same when a replica accuses the forger of its seeded initial state. (In this fixture root() is the
/// forger's lineage, which its auditors find too, because they start at its state 0; bob's wrong_root() is the honest
/// one.)
TEST_F(ForgedStates, AForgerOfTheInitialStateThatFallsSilentLeavesNoForgedStateToOthers) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    start(wanted, {"alice", "bob", "carol"});
    TaskSpec spec = spec_of(90);
    std::swap(spec.init_root, spec.initial_state_root);
    assign("alice", spec);
    wrong_run = 1, wrong_from = 0;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    raise({{"bob", 300}});
    ASSERT_EQ(run(1).first_state, 0u);
    while (height + 1 < run(1).deadline) {
        if (run(0).next_state <= 3) {
            ASSERT_EQ(checkpoint("alice", run(0).next_state), CallStatus::ok);
        }
        serve("alice", 0), check_audits(), next_block();
    }
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    for (int i = 0; i < 2'000 && views::dispute_count(state) == 0; ++i) {
        const market::Run a = run(0);
        ASSERT_EQ(a.state, RunState::running);
        if (height + 1 >= a.deadline || (height % 4 == 0 && a.next_state < 40)) {
            ASSERT_EQ(checkpoint("alice", a.next_state), CallStatus::ok);
        }
        keep("alice", 0);
        commit_if_due("bob", 1);
        serve("alice", 0), serve("bob", 1), check_audits(), next_block();
    }
    ASSERT_EQ(views::dispute_count(state), 1u) << "paid " << run(0).paid << " bob at " << run(1).next_state;
    ASSERT_EQ(dispute(1).kind, market::DisputeKind::replica_initial);
    ASSERT_EQ(dispute(1).challenger, party("bob"));
    ASSERT_GT(run(0).paid, 0u);
    const U256 stake = bonded("alice"), lock = run(0).locked;
    for (int i = 0; i < 200 && run(0).state == RunState::running; ++i) {  // alice does nothing any more
        commit_if_due("bob", 1);
        next_block(), serve("bob", 1);
    }
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(stake - bonded("alice"), lock);
    ASSERT_EQ(dispute(1).state, market::DisputeState::withdrawn);
    EXPECT_EQ(task().first_state, 0u) << "alice forged state 0, and was accused of it";
    raise({{"carol", 300}});
    EXPECT_EQ(run(2).first_state, 0u) << "carol starts at a state of alice";
}

}  // namespace
}  // namespace retrace::contracts
