// SPDX-License-Identifier: MIT
// Pay of auditors, challengers and keepers when a run or a task ends. SPEC 13.6, 14.11, 15.6, 15.9, 15.10.
#include "contracts/lifecycle/isolate.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "market/escrow.hpp"
#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SegmentState;

using RunEndPay = HostileReports;

/// 13.6.1: the requester ends the run in the block in which an audit ends. The auditors that matched had no block to
/// attest in, and are paid.
TEST_F(RunEndPay, WhoMatchedIsPaidThoughTheTaskEndsInThatBlock) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    wanted.reveal_verdict_blocks = 300;  // The window of the segment is over before its verdicts are due.
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4, 2, 95));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), seated(0) != 0; }));
    const std::uint64_t a = seated(0);
    const std::string x = name_of(audit(a).seats.at(0).auditor), y = name_of(audit(a).seats.at(1).auditor);
    for (const char* name : {"v1", "v2", "v3", "v4"}) {
        if (name == x) continue;
        ASSERT_TRUE(advance_until([&] { return send(name, RetireVerifier{}) == CallStatus::ok; }));
    }
    for (std::uint64_t i = 2; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), run().unaudited_since != 0; }));
    while (height < run().unaudited_since + params.unaudited_blocks) next_block();
    ASSERT_EQ(audit(a).phase, AuditPhase::collecting);
    for (const std::string& name : {x, y}) ASSERT_EQ(commit_verdict(name, a), CallStatus::ok);
    next_block();
    ASSERT_NE(send("requester", DecideUnaudited{id, 0, false}), CallStatus::ok);
    serve("alice");
    ASSERT_EQ(audit(a).phase, AuditPhase::verdicts);
    std::map<std::string, U256> before;
    for (const std::string& name : {x, y}) {
        before[name] = balance(name);
        if (name == y)
            while (height < segment(0).window_end) next_block();
        ASSERT_EQ(send(name, RevealVerdict{a, root(1), word("verdict " + name)}), CallStatus::ok) << last.revert_reason;
    }
    ASSERT_EQ(send("requester", DecideUnaudited{id, 0, false}), CallStatus::ok) << last.revert_reason;  // same block
    next_block();
    const U256 fee = market::audit_fee(params, views::spec(state, id).value());
    for (const std::string& name : {x, y}) {
        send(name, AttestRetention{id, 0, 1});
        EXPECT_EQ(balance(name) - before[name], fee) << name << " replayed the segment and matched";
    }
}

/// 15.9.1: of two auditors that find the same fraud, the one that waits for the other's dispute is paid its fee.
TEST_F(RunEndPay, AnAuditorThatWaitedWithTheRightVerdictIsPaid) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    commit_verdicts("alice", id, {});
    const auto names = auditors_of(id);
    std::map<std::string, U256> before;
    for (const std::string& name : names) {
        before[name] = balance(name);
        ASSERT_EQ(reveal_verdict(name, id, {}), CallStatus::ok) << last.revert_reason;
    }
    ASSERT_EQ(dispute(1).challenger, party(names.at(0)));
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    EXPECT_GT(balance(names.at(0)), before[names.at(0)]);
    const U256 fee = market::audit_fee(params, views::spec(state, id).value());
    EXPECT_EQ(balance(names.at(1)) - before[names.at(1)], fee) << "it committed, revealed, and was right";
}

/// 15.6: a drawn accomplice with another root has no claim on the share of the party that proves the fraud.
TEST_F(RunEndPay, AnAuditorWithAnotherRootTakesNoShareOfAWatcher) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(0).audit != 0 && !audit_of(id).seats.empty(); }));
    const std::string liar = auditors_of(id).at(0), honest = auditors_of(id).at(1), watcher = accomplice(0);
    commit_verdicts("alice", id, {liar});
    ASSERT_EQ(reveal_verdict(liar, id, {liar}), CallStatus::ok);
    ASSERT_EQ(reveal_verdict(honest, id, {liar}), CallStatus::ok);
    const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
    const U256 liars = balance(liar), watchers = balance(watcher), honests = balance(honest), lock = run().locked;
    ASSERT_EQ(send(watcher, ChallengeSegment{id, 0, 0, root(1)}, bond), CallStatus::ok) << last.revert_reason;
    while (height < dispute(1).deadline) next_block();
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);  // she plays with her accomplice, and lets the watcher win
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    ASSERT_EQ(dispute(2).state, market::DisputeState::solver_lost);
    const U256 fee = market::audit_fee(params, views::spec(state, id).value());
    EXPECT_EQ(balance(liar) - liars, fee) << "nobody proved its root wrong, but it has no share (15.9)";
    const U256 share = market::split(lock, params.challenger_share_bp).share, costs = balance(watcher) - watchers;
    EXPECT_EQ(costs, market::conviction(lock, fee, params).costs);
    EXPECT_EQ(balance(honest) - honests, share) << "it waited, and was drawn to say what the watcher proved";
}

/// 15.10: a solver that misses a checkpoint under a dispute pays the challenger the same share and costs.
TEST_F(RunEndPay, AChallengerIsPaidThoughTheForgerFallsSilentElsewhere) {
    start(small_params(), {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 2;
    verify_first(id);
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(1).window_end != 0; }));
    const std::string watcher = accomplice(0);
    const U256 before = balance(watcher), lock = run().locked;
    const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
    ASSERT_EQ(send(watcher, ChallengeSegment{id, 0, 1, root(2)}, bond), CallStatus::ok) << last.revert_reason;
    ASSERT_LT(run().deadline, height + params.moves * params.move_blocks);
    for (int i = 0; i < 60 && run().state == RunState::running; ++i) next_block(), serve("alice");
    ASSERT_EQ(run().state, RunState::forfeited);
    EXPECT_GE(balance(watcher) - before, market::split(lock, params.challenger_share_bp).share)
        << "it has replayed the segment, and was right";
}

/// 14.11: an offer returns when the run is paid up to its state or a later one.
TEST_F(RunEndPay, AnOfferForAStateThatIsPaidUpToReturns) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    keeping = false;
    verify_first(id);
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(2).window_end != 0; }));
    const U256 before = balance("alice"), fee = U256(50) * params.audit_fee;
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(send("alice", RequestRetention{id, 0, i}, fee), CallStatus::ok);
    ASSERT_EQ(send("v1", AttestRetention{id, 0, 3}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run().paid == 3; }));
    EXPECT_NE(send("v2", AttestRetention{id, 0, 2}), CallStatus::ok) << "no successor starts at state 2 any more";
    EXPECT_GE(balance("alice") + fee, before);
}

/// 15.6: a challenger whose root no auditor has gets no share; it goes to the auditor that plays.
TEST_F(RunEndPay, AWatcherWithAnotherRootTakesNoShareOfAnAuditor) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    commit_verdicts("alice", id, {});
    const auto names = auditors_of(id);
    for (const std::string& name : names) ASSERT_EQ(reveal_verdict(name, id, {}), CallStatus::ok);
    const std::string watcher = accomplice(0);
    const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
    const U256 fee = market::audit_fee(params, views::spec(state, id).value()), lock = run().locked;
    const U256 first = balance(names.at(0)), second = balance(names.at(1));
    ASSERT_EQ(send(watcher, ChallengeSegment{id, 0, 0, word("anything")}, bond), CallStatus::ok) << last.revert_reason;
    while (height < dispute(1).deadline) next_block();
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);  // She lets her accomplice win.
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    ASSERT_EQ(dispute(2).state, market::DisputeState::solver_lost);
    EXPECT_EQ(balance(names.at(0)) - first, market::split(lock, params.challenger_share_bp).share);
    EXPECT_EQ(balance(names.at(1)) - second, fee);
}

/// 15.10.1: a challenge that is made shortly before a checkpoint is missed earns nothing.
TEST_F(RunEndPay, AChallengeShortlyBeforeAMissedCheckpointEarnsNothing) {
    auto wanted = small_params();
    wanted.challenge_blocks = 60;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    verify_first(id);
    for (const std::uint64_t i : {2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), segment(2).window_end != 0; }));
    const std::string challenger = accomplice(0);
    const U256 before = balance(challenger);
    const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
    bool sent = false;
    for (int i = 0; i < 100 && run().state == RunState::running; ++i) {
        if (!sent && height + 1 >= run().deadline && segment(2).window_end != 0) {
            ASSERT_EQ(send(challenger, ChallengeSegment{id, 0, 2, word("anything")}, bond), CallStatus::ok);
            sent = true;
        }
        next_block(), serve("alice");
    }
    ASSERT_TRUE(sent);
    ASSERT_EQ(run().state, RunState::forfeited);
    EXPECT_TRUE(run().locked.is_zero());
    EXPECT_EQ(balance(challenger), before) << "its bond returns";
}

/// 13.6.1: an auditor that had the time to attest, and did not, is not paid when the task ends.
TEST_F(RunEndPay, WhoHadTheTimeToAttestIsNotPaidAtTheEnd) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    keeping = false;
    verify_first(id);
    const auto names = auditors_of(id);
    std::map<std::string, U256> before;
    for (const std::string& name : names) before[name] = balance(name);
    const std::uint64_t matched = height;
    while (height <= matched + params.reveal_verdict_blocks + 1) next_block(), serve("alice");
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }, 2'000));
    ASSERT_TRUE(advance_until([&] { return market::is_final(task().state); }));
    for (const std::string& name : names) EXPECT_EQ(balance(name), before[name]) << name;
}

/// 8.5: nobody can attest while a task is frozen, so its release pays those who had no time before.
TEST_F(RunEndPay, WhoMatchedIsPaidThoughTheTaskIsFrozenInThatBlock) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    keeping = false;
    verify_first(id);
    std::map<std::string, U256> before;
    for (const std::string& name : auditors_of(id)) before[name] = balance(name);
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    freeze_task(fx, id);
    state.apply(next.diff());
    check_deep();
    ASSERT_EQ(send(auditors_of(id).at(0), AttestRetention{id, 0, 1}), CallStatus::task_frozen);
    ASSERT_TRUE(advance_until([&] { return market::is_final(task().state); }, 2 * params.unbond_blocks));
    const U256 fee = market::audit_fee(params, views::spec(state, id).value());
    for (const std::string& name : auditors_of(id)) EXPECT_EQ(balance(name) - before[name], fee) << name;
}

/// 15.10: the share goes to a drawn auditor before a challenger whose dispute was opened first. 15.9.1: the auditor
/// that waits is paid its fee.
TEST_F(RunEndPay, AnAuditorIsPaidThoughTheForgerFallsSilentBesideAnAccomplice) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 900;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", spec_of(4));
    wrong_from = 1;
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    commit_verdicts("alice", id, {});
    const std::string friendly = accomplice(0);
    const market::TaskSpec spec = views::spec(state, id).value();
    const U256 bond = market::challenge_bond(params, spec), fee = market::audit_fee(params, spec), lock = run().locked;
    const U256 friends = balance(friendly);
    ASSERT_EQ(send(friendly, ChallengeSegment{id, 0, 0, word("anything")}, bond), CallStatus::ok) << last.revert_reason;
    const auto names = auditors_of(id);
    for (const std::string& name : names) ASSERT_EQ(reveal_verdict(name, id, {}), CallStatus::ok);
    const U256 first = balance(names.at(0)), second = balance(names.at(1));
    next_block();
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}};
    forfeit_silent_run(fx, id, 0, SlashReason::not_opened);
    state.apply(next.diff());
    check_deep();
    const market::Conviction parts = market::conviction(lock, fee, params);
    EXPECT_EQ(balance(names.at(0)) - first, parts.share + parts.costs);
    EXPECT_EQ(balance(names.at(1)) - second, fee);
    EXPECT_EQ(balance(friendly), friends) << "its bond returns";
}

}  // namespace
}  // namespace retrace::contracts
