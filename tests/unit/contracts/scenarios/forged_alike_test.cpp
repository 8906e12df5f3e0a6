// SPDX-License-Identifier: MIT
// Two runs of a task that forge alike. SPEC 13.7.1.
#include "contracts/records/task_end.hpp"
#include "tests/unit/contracts/scenarios/stopped_runs_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeState;
using market::RunState;

/// Two runs forge alike. The first is paid up to its forged state 5, and a watcher challenges the second.
class ForgedAlike : public StoppedRuns {
protected:
    void begin_forging() {
        auto wanted = small_params();
        wanted.checkpoint_blocks = 40;
        wanted.moves = 20;
        begin_two(wanted);
        wrong_runs = {0, 1}, wrong_from = 3;
        fast_to = {{0, 6}, {1, 12}};
        kept = {0};
        step_until([&] { return run(1).next_state > 4 && segment(2, 1).window_end != 0; });
        while (height + 1 < segment(2, 1).window_end) step();
        const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
        ASSERT_EQ(send("v4", ChallengeSegment{1, 1, 2, word("mine")}, bond), CallStatus::ok) << last.revert_reason;
        step_until([&] { return run(0).paid >= 5; });
        ASSERT_EQ(dispute(1).state, DisputeState::open);
        ASSERT_EQ(run(1).paid, 0u);
    }
    void end_alice() {
        commit(0);
        gone = silent = {0};
        step_until([&] { return is_over(0); });
    }
    void convict_bob() {
        step_until([&] { return is_over(1); });
        ASSERT_EQ(dispute(1).state, DisputeState::solver_lost);
    }
};

/// 13.7.1: the task would resume at alice's forged state, and its escrow does not pay for these segments again.
TEST_F(ForgedAlike, ATaskThatWouldResumeAtAForgedStateExpires) {
    begin_forging();
    end_alice();
    ASSERT_EQ(task().resume_root, wrong_root(task().first_state));
    convict_bob();
    EXPECT_EQ(task().state, market::TaskState::expired);
    EXPECT_EQ(views::task_end(state, 1), TaskEnd::paid_wrong);
}

/// A raise after the conviction does not start at a state of the run that forged alike and goes on.
TEST_F(ForgedAlike, ARaiseAfterTheConvictionStartsAtNoForgedState) {
    begin_forging();
    convict_bob();
    ASSERT_EQ(run(0).state, RunState::running);
    ASSERT_GE(run(0).finalised, 5u);
    const auto start = views::joining_state(state, task());
    EXPECT_EQ(start.index, 0u);
    EXPECT_FALSE(start.run.has_value());
}

/// The same when the run that reached the state ends after the conviction.
TEST_F(ForgedAlike, ATaskResumesAtNoStateThatWasProvedForgedBefore) {
    begin_forging();
    convict_bob();
    ASSERT_EQ(run(0).state, RunState::running);
    end_alice();
    EXPECT_EQ(task().state, market::TaskState::expired);
}

/// A replica that was assigned at a forged state, and has not accepted when the other forger is convicted, is let go.
TEST_F(ForgedAlike, AReplicaThatHasNotAcceptedDoesNotStartAtAForgedState) {
    begin_forging();
    const std::uint64_t takes = params.bid_blocks + params.reveal_blocks;
    while (height + takes + 2 < dispute(1).deadline) step();
    pay_raise(1);
    ASSERT_EQ(commit_bid("carol", 300), CallStatus::ok);
    while (height < task().bid_end) step();
    ASSERT_EQ(reveal_bid("carol", 300), CallStatus::ok);
    const std::uint64_t close = task().reveal_end;
    while (height < close) step();
    ASSERT_EQ(run(2).state, RunState::assigned);
    ASSERT_GE(run(2).first_state, 5u);
    ASSERT_EQ(dispute(1).state, DisputeState::open);
    const U256 stake = views::stake(state, party("carol")).bonded;
    convict_bob();
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_EQ(all<RunEnded>().back().reason, "wrong_initial");
    EXPECT_EQ(views::stake(state, party("carol")).bonded, stake);
    EXPECT_NE(send("carol", AcceptData{1}), CallStatus::ok);
    const auto excluded = task().excluded;
    EXPECT_EQ(std::count(excluded.begin(), excluded.end(), party("carol")), 1) << "as one that declined";
}

}  // namespace
}  // namespace retrace::contracts
