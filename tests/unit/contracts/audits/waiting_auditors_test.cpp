// SPDX-License-Identifier: MIT
// Auditors of a segment that differ play one at a time while the others wait. No finding of any of them is ever
// dropped, in any order and with any moves. SPEC 15.9.
#include "tests/unit/contracts/limits_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeState;
using market::RunState;
using market::SeatState;
using market::SegmentState;

class WaitingAuditors : public Limits {
protected:
    /// alice's first segment has three auditors. `accomplices` of them differ with the truth, and reveal first; the
    /// others differ with her if she cheats. Returns the auditors in the order in which they reveal.
    std::vector<std::string> start_chain(std::size_t accomplices, bool fraud,
                                         const market::Params& wanted = slow_params()) {
        start(wanted, {"alice", "bob"});
        if (fraud) wrong_from = 1;
        id = assign("alice", spec_of(4, 3));
        for (const std::uint64_t i : {0, 1}) EXPECT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
        EXPECT_TRUE(advance_until([&] {
            serve("alice", 0, id);
            return segment(0, 0, id).audit != 0 && !audit_of(id).seats.empty();
        }));
        auto names = auditors_of(id);
        std::reverse(names.begin(), names.end());  // another order than that of the seats
        const std::set<std::string> wrong(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(accomplices));
        commit_verdicts("alice", id, wrong);
        for (const std::string& name : names) EXPECT_EQ(reveal_verdict(name, id, wrong), CallStatus::ok);
        return names;
    }
    U256 locked(const std::string& name) const { return views::stake(state, party(name)).locked; }
    U256 bonded(const std::string& name) const { return views::stake(state, party(name)).bonded; }
    std::uint64_t id = 0;
};

TEST_F(WaitingAuditors, PlayOneAfterTheOtherInTheOrderOfTheirReveals) {
    const auto names = start_chain(2, true);
    ASSERT_EQ(views::dispute_count(state), 1u) << "one at a time";
    EXPECT_EQ(dispute(1).challenger, party(names[0]));
    for (const std::string& name : names) EXPECT_EQ(locked(name), params.audit_bond) << name << " has a bond at stake";
    EXPECT_EQ(views::open_audits(state, party(names[2])), std::vector<std::uint64_t>{audit_of(id).id});
    EXPECT_EQ(segment(0, 0, id).state, SegmentState::auditing);
    EXPECT_EQ(audit_of(id).phase, market::AuditPhase::closed);
    // The accomplices let alice win, as late as they can.
    for (std::uint64_t k = 1; k <= 2; ++k) {
        ASSERT_EQ(post_hashes("alice", k), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] { return dispute(k).state == DisputeState::challenger_lost; }));
        ASSERT_EQ(views::dispute_count(state), k + 1) << "the next opens by itself";
        EXPECT_EQ(dispute(k + 1).challenger, party(names[k]));
        EXPECT_EQ(segment(0, 0, id).state, SegmentState::auditing) << "neither undrawn nor audited anew";
        EXPECT_TRUE(locked(names[k - 1]).is_zero());
    }
    EXPECT_TRUE(audit_of(id).waiting.empty());
    // alice has no answer to the honest one.
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    EXPECT_EQ(run(0, id).state, RunState::forfeited);
    EXPECT_TRUE(run(0, id).earned.is_zero());
    EXPECT_EQ(dispute(3).state, DisputeState::solver_lost);
    EXPECT_TRUE(locked(names[2]).is_zero());
    EXPECT_EQ(bonded(names[2]), U256(100) * kCoin);
}

TEST_F(WaitingAuditors, AreFreeWhenTheFirstOfThemConvicts) {
    const auto names = start_chain(0, true);
    ASSERT_EQ(views::dispute_count(state), 1u);
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    EXPECT_EQ(run(0, id).state, RunState::forfeited);
    EXPECT_EQ(views::dispute_count(state), 1u);
    for (const std::string& name : names) {
        EXPECT_TRUE(locked(name).is_zero()) << name;
        EXPECT_EQ(bonded(name), U256(100) * kCoin) << name;
        EXPECT_TRUE(views::open_audits(state, party(name)).empty());
        EXPECT_TRUE(views::open_disputes(state, party(name)).empty());
    }
    EXPECT_TRUE(audit_of(id).waiting.empty());
}

TEST_F(WaitingAuditors, AreFreeWhenTheRunEndsInTheMiddleOfTheChain) {
    const auto names = start_chain(1, true);
    ASSERT_EQ(post_hashes("alice", 1), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return views::dispute_count(state) == 2; }));
    ASSERT_EQ(challenge("bob", id, 0), CallStatus::ok) << last.revert_reason;
    advance(5);
    ASSERT_EQ(post_hashes("alice", 2), CallStatus::ok);  // but not in bob's
    const U256 before = ledger::balance_of(state, party(names[1]));
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    EXPECT_EQ(dispute(3).state, DisputeState::solver_lost);
    EXPECT_EQ(dispute(2).state, DisputeState::withdrawn);
    EXPECT_GT(ledger::balance_of(state, party(names[1])), before) << "its share is the auditor's that plays";
    for (const std::string& name : {names[1], names[2]}) {
        EXPECT_TRUE(locked(name).is_zero()) << name;
        EXPECT_EQ(bonded(name), U256(100) * kCoin) << name;
        EXPECT_TRUE(views::open_audits(state, party(name)).empty());
    }
    EXPECT_EQ(views::dispute_count(state), 3u);
}

TEST_F(WaitingAuditors, AreFreeWhenTheRunEndsBeforeAllHaveRevealed) {
    auto wanted = slow_params();
    wanted.reveal_verdict_blocks = 100;
    start(wanted, {"alice"});
    wrong_from = 1;
    id = assign("alice", spec_of(4, 3));
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i, 0, id), CallStatus::ok);
    commit_verdicts("alice", id, {});
    const auto names = auditors_of(id);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(reveal_verdict(names[static_cast<std::size_t>(i)], id, {}), CallStatus::ok);
    ASSERT_EQ(audit_of(id).phase, market::AuditPhase::verdicts);
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }));
    EXPECT_EQ(audit_of(id).phase, market::AuditPhase::closed);
    for (const std::string& name : names) {
        EXPECT_TRUE(locked(name).is_zero()) << name;
        EXPECT_EQ(bonded(name), U256(100) * kCoin) << name;
        EXPECT_TRUE(views::open_audits(state, party(name)).empty());
    }
    EXPECT_TRUE(audit_of(id).seats[2].paid) << "who had committed is paid";
}

TEST_F(WaitingAuditors, ThatAllAreWrongLoseOneAfterTheOtherAndTheSegmentIsAuditedAnew) {
    const auto names = start_chain(3, false);
    for (std::uint64_t k = 1; k <= 3; ++k) {
        EXPECT_EQ(segment(0, 0, id).state, SegmentState::auditing);
        ASSERT_EQ(post_hashes("alice", k), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] { return dispute(k).state == DisputeState::challenger_lost; }));
    }
    EXPECT_EQ(run(0, id).state, RunState::running);
    EXPECT_EQ(segment(0, 0, id).state, SegmentState::waiting_draw);
    for (const std::string& name : names) EXPECT_EQ(bonded(name), U256(100) * kCoin - params.audit_bond) << name;
}

/// One auditor matches and two differ: the segment is verified, but not paid before both have played.
TEST_F(WaitingAuditors, KeepAVerifiedSegmentFromBeingPaid) {
    auto wanted = slow_params();
    wanted.challenge_blocks = 10;  // and 20 on each clock
    const auto names = start_chain(2, false, wanted);
    EXPECT_EQ(segment(0, 0, id).state, SegmentState::verified);
    EXPECT_EQ(send(names[2], AttestRetention{id, 0, 1}), CallStatus::ok);
    advance(12);
    ASSERT_GT(height, segment(0, 0, id).window_end);
    for (std::uint64_t k = 1; k <= 2; ++k) {
        EXPECT_EQ(run(0, id).paid, 0u);
        ASSERT_EQ(post_hashes("alice", k), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] { return dispute(k).state == DisputeState::challenger_lost; }));
    }
    EXPECT_EQ(run(0, id).paid, 1u);
}

}  // namespace
}  // namespace retrace::contracts
