// SPDX-License-Identifier: MIT
// Limits and the party that each one applies to: no set of accounts, decoy tasks or stalling accomplices prevents the
// conviction of a fraud, and none of them uses up the time of an honest machine. SPEC 15, 18 and 19.
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "contracts/rules/disputes/rules.hpp"
#include "market/work.hpp"
#include "tests/unit/contracts/limits_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeKind;
using market::DisputeState;
using market::RunState;
using market::SeatState;

/// A view that counts reads.
class CountingView final : public ledger::StateView {
public:
    explicit CountingView(const ledger::StateView& inner) : inner_(inner) {}
    ledger::Account account(const Address& address) const override { return inner_.account(address); }
    Bytes slot(const Address& address, View key) const override {
        ++reads;
        return inner_.slot(address, key);
    }
    mutable std::uint64_t reads = 0;

private:
    const ledger::StateView& inner_;
};

/// Hole 3, the cheap variant: challenges about a decoy run of the same solver.
TEST_F(Limits, ChallengesOfADecoyShutNobodyOutElsewhere) {
    start(slow_params(), {"alice", "bob"});
    const std::uint64_t decoy = assign("alice", spec_of(20));
    open_segments("alice", decoy, 16);
    const std::uint64_t fraud = assign("alice", spec_of(4));
    open_segments("alice", fraud, 1);
    EXPECT_GE(fill(decoy, 16, 16), 64u);
    EXPECT_EQ(challenge("bob", fraud, 0), CallStatus::ok) << last.revert_reason;
}

/// Hole 3: with 2,048 disputes about a decoy task, a verdict that differed could no longer open a dispute.
TEST_F(Limits, AVerdictThatDiffersIsPlayedHoweverManyDisputesTheSolverIsIn) {
    start(slow_params(), {"alice"});
    wrong_from = 1;
    const std::uint64_t id = assign("alice", spec_of(4));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    std::vector<std::uint64_t> full(market::kRecordListMax / 2);
    for (std::size_t i = 0; i < full.size(); ++i) {
        market::Dispute other;
        other.id = full[i] = 1'000'000 + i;
        other.kind = DisputeKind::challenge;
        other.state = DisputeState::withdrawn;
        store(state, keys::dispute(other.id), other);
    }
    store_list(state, keys::open_disputes(party("alice")), full);
    commit_verdicts("alice", id, {});
    for (const std::string& name : auditors_of(id)) EXPECT_EQ(reveal_verdict(name, id, {}), CallStatus::ok);
    ASSERT_FALSE(all<DisputeOpened>().empty());
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    EXPECT_EQ(run(0, id).state, RunState::forfeited);
    EXPECT_TRUE(run(0, id).earned.is_zero());
    for (const Slashed& event : all<Slashed>()) EXPECT_EQ(event.party, party("alice"));
}

/// Hole 4: an account bids on more tasks than it may run, before the first auction ends.
TEST_F(Limits, BidsAndRunsOfAnAccountCountTogether) {
    auto wanted = slow_params();
    wanted.bid_blocks = wanted.reveal_blocks = 100;
    start(wanted, {"alice"});
    const TaskSpec spec = spec_of(4);
    for (std::uint64_t id = 1; id <= market::kOpenItemsMax + 1; ++id) {
        ASSERT_EQ(post(spec), id);
        ASSERT_EQ(commit_bid("alice", 5, id), id <= market::kOpenItemsMax ? CallStatus::ok : CallStatus::too_many_open)
            << id;
    }
    EXPECT_EQ(send("requester", CancelTask{1}), CallStatus::ok);
    EXPECT_EQ(commit_bid("alice", 5, market::kOpenItemsMax + 1), CallStatus::ok) << "a bid that is over makes room";
    EXPECT_EQ(post(spec), market::kOpenItemsMax + 2);
    EXPECT_EQ(commit_bid("alice", 5, market::kOpenItemsMax + 2), CallStatus::too_many_open);
}

/// Hole 5: one challenge on each of six runs of one machine that needs the full allowance for each.
TEST_F(Limits, SixFalseChallengesAtOnceLeaveAMachineTheTimeForEach) {
    start(slow_params(), {"alice"});
    constexpr std::uint64_t kRuns = 6, kReplay = 20, kWork = 2 * kReplay;
    std::vector<std::uint64_t> tasks;
    for (std::uint64_t i = 0; i < kRuns; ++i) {
        tasks.push_back(assign("alice", spec_of(4, 2, kReplay)));
        open_segments("alice", tasks.back(), 1);
    }
    const U256 bonded = views::stake(state, party("alice")).bonded;
    for (const std::uint64_t id : tasks)
        ASSERT_EQ(challenge(accomplice(0), id, 0), CallStatus::ok) << last.revert_reason;
    for (std::uint64_t k = 1; k <= kRuns; ++k) {
        advance(kWork);
        EXPECT_EQ(post_hashes("alice", k), CallStatus::ok) << "case " << k << ": " << last.revert_reason;
    }
    for (const std::uint64_t id : tasks) EXPECT_EQ(run(0, id).state, RunState::running);
    EXPECT_EQ(views::stake(state, party("alice")).bonded, bonded);
}

/// The same for the other side: one honest machine challenges six frauds.
TEST_F(Limits, SixChallengesOfOneMachineLeaveItTheTimeForEach) {
    start(slow_params(), {"alice", "bob"});
    constexpr std::uint64_t kRuns = 6, kReplay = 20, kWork = 2 * kReplay;
    std::vector<std::uint64_t> tasks;
    for (std::uint64_t i = 0; i < kRuns; ++i) {
        tasks.push_back(assign("alice", spec_of(4, 2, kReplay)));
        open_segments("alice", tasks.back(), 1);
    }
    for (std::uint64_t k = 1; k <= kRuns; ++k) {
        ASSERT_EQ(challenge("bob", tasks[k - 1], 0), CallStatus::ok) << last.revert_reason;
        ASSERT_EQ(post_hashes("alice", k), CallStatus::ok);
    }
    const Bytes choose = verifier::encode(verifier::Move{verifier::Choose{0}});
    for (std::uint64_t k = 1; k <= kRuns; ++k) {
        advance(kWork);
        EXPECT_EQ(send("bob", PlayMove{k, choose}), CallStatus::ok) << "case " << k << ": " << last.revert_reason;
    }
}

/// 18.7: a challenger that is silent for a while may return to a machine that did other work meanwhile.
TEST_F(Limits, WhatIsDoneWhileAnOpponentIsAwaitedReturnsNothing) {
    start(slow_params(), {"alice", "bob"});
    const std::uint64_t id = assign("alice", spec_of(4, 2, 40));
    open_segments("alice", id, 1);
    ASSERT_EQ(challenge("bob", id, 0), CallStatus::ok) << last.revert_reason;
    const std::uint64_t work = market::dispute_work(spec_of(4, 2, 40), DisputeKind::challenge);
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);  // at once: nearly all of her work is still to come
    const std::uint64_t opened = height;
    const auto with = [&](auto act) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        const auto result = act(fx);
        state.apply(next.diff());
        return result;
    };
    const auto give = [&](Effects& fx) { return give_work(fx, party("alice"), 40); };
    const auto done = [&](Effects& fx) { return end_work(fx, party("alice"), 40), true; };
    EXPECT_EQ(with(give), opened + work + 40);
    // bob's clock is long. Alice does her other work and reports it as done.
    advance(15);
    with(done);
    EXPECT_EQ(busy_until(state, party("alice"), height), height + work) << "all of the dispute may be to come";
    advance(5);
    EXPECT_EQ(with(give), height + work + 40) << "however long it has waited";
    with(done);
    const std::uint64_t total = backlog(state, party("alice")).total;
    ASSERT_TRUE(advance_until([&] { return dispute(1).state != DisputeState::open; }));
    const std::uint64_t spent = std::min(work, height - opened);
    EXPECT_EQ(backlog(state, party("alice")).total, total - (work - spent)) << "she may have computed all the time";
    for (const char* name : {"alice", "bob"}) {
        EXPECT_EQ(backlog(state, party(name)).open, 0u) << name;
        EXPECT_EQ(backlog(state, party(name)).dispute_work, 0u) << name;
        EXPECT_EQ(busy_until(state, party(name), height), height) << name;
    }
}

/// Hole 9: the reads of a refused call do not grow with the number of records that the sender has open.
TEST_F(Limits, RefusalsReadNoMoreHoweverMuchTheSenderHasOpen) {
    start(slow_params(), {"alice", "bob"});
    const std::uint64_t decoy = assign("alice", spec_of(20));
    open_segments("alice", decoy, 16);
    const std::uint64_t other = assign("bob", spec_of(4));
    open_segments("bob", other, 1);
    const auto reads = [&](const auto& call, const U256& value, CallStatus expected) {
        const CountingView counting(state);
        const TxContext context{party(accomplice(0)), value, height, params};
        EXPECT_EQ(admit(call, context, counting), expected);
        return counting.reads;
    };
    const ChallengeSegment again{decoy, 0, 0, word("mine")};
    const ReportUnavailable report{1, other, 0, 0, 0, 0};
    ASSERT_EQ(challenge(accomplice(0), decoy, 0), CallStatus::ok);
    const std::uint64_t challenge_reads = reads(again, params.challenge_bond, CallStatus::too_many_open),
                        report_reads = reads(report, params.report_fee, CallStatus::not_auditor);
    for (std::uint64_t segment = 1; segment < 16; ++segment)
        ASSERT_EQ(challenge(accomplice(0), decoy, segment), CallStatus::ok);
    EXPECT_EQ(reads(again, params.challenge_bond, CallStatus::too_many_open), challenge_reads);
    EXPECT_EQ(reads(report, params.report_fee, CallStatus::not_auditor), report_reads);
}

/// 15.2.6: the owner of a fraud fills the run with its own challenges until the windows of all segments are over.
TEST_F(Limits, NothingOfARunBecomesFinalWhileStrangersAreRefused) {
    auto wanted = slow_params();
    wanted.challenge_blocks = 30;
    start(wanted, {"alice", "bob"});
    const std::uint64_t id = assign("alice", spec_of(20));
    open_segments("alice", id, 10);
    std::uint64_t windows = 0;
    for (std::uint64_t i = 0; i < 10; ++i) windows = std::max(windows, segment(i, 0, id).window_end);
    ASSERT_EQ(fill(id, 4, 16), kRunChallengesMax);
    for (std::uint64_t dispute = 1; dispute <= kRunChallengesMax; ++dispute)
        ASSERT_EQ(post_hashes("alice", dispute), CallStatus::ok);
    // The accomplices stay silent and all lose at once when their clocks run out.
    EXPECT_EQ(challenge("bob", id, 7), CallStatus::too_many_open);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        check_audits();
        return run(0, id).open_disputes == 0;
    }));
    const std::uint64_t ended = height;
    EXPECT_EQ(run(0, id).heard_until, ended + params.challenge_blocks);
    ASSERT_TRUE(advance_until([&] { return height > windows; }));
    EXPECT_LT(run(0, id).finalised, 7u);
    EXPECT_EQ(challenge("bob", id, 7), CallStatus::ok) << last.revert_reason;
}

TEST_F(Limits, WithoutFurtherChallengesARunThatWasFullIsPaid) {
    auto wanted = slow_params();
    wanted.challenge_blocks = 30;
    start(wanted, {"alice", "bob"});
    const std::uint64_t id = assign("alice", spec_of(20));
    open_segments("alice", id, 10);
    ASSERT_EQ(fill(id, 4, 16), kRunChallengesMax);
    for (std::uint64_t dispute = 1; dispute <= kRunChallengesMax; ++dispute)
        ASSERT_EQ(post_hashes("alice", dispute), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return run(0, id).finalised >= 10; }));
    EXPECT_EQ(height, run(0, id).heard_until);
    EXPECT_EQ(challenge("bob", id, 7), CallStatus::window_closed);
}

/// 18.6: a side of a dispute can neither be delayed arbitrarily by other cases nor delay itself by them.
TEST_F(Limits, ChallengesThatTakeASolverTooLongAreRefusedAndKeepSegmentsOpen) {
    auto wanted = slow_params();
    wanted.unbond_blocks = 2'000;
    wanted.challenge_blocks = 60;
    start(wanted, {"alice", "bob"});
    const std::uint64_t decoy = assign("alice", spec_of(20, 2, 40));
    open_segments("alice", decoy, 10);
    const std::uint64_t fraud = assign("alice", spec_of(4, 2, 40));
    open_segments("alice", fraud, 1);
    const std::uint64_t ahead = challenges_ahead_max(params),
                        work = market::dispute_work(spec_of(20, 2, 40), DisputeKind::challenge);
    std::uint64_t taken = 0;
    for (int i = 0; i < 16; ++i) taken += challenge(accomplice(i), decoy, 0) == CallStatus::ok;
    EXPECT_EQ(taken, ahead / work + 1);
    EXPECT_LE(backlog(state, party("alice")).challenge_work, ahead + work);
    EXPECT_EQ(challenge("bob", fraud, 0), CallStatus::too_many_open);
    const auto heard = [&] { return backlog(state, party("alice")).challenge_work <= ahead; };
    ASSERT_FALSE(heard());
    for (std::uint64_t dispute = 1; dispute <= taken; ++dispute)
        ASSERT_EQ(post_hashes("alice", dispute), CallStatus::ok);
    const std::uint64_t before = height;
    ASSERT_TRUE(advance_until(heard, 2'000));
    EXPECT_GT(height, before + params.challenge_blocks + 40) << "no window ends while they wait for their opponents";
    advance(50);
    EXPECT_EQ(run(0, fraud).finalised, 0u) << "the window counts from when strangers are heard again";
    EXPECT_EQ(challenge("bob", fraud, 0), CallStatus::ok) << last.revert_reason;
}

/// A challenger cannot delay itself arbitrarily either.
TEST_F(Limits, WhoHasManyChallengesToPlayOpensNoFurther) {
    auto wanted = slow_params();
    wanted.unbond_blocks = 2'000;
    start(wanted, {"alice", "bob", "carol"});
    std::vector<std::uint64_t> tasks;
    for (const char* name : {"alice", "bob", "carol"}) {
        tasks.push_back(assign(name, spec_of(8, 2, 40)));
        open_segments(name, tasks.back(), 5);
    }
    std::uint64_t taken = 0;
    for (std::uint64_t segment = 0; segment < 5; ++segment)
        for (const std::uint64_t id : tasks) taken += challenge(accomplice(0), id, segment) == CallStatus::ok;
    const std::uint64_t work = market::dispute_work(spec_of(8, 2, 40), DisputeKind::challenge);
    EXPECT_EQ(taken, challenges_ahead_max(params) / work + 1);
}

/// The bond of a false challenge pays for two executions of the segment and three of one of its steps.
TEST_F(Limits, AChallengePaysForWhatItMakesTheSolverExecute) {
    start(slow_params(), {"alice", "bob"});
    TaskSpec spec = spec_of(4);
    EXPECT_EQ(market::challenge_bond(params, spec), params.challenge_bond);
    spec.price_ceiling = params.challenge_bond;
    spec.audit_bp = 5'000;
    spec.interval = 1;
    EXPECT_EQ(market::challenge_bond(params, spec), params.challenge_bond * U256(10));
    spec.interval = 6;
    EXPECT_EQ(market::challenge_bond(params, spec), params.challenge_bond * U256(5));
    spec.interval = 2;
    EXPECT_EQ(market::challenge_bond(params, spec), params.challenge_bond * U256(7));
    const std::uint64_t id = assign("alice", spec);
    open_segments("alice", id, 1);
    EXPECT_EQ(send("bob", ChallengeSegment{id, 0, 0, word("mine")}, params.challenge_bond), CallStatus::wrong_value);
    ASSERT_EQ(challenge("bob", id, 0), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);
    const U256 before = ledger::balance_of(state, party("alice"));
    ASSERT_TRUE(advance_until([&] { return dispute(1).state == DisputeState::challenger_lost; }));
    EXPECT_EQ(ledger::balance_of(state, party("alice")), before + market::challenge_bond(params, spec) / U256(2));
}

}  // namespace
}  // namespace retrace::contracts
