// SPDX-License-Identifier: MIT
// Tasks that several solvers run at the same time.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class Replicas : public MarketTest {
protected:
    void start(bool seeded = false) {
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.replicas = 2;
        if (seeded) std::swap(spec.init_root, spec.initial_state_root);
        post(spec);
        auction({{"alice", 400}, {"bob", 500}, {"carol", 700}});
        ASSERT_EQ(task().active.size(), 2u);
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    }
    void play_both(std::uint64_t blocks) {
        const std::pair<std::string, std::uint32_t> solvers[] = {{"alice", 0}, {"bob", 1}};
        for (std::uint64_t i = 0; i < blocks && task().state == market::TaskState::running; ++i) {
            for (const auto& [name, index] : solvers) {
                const auto now = run(index);
                if (now.state == market::RunState::running && now.next_state <= 4) {
                    ASSERT_EQ(checkpoint(name, now.next_state, index), CallStatus::ok);
                }
                serve(name, index);
                check_audits();
            }
            next_block();
        }
    }
};

TEST_F(Replicas, EqualRootsArePaidTwice) {
    start();
    play_both(150);
    EXPECT_EQ(task().state, market::TaskState::delivering);
    EXPECT_EQ(run(0).earned, U256(4 * 700));
    EXPECT_EQ(run(1).earned, U256(4 * 700));
    EXPECT_TRUE(all<DisputeOpened>().empty());
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(task().state, market::TaskState::settled);
}

/// 13.4: a segment is finalised when every replica has opened its end; then the run that waited is paid too.
TEST_F(Replicas, WhoIsReadyFirstIsPaidWhenTheOtherHasOpened) {
    market::Params slow = small_params();
    slow.reveal_segment_blocks = 25;
    begin(slow);
    start();
    for (std::uint64_t i = 0; i <= 4; ++i) {
        ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok);
    }
    const auto bob_is_to_reveal = [&] {
        for (const std::uint64_t id : open_audit_ids(1, 1)) {
            const market::Audit audit = views::audit(state, id).value();
            if (audit.segment == 3 && audit.phase == market::AuditPhase::revealing) return true;
        }
        return false;
    };
    bool alice_waited = false;
    for (int i = 0, late = 0; i < 100 && run(1).state == market::RunState::running; ++i) {
        serve("alice", 0);
        if (!bob_is_to_reveal() || late++ == 20) serve("bob", 1);
        check_audits();
        next_block();
        const market::Segment last = segment(3);
        alice_waited |= last.state == market::SegmentState::verified && last.window_end != 0 &&
                        height > last.window_end && run(0).paid < 4;
    }
    EXPECT_TRUE(alice_waited) << "all of hers is over, and bob's last state not opened";
    for (const std::uint32_t index : {0u, 1u}) {
        EXPECT_EQ(run(index).paid, 4u);
        EXPECT_EQ(run(index).earned, U256(4 * 700));
    }
}

TEST_F(Replicas, NoRootIsOpenedBeforeTheOtherHasCommitted) {
    start();
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 1), CallStatus::ok);
    EXPECT_EQ(send("alice", OpenRoots{1, 0, 0, {salt(0, 0)}, {root(0)}}), CallStatus::would_leak);
    ASSERT_EQ(checkpoint("bob", 0, 1), CallStatus::ok);
    EXPECT_EQ(send("alice", OpenRoots{1, 0, 0, {salt(0, 0)}, {root(0)}}), CallStatus::ok);
}

TEST_F(Replicas, TheOneThatDiffersLosesAsAsserter) {
    start();
    wrong_from = 2;
    play_both(150);
    ASSERT_FALSE(all<DisputeOpened>().empty());
    EXPECT_EQ(run(0).state, market::RunState::forfeited) << "alice has no answer to the game";
    EXPECT_EQ(run(1).state, market::RunState::delivering) << "bob goes on alone";
    for (const Slashed& event : all<Slashed>()) EXPECT_EQ(event.party, party("alice"));
}

/// A single honest replica needs neither a bond nor an auditor, since an audit does not detect a forged start (14.8).
TEST_F(Replicas, WhoForgesTheSeededStartIsAccusedByTheOther) {
    start(true);
    wrong_from = 0;
    play_both(150);
    const auto opened = all<DisputeOpened>();
    ASSERT_FALSE(opened.empty());
    EXPECT_EQ(opened[0].kind, static_cast<std::uint8_t>(market::DisputeKind::replica_initial));
    EXPECT_EQ(opened[0].solver, party("alice"));
    EXPECT_EQ(opened[0].challenger, party("bob"));
    EXPECT_EQ(views::dispute(state, 1)->claimed_root, root(0));
    EXPECT_EQ(std::count_if(opened.begin(), opened.end(),
                            [&](const DisputeOpened& one) { return one.challenger == party("bob"); }),
              1)
        << "one at a time between two runs";
    EXPECT_EQ(run(0).state, market::RunState::forfeited);
    EXPECT_EQ(run(0).paid, 0u) << "nothing is paid while they dispute";
    EXPECT_NE(run(1).state, market::RunState::forfeited);
}

}  // namespace
}  // namespace retrace::contracts
