// SPDX-License-Identifier: MIT
// Audits whose fees the run's lock has to cover. SPEC 14.13.
#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "tests/unit/contracts/limits_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::SegmentState;

constexpr std::uint64_t kSegments = 20;

class FeesAtRisk : public Limits {
protected:
    static TaskSpec audited_everywhere() {
        TaskSpec spec = spec_of(kSegments);
        spec.audit_bp = 10'000;
        spec.price_ceiling = kCoin;
        return spec;
    }
    static market::Params long_disputes() {
        market::Params p = slow_params();
        p.move_blocks = 60;
        return p;
    }
    void commit_all(const std::string& name, std::uint64_t id, std::uint32_t run = 0) {
        const std::uint64_t segments = views::spec(state, id)->segments();
        for (std::uint64_t i = 0; i <= segments; ++i) ASSERT_EQ(checkpoint(name, i, run, id), CallStatus::ok);
    }
    void serve_for(std::uint64_t blocks, std::uint64_t id, const std::vector<std::string>& solvers) {
        for (std::uint64_t i = 0; i < blocks; ++i) {
            for (std::uint32_t run = 0; run < solvers.size(); ++run) serve(solvers[run], run, id);
            check_audits();
            next_block();
        }
    }
    /// alice and bob commit all of a task, and an accomplice challenges the first segment of alice, which is verified.
    std::uint64_t dispute_alice(TaskSpec spec) {
        spec.replicas = 2;
        const std::uint64_t id = post(spec);
        auction({{"alice", 400}, {"bob", 400}}, id);
        for (const char* name : {"alice", "bob"}) EXPECT_EQ(send(name, AcceptData{id}), CallStatus::ok);
        commit_all("alice", id, 0);
        commit_all("bob", id, 1);
        EXPECT_TRUE(advance_until([&] {
            serve("alice", 0, id);
            serve("bob", 1, id);
            check_audits();
            return segment(0, 0, id).state == SegmentState::verified &&
                   segment(0, 1, id).state == SegmentState::verified;
        }));
        EXPECT_EQ(challenge(accomplice(0), id, 0), CallStatus::ok);
        return id;
    }
    /// alice answers in the first dispute, about her run, in the last block.
    void play_late(std::uint64_t id) {
        const bool moves = dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver);
        if (run(0, id).open_disputes == 0 || !moves || height + 1 < dispute(1).deadline) return;
        EXPECT_EQ(post_hashes("alice", 1), CallStatus::ok) << last.revert_reason;
    }
    std::uint64_t verified(std::uint64_t id, std::uint32_t run = 0) const {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < kSegments; ++i) count += segment(i, run, id).state == SegmentState::verified;
        return count;
    }
    std::uint64_t covered(std::uint64_t id) const {
        return market::audits_covered(params, views::spec(state, id).value(), run(0, id).locked);
    }
};

/// 14.13: an accomplice's challenge of the first segment keeps everything from being paid, and the whole lock is lost at
/// the end. The audits that went on meanwhile must not cost more than is burned.
TEST_F(FeesAtRisk, AuditsBehindAnAccomplicesChallengeCostNoMoreThanIsBurned) {
    start(long_disputes(), {"alice"});
    const std::uint64_t id = assign("alice", audited_everywhere());
    commit_all("alice", id);
    ASSERT_EQ(covered(id), market::kAuditsAtRisk);
    ASSERT_TRUE(advance_until([&] {
        serve("alice", 0, id);
        check_audits();
        return segment(0, 0, id).state == SegmentState::verified;
    }));
    ASSERT_EQ(challenge(accomplice(0), id, 0), CallStatus::ok);
    const U256 before = views::task(state, id)->audit_budget;
    serve_for(250, id, {"alice"});
    EXPECT_EQ(run(0, id).finalised, 0u);
    EXPECT_EQ(verified(id), market::kAuditsAtRisk);
    ASSERT_TRUE(advance_until([&] { return run(0, id).state != RunState::running; }, 6'000));
    const auto slashed = all<Slashed>();
    ASSERT_FALSE(slashed.empty());
    EXPECT_EQ(slashed.back().party, party("alice"));
    EXPECT_GE(slashed.back().burned, before - views::task(state, id)->audit_budget);
}

/// 14.13: audits that waited go on when segments before them are finalised.
TEST_F(FeesAtRisk, AuditsThatTheLockDoesNotCoverYetGoOnLater) {
    market::Params wanted = slow_params();
    wanted.challenge_blocks = 200;
    start(wanted, {"alice"});
    const std::uint64_t id = assign("alice", audited_everywhere());
    commit_all("alice", id);
    serve_for(200, id, {"alice"});
    EXPECT_EQ(verified(id), market::kAuditsAtRisk);
    serve_for(700, id, {"alice"});
    EXPECT_EQ(verified(id), kSegments);
    EXPECT_EQ(run(0, id).paid, kSegments);
}

/// 14.13: a replica in a dispute has no audits beyond its limit, and delays neither the audits nor the payments of the
/// others: it opens its states, and is audited for them later.
TEST_F(FeesAtRisk, AReplicaInADisputeDoesNotHoldTheOthers) {
    market::Params wanted = long_disputes();
    wanted.challenge_blocks = 30;  // bob's own segments are finalised meanwhile
    wanted.move_blocks = 30;
    start(wanted, {"alice", "bob"});
    const std::uint64_t id = dispute_alice(audited_everywhere());
    std::size_t reveals = 0;
    for (int i = 0; i < 900 && run(1, id).paid < kSegments; ++i) {
        play_late(id), serve_for(1, id, {"alice", "bob"});
        std::uint64_t due = 0;  // A reveal that is due holds her run, although no auditor waits for it (14.12.15).
        for (const std::uint64_t open : open_audit_ids(id, 0)) {
            const market::Audit now = views::audit(state, open).value();
            due += now.seats.empty() && now.phase == market::AuditPhase::revealing && now.deadline != 0;
        }
        reveals += due;
        EXPECT_GE(views::due_audits(state, id, 0), due);
    }
    EXPECT_NE(reveals, 0u);
    ASSERT_EQ(run(0, id).open_disputes, 1u) << "bob is paid for " << run(1, id).paid;
    EXPECT_EQ(verified(id, 0), market::kAuditsAtRisk);
    EXPECT_EQ(verified(id, 1), kSegments);
    for (std::uint64_t i = market::kAuditsAtRisk; i < kSegments; ++i) {
        const auto audit = views::audit(state, segment(i, 0, id).audit);
        ASSERT_TRUE(audit) << i;
        EXPECT_TRUE(audit->seats.empty()) << "no auditor waits for segment " << i;
    }
    for (int i = 0; i < 1'000 && run(0, id).paid < kSegments; ++i) play_late(id), serve_for(1, id, {"alice", "bob"});
    EXPECT_EQ(verified(id, 0), kSegments);
    EXPECT_EQ(run(0, id).paid, kSegments);
}

/// 14.13.1: nor does such a replica hold the others where they are not audited themselves.
TEST_F(FeesAtRisk, AReplicaInADisputeDoesNotHoldWhatIsNotDrawn) {
    market::Params wanted = long_disputes();
    wanted.challenge_blocks = 30;
    start(wanted, {"alice", "bob"});
    TaskSpec spec = audited_everywhere();
    spec.steps *= 3;
    spec.audit_bp = 5'000;
    const std::uint64_t id = dispute_alice(spec), segments = spec.segments();
    ASSERT_EQ(segments, 3 * kSegments);
    for (int i = 0; i < 900 && run(1, id).finalised < segments; ++i) play_late(id), serve_for(1, id, {"alice", "bob"});
    EXPECT_EQ(run(1, id).finalised, segments);
    EXPECT_EQ(run(0, id).open_disputes, 1u);
}

}  // namespace
}  // namespace retrace::contracts
