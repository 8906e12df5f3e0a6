// SPDX-License-Identifier: MIT
// Keeping auditors busy gains nothing (SPEC 14.2): audits wait for them in order, and hold no resources meanwhile.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::RunState;
using market::TaskState;

class BusyAuditors : public MarketTest {
protected:
    /// Adds verifiers with enough stake for one seat each.
    void begin_with_single_seats(const std::vector<std::string>& names) {
        auto single = small_params();
        single.audit_bond = single.min_verifier_stake - single.beacon_penalty;  // all that is free (11.7)
        begin(single);
        for (const std::string& name : names) add_verifier(name, 1);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
    }
    /// `name` wins the task as the only bidder, and accepts.
    void assign(const std::string& name, std::uint64_t id, const U256& price = 400) {
        auction({{name, price.low64()}}, id);
        ASSERT_EQ(send(name, AcceptData{id}), CallStatus::ok);
    }
    std::vector<market::Audit> open_audits(std::uint64_t id, std::uint32_t index = 0) const {
        std::vector<market::Audit> out;
        for (const std::uint64_t audit : open_audit_ids(id, index)) out.push_back(*views::audit(state, audit));
        return out;
    }
    bool collects(std::uint64_t id) const {
        const auto audits = open_audits(id);
        return !audits.empty() && audits[0].phase == AuditPhase::collecting;
    }
    /// Gives carol a task whose first audit has seats, with auditors that stay silent for now.
    void keep_busy(std::uint8_t seats) {
        TaskSpec junk = small_spec();
        junk.auditors = seats;
        junk.replay_blocks = 60;
        junk.checkpoint_blocks = 1'000;
        post(junk);
        assign("carol", 1);
        for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("carol", i, 0, 1), CallStatus::ok);
        lazy = {"v1", "v2", "v3", "v4"};
        ASSERT_TRUE(advance_until([&] {
            serve("carol", 0, 1);
            return collects(1);
        }));
        ASSERT_EQ(open_audits(1)[0].seats.size(), seats);
    }
};

/// The attack of the review: one task with many segments, all of them drawn, whose audits wait for one another.
TEST_F(BusyAuditors, ATaskOfManyAuditsDoesNotLeaveAnothersFraudUnaudited) {
    for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name, 1);
    for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
    advance(9);
    TaskSpec junk = small_spec();
    junk.audit_bp = 10'000;
    junk.auditors = 4;
    junk.price_ceiling = U256(1);
    junk.steps = 1'000;
    junk.checkpoint_blocks = junk.finish_blocks = 1'000;
    post(junk);
    assign("carol", 1, 1);
    for (std::uint64_t i = 0; i <= 20; ++i) ASSERT_EQ(checkpoint("carol", i, 0, 1), CallStatus::ok);
    advance(2 * params.epoch_blocks);
    EXPECT_EQ(open_audits(1).size(), 20u);
    std::size_t seats = 0;
    for (const market::Audit& audit : open_audits(1)) seats += audit.seats.size();
    EXPECT_LE(seats, 4u) << "what waits holds no seat";

    post();
    assign("alice", 2);
    wrong_from = 1;  // alice makes every state up
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, 2), CallStatus::ok);
    for (int i = 0; i < 60 && run(0, 2).state == RunState::running; ++i) {
        serve("alice", 0, 2);
        check_audits();
        next_block();
    }
    EXPECT_EQ(run(0, 2).state, RunState::forfeited);
    EXPECT_EQ(run(0, 2).earned, U256());
    EXPECT_EQ(all<Slashed>().back().party, party("alice"));
}

TEST_F(BusyAuditors, AnAuditWaitsForAuditorsAndIsNeverPassedOver) {
    begin_with_single_seats({"v1", "v2"});
    keep_busy(2);
    post();
    assign("alice", 2);
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0, 2), CallStatus::ok);
    for (std::uint64_t i = 0; i < (params.redraws + 3) * params.epoch_blocks; ++i) {
        serve("alice", 0, 2);
        serve("carol", 0, 1);
        next_block();
    }
    ASSERT_TRUE(collects(1)) << "who audits is still busy";
    ASSERT_FALSE(open_audits(2).empty());
    EXPECT_EQ(open_audits(2)[0].phase, AuditPhase::drawing);
    EXPECT_TRUE(open_audits(2)[0].seats.empty());
    EXPECT_EQ(open_audits(2)[0].redraws, 0u) << "waiting for who is busy counts for nothing";
    EXPECT_EQ(segment(0, 0, 2).postponed, 0u);
    lazy.clear();
    EXPECT_TRUE(advance_until(
        [&] {
            serve("alice", 0, 2);
            serve("carol", 0, 1);
            check_audits();
            return task(2).state == TaskState::delivering;
        },
        400));
    EXPECT_TRUE(all<Slashed>().empty());
    std::map<std::uint64_t, int> verified;
    for (const SegmentVerified& event : all<SegmentVerified>()) ++verified[event.task];
    std::map<std::uint64_t, int> drawn;
    for (const SegmentDrawn& event : all<SegmentDrawn>()) drawn[event.task] += event.audited;
    EXPECT_EQ(verified, drawn) << "every segment that was drawn is verified";
}

TEST_F(BusyAuditors, AFewWhomOthersLeftFreeAreNotDrawn) {
    begin_with_single_seats({"v1", "v2", "v3", "v4"});
    keep_busy(3);
    post();
    assign("alice", 2);
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i, 0, 2), CallStatus::ok);
    for (std::uint64_t i = 0; i < 3 * params.epoch_blocks; ++i) {
        serve("alice", 0, 2);
        serve("carol", 0, 1);
        if (run(0, 2).next_state <= 4) checkpoint("alice", run(0, 2).next_state, 0, 2);
        next_block();
    }
    ASSERT_TRUE(collects(1));
    EXPECT_EQ(open_audits(2)[0].phase, AuditPhase::drawing);
    EXPECT_TRUE(open_audits(2)[0].seats.empty()) << "one of four is free: a quarter of the stake does not decide alone";
}

TEST_F(BusyAuditors, NobodyKnowsBeforeTheOpeningWhoAudits) {
    start_run();
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_TRUE(
        advance_until([&] { return !open_audits(1).empty() && open_audits(1)[0].phase == AuditPhase::opening; }));
    EXPECT_TRUE(open_audits(1)[0].seats.empty());
    serve("alice");
    const std::uint64_t opened = views::epoch_of(params, height);
    ASSERT_EQ(open_audits(1)[0].phase, AuditPhase::drawing);
    ASSERT_TRUE(advance_until([&] { return collects(1); }));
    EXPECT_EQ(views::epoch_of(params, height), opened + 2) << "the first beacon whose reveals were all due after it";
    EXPECT_EQ(height % params.epoch_blocks, 0u);
}

/// Both existing auditors have seats in the audit of one replica, which may not reveal before the other replica's audit
/// is over.
TEST_F(BusyAuditors, ReplicasDoNotWaitForOneAnotherForEver) {
    begin_with_single_seats({"v1", "v2"});
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    spec.finish_blocks = 2'000;
    spec.checkpoint_blocks = 200;
    post(spec);
    auction({{"alice", 400}, {"bob", 500}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    play_all(1, 600);
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_TRUE(all<Slashed>().empty());
}

/// A replica that has not committed the end state yet keeps no auditor in a seat.
TEST_F(BusyAuditors, NoSeatIsHeldWhileASlowerReplicaComputes) {
    begin_with_single_seats({"v1", "v2", "v3"});
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    spec.checkpoint_blocks = 200;
    post(spec);
    auction({{"alice", 400}, {"bob", 500}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i, 0), CallStatus::ok);
    ASSERT_EQ(checkpoint("bob", 0, 1), CallStatus::ok);
    for (std::uint64_t i = 0; i < 5 * params.epoch_blocks; ++i) {
        serve("alice", 0);
        serve("bob", 1);
        next_block();
    }
    ASSERT_FALSE(open_audits(1, 0).empty());
    EXPECT_EQ(open_audits(1, 0)[0].phase, AuditPhase::drawing);
    EXPECT_TRUE(open_audits(1, 0)[0].seats.empty());
    ASSERT_EQ(checkpoint("bob", 1, 1), CallStatus::ok);
    EXPECT_TRUE(advance_until([&] { return !open_audits(1, 0)[0].seats.empty(); }, 3 * params.epoch_blocks));
}

TEST_F(BusyAuditors, WhereThereIsNoVerifierASegmentCountsAsNotDrawnIfTheTaskAllowsIt) {
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    TaskSpec spec = small_spec();
    spec.allow_unaudited = true;
    post(spec);
    auction({{"alice", 400}, {"bob", 700}});
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    play("alice");
    EXPECT_EQ(run().state, RunState::delivering);
    EXPECT_EQ(segment(0).postponed, params.redraws);
    EXPECT_EQ(segment(0).state, market::SegmentState::unaudited);
}

/// A bid locks at least as much stake as it can keep locked of the auditors of one segment.
TEST_F(BusyAuditors, TheStakeFloorCoversTheBondsOfASegment) {
    TaskSpec cheap = small_spec();
    cheap.price_ceiling = U256(1);
    EXPECT_EQ(market::stake_floor(params, cheap), params.audit_bond * U256(cheap.auditors));
}

}  // namespace
}  // namespace retrace::contracts
