// SPDX-License-Identifier: MIT
// Payment of a replica that joins a running task, and how long others wait for it. SPEC 12.7.9, 13.1.1.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class JoinedPay : public MarketTest {
protected:
    static constexpr std::uint64_t kSegments = 12;

    /// alice runs the task; bob joins at its start after she has committed the states below `committed`.
    void start(std::uint64_t committed, std::uint64_t interval) {
        auto wide = small_params();
        wide.checkpoint_blocks = interval;
        begin(wide);
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.steps = 10 * kSegments;
        post(spec);
        auction({{"alice", 400}, {"carol", 700}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        const U256 price = market::escrow_of_more(spec, params, 0, 1).total();
        ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price), CallStatus::ok) << last.revert_reason;
        for (std::uint64_t i = 0; i < committed; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        auction({{"bob", 300}});
        ASSERT_EQ(task().active.size(), 2u);
        ASSERT_EQ(run(1).first_state, 0u);
        ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    }
};

TEST_F(JoinedPay, BlindCommitmentsOfOthersTakeNothing) {
    start(kSegments, 60);
    // alice opens nothing: the roots that she committed to are not the result of any computation.
    for (int i = 0; i < 400 && task().state == TaskState::running; ++i) {
        if (run(1).next_state <= kSegments) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), CallStatus::ok);
        }
        serve("bob", 1);
        check_audits();
        next_block();
    }
    EXPECT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(run(1).earned, run(1).price * U256(kSegments)) << "bob computed them all, and could copy none";
}

TEST_F(JoinedPay, AFinishedRunDoesNotWaitForASlowReplica) {
    constexpr std::uint64_t kInterval = 40;
    start(2, kInterval);
    std::uint64_t finished = 0;
    for (int i = 0; i < 2'000 && run(0).state == RunState::running; ++i) {
        if (run(0).next_state <= kSegments) {
            ASSERT_EQ(checkpoint("alice", run(0).next_state), CallStatus::ok);
            finished = height;
        }
        // bob uses the whole time that he has for each state.
        if (run(1).state == RunState::running && run(1).next_state <= kSegments && height + 1 >= run(1).deadline) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), CallStatus::ok);
        }
        serve("alice", 0);
        serve("bob", 1);
        check_audits();
        next_block();
    }
    EXPECT_EQ(run(0).state, RunState::delivering);
    EXPECT_EQ(run(1).state, RunState::running) << "bob is honest, and slow";
    EXPECT_LE(height, finished + kInterval + 150) << "her audits and windows begin an interval after her last state";
}

TEST_F(JoinedPay, WhatAnotherRunHadOpenedIsNotPaidThoughThatRunIsGone) {
    start(6, 60);
    std::uint64_t open_by_alice = 0;  // She opens the states that are due, and stops at state 5.
    for (int i = 0; i < 400 && run(0).state == RunState::running; ++i) {
        if (height + 1 < run(1).deadline) {
            serve("alice", 0);
        } else if (run(1).next_state == 0) {
            ASSERT_EQ(checkpoint("bob", 0, 1), CallStatus::ok);
        }
        check_audits();
        next_block();
    }
    ASSERT_EQ(run(0).state, RunState::forfeited);
    for (std::uint64_t i = 1; i < 6; ++i) open_by_alice += views::checkpoint(state, 1, 0, i)->opened;
    ASSERT_GT(open_by_alice, 0u);
    play_all(1, 400);
    ASSERT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(run(1).earned, run(1).price * U256(kSegments - open_by_alice));
}

}  // namespace
}  // namespace retrace::contracts
