// SPDX-License-Identifier: MIT
// A replica that waits for the commitments of another's audit, and is woken when they are there.
// SPEC 13.1, 14.4.
#include "tests/unit/contracts/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SeatState;
using market::SegmentState;

/// alice's segment 1 is audited by liars, so that it has another round though its end is open. bob joined
/// late: nobody waited for him there, and he waits for the second round's commitments.
class Waking : public MarketTest {
protected:
    void start() {
        auto slow = small_params();
        slow.checkpoint_blocks = slow.verdict_blocks = slow.open_blocks = 200;
        begin(slow);
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const char* name : {"alice", "bob"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.audit_bp = 10'000;
        post(spec);
        auction({{"alice", 400}});
        ASSERT_EQ(send("alice", AcceptData{1}), Verdict::ok);
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
        ASSERT_TRUE(advance_until([&] {
            serve("alice");
            check_audits();
            return run().clear == 1;
        }));
    }
    /// Both auditors of alice's segment 1 lie, and say nothing in the disputes that follow.
    void have_a_round_without_a_verdict() {
        ASSERT_EQ(checkpoint("alice", 2), Verdict::ok);
        liars = {"v1", "v2", "v3", "v4"};
        ASSERT_TRUE(advance_until([&] {
            serve("alice");
            check_audits();
            return all<DisputeOpened>().size() == 2;
        }));
        liars.clear();
        for (const std::uint64_t id : {1, 2}) {
            verifier::PostHashes post;
            post.hashes.resize(verifier::search_positions(views::game(state, id)->search).size());
            ASSERT_EQ(send("alice", PlayMove{id, verifier::encode(verifier::Move{post})}), Verdict::ok);
        }
    }
    void join_bob() {
        const auto more = market::escrow_of_more(*views::spec(state, 1), params, 1, 1).total();
        ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, more), Verdict::ok) << last.revert_reason;
        auction({{"bob", 300}});
        ASSERT_EQ(send("bob", AcceptData{1}), Verdict::ok) << last.revert_reason;
        ASSERT_EQ(run(1).first_state, 1u);
    }
    std::optional<market::Audit> audit_of(std::uint32_t run_index) const {
        const auto record = views::segment(state, 1, run_index, 1);
        return record && record->audit != 0 ? views::audit(state, record->audit) : std::nullopt;
    }
    bool is(std::uint32_t run_index, AuditPhase phase) const {
        const auto audit = audit_of(run_index);
        return audit && audit->phase == phase;
    }
    void commit_verdicts(std::uint32_t run_index) {
        const market::Audit audit = audit_of(run_index).value();
        for (const market::Seat& seat : audit.seats) {
            const Hash32 secret = word("verdict " + name_of(seat.auditor));
            const Hash32 mine = solver::verdict_commitment(root(2), secret, seat.auditor.bytes, audit.id);
            if (seat.state == SeatState::drawn) {
                ASSERT_EQ(send(name_of(seat.auditor), CommitVerdict{audit.id, mine}), Verdict::ok);
            }
        }
    }
};

TEST_F(Waking, AnotherRoundsCommitmentsWakeTheReplicaThatWaitedForThem) {
    start();
    have_a_round_without_a_verdict();
    join_bob();
    ASSERT_TRUE(advance_until([&] { return segment(1).audits == 2 && is(0, AuditPhase::collecting); }));
    ASSERT_TRUE(views::checkpoint(state, 1, 0, 2)->opened) << "another round, of a segment whose end is open";
    for (const std::uint64_t i : {1, 2}) ASSERT_EQ(checkpoint("bob", i, 1), Verdict::ok);
    ASSERT_TRUE(advance_until([&] {
        serve("bob", 1);
        if (is(1, AuditPhase::collecting)) commit_verdicts(1);
        return is(1, AuditPhase::revealing);
    }));
    ASSERT_TRUE(is(0, AuditPhase::collecting));
    ASSERT_EQ(audit_of(1)->deadline, 0u) << "he could tell alice's auditors what to say";
    EXPECT_EQ(send("bob", RevealSegment{1, 1, 1, salt(1, 2), root(2)}), Verdict::would_leak);
    commit_verdicts(0);
    EXPECT_TRUE(is(0, AuditPhase::verdicts));
    EXPECT_EQ(audit_of(1)->deadline, height + params.reveal_segment_blocks)
        << "he may reveal now, and has to";
    play_all();
    EXPECT_EQ(task().state, market::TaskState::delivering);
    for (const std::uint32_t index : {0u, 1u})
        EXPECT_EQ(segment(1, index).state, SegmentState::verified) << index;
    for (const Slashed& event : all<Slashed>()) EXPECT_EQ(event.reason, "false_accusation");
}

}  // namespace
}  // namespace retrace::contracts
