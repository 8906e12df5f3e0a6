// SPDX-License-Identifier: MIT
// A solver that has committed as far ahead as it may waits for others, and the wait is not its fault (SPEC 13.8.5,
// 13.8.6).
#include "contracts/lifecycle/market/runs.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class WaitingSolver : public MarketTest {
protected:
    /// alice has committed as many states as she may, and stops `phase` blocks into an epoch of the beacon.
    void commit_all_that_is_allowed(std::uint64_t phase) {
        events.clear();
        auto brisk = small_params();
        brisk.checkpoint_blocks = 12;
        begin(brisk);
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.steps = 11'000;
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1'000'000);
        post(spec);
        auction({{"alice", 400}, {"bob", 700}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        for (std::uint64_t i = 0; i + 1 < kUnfinalisedMax; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        for (std::uint64_t i = 0; i < phase; ++i) pass_block();
        ASSERT_EQ(checkpoint("alice", kUnfinalisedMax - 1), CallStatus::ok);
        ASSERT_EQ(checkpoint("alice", kUnfinalisedMax), CallStatus::too_many_open);
    }
    void pass_block() {
        serve("alice");
        check_audits();
        next_block();
    }
    bool may_commit() const { return run().next_state - run().finalised < kUnfinalisedMax; }
};

TEST_F(WaitingSolver, HasItsWholeTimeFromWhenItMayGoOn) {
    commit_all_that_is_allowed(1);
    EXPECT_EQ(run().deadline, 0u) << "nothing is due";
    const std::uint64_t since = height, finish = run().finish_height;
    while (!may_commit()) pass_block();
    ASSERT_GT(height, since);
    EXPECT_EQ(run().deadline, height + params.checkpoint_blocks);
    EXPECT_EQ(run().finish_height, finish + height - since) << "the finishing height waits too";
    while (height < run().deadline) pass_block();
    EXPECT_EQ(checkpoint("alice", kUnfinalisedMax), CallStatus::ok) << "in the last block";
}

TEST_F(WaitingSolver, LosesNothingInAnyPhaseOfTheChain) {
    for (std::uint64_t phase = 0; phase < 12; phase += 3) {
        commit_all_that_is_allowed(phase);
        bool seen = false;  // the committer has seen the previous block
        for (int i = 0; i < 60 && run().next_state <= 1'040; ++i) {
            if (seen) {
                ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok) << "phase " << phase;
            }
            seen = may_commit();
            pass_block();
            ASSERT_EQ(run().state, market::RunState::running) << "phase " << phase << " at height " << height;
        }
        EXPECT_GT(run().next_state, kUnfinalisedMax);
        EXPECT_TRUE(all<Slashed>().empty());
    }
}

TEST_F(WaitingSolver, IsStillLateWhenItMayCommitAndDoesNot) {
    commit_all_that_is_allowed(0);
    while (!may_commit()) pass_block();
    for (std::uint64_t i = 0; i <= params.checkpoint_blocks; ++i) pass_block();
    EXPECT_EQ(run().state, market::RunState::forfeited);
    EXPECT_EQ(all<Slashed>().at(0).reason, "not_checkpointed");
}

}  // namespace
}  // namespace retrace::contracts
