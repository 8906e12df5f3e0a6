// SPDX-License-Identifier: MIT
// A replica that joins when no work is left to run. SPEC 12.7.10.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class JoiningLate : public MarketTest {
protected:
    /// alice and bob have committed all states; bob opens due states twelve blocks late.
    void start() {
        auto slow = small_params();
        slow.checkpoint_blocks = 100;
        slow.open_blocks = slow.reveal_segment_blocks = 30;
        slow.challenge_blocks = 20;
        begin(slow);
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.replicas = 2;
        post(spec);
        auction({{"alice", 400}, {"bob", 500}});
        for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
        for (std::uint64_t i = 0; i <= 4; ++i) {
            ASSERT_EQ(checkpoint("alice", i, 0), CallStatus::ok);
            ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok);
        }
    }
    void block(int i) {
        serve("alice", 0);
        if (i % 12 == 11) serve("bob", 1);
        check_audits();
        next_block();
    }
    CallStatus raise() {
        const std::uint64_t from = views::joining_state(state, task()).index;
        const auto price = market::escrow_of_more(*views::spec(state, 1), params, from, 1).total();
        return send("requester", RaiseReplicas{1, 3}, price);
    }
};

TEST_F(JoiningLate, ARaiseIsRefusedWhenAllSegmentsAreClear) {
    start();
    for (int i = 0; i < 200 && run(0).state != RunState::delivering; ++i) block(i);
    ASSERT_EQ(run(1).state, RunState::running) << "bob is not done";
    ASSERT_EQ(views::joining_state(state, task()).index, 4u);
    EXPECT_EQ(raise(), CallStatus::too_late);
}

TEST_F(JoiningLate, NobodyJoinsWhenAllSegmentsAreClearAtTheEndOfTheAuction) {
    start();
    const U256 before = ledger::balance_of(state, party("carol"));
    bool raised = false;
    for (int i = 0; i < 400 && task().state == TaskState::running; ++i) {
        const std::uint64_t end = segment(3).window_end;
        if (!raised && end != 0 && height + 3 >= end && run(0).state == RunState::running) {
            ASSERT_EQ(raise(), CallStatus::ok) << last.revert_reason;
            ASSERT_EQ(commit_bid("carol", 300), CallStatus::ok);
            raised = true;
        }
        if (const auto bid = views::bid(state, 1, party("carol")); bid && !bid->revealed && height >= task().bid_end) {
            ASSERT_EQ(reveal_bid("carol", 300), CallStatus::ok) << last.revert_reason;
        }
        block(i);
        if (raised && task().wanted != 0 && height + 1 == task().reveal_end) {
            ASSERT_EQ(run(0).state, RunState::delivering);
            ASSERT_EQ(run(1).state, RunState::running);
        }
    }
    ASSERT_TRUE(raised);
    EXPECT_EQ(task().state, TaskState::delivering) << "nobody waits for a run that has nothing to do";
    EXPECT_EQ(task().active.size(), 2u);
    EXPECT_EQ(all<TaskAssigned>().size(), 2u) << "carol was never asked";
    EXPECT_EQ(ledger::balance_of(state, party("carol")), before) << "her deposit is back";
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::settled);
    for (const char* name : {"alice", "bob", "carol"}) EXPECT_TRUE(views::stake(state, party(name)).locked.is_zero());
}

}  // namespace
}  // namespace retrace::contracts
