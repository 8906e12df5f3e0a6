// SPDX-License-Identifier: MIT
// Runs of spot tasks that are given back. SPEC 13.12.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::SegmentState;
using market::TaskState;

class Spot : public MarketTest {
protected:
    static TaskSpec spot_spec() {
        TaskSpec spec = small_spec();
        spec.spot = true;
        spec.audit_bp = 1;  // So no draw decides on a segment, but for one in ten thousand.
        return spec;
    }
    U256 balance(std::string_view name) const { return state.account(party(name)).balance; }
    CallStatus give_back(std::string_view name, std::uint64_t i, std::uint32_t index = 0) {
        const Hash32 blind = solver::checkpoint_commitment(1, index, i, salt(index, i), solver_root(i, index));
        return send(name, GiveBack{1, index, i, blind});
    }
    /// All make their due calls until the condition holds.
    template <class Condition>
    ::testing::AssertionResult serve_until(Condition condition) {
        return advance_until([&] {
            for (const std::uint32_t index : task().active) serve(name_of(run(index).solver), index);
            check_audits();
            return condition();
        });
    }
};

TEST_F(Spot, IsPaidForWhatIsVerifiedAndGoesOnElsewhereFromThere) {
    start_run(spot_spec());
    const U256 bonded = views::stake(state, party("alice")).bonded;
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 1), CallStatus::ok);
    ASSERT_EQ(give_back("alice", 2), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(all<RunGivenBack>().at(0).index, 2u);
    EXPECT_EQ(run().deadline, 0u) << "no checkpoint is due";
    EXPECT_EQ(checkpoint("alice", 3), CallStatus::too_late);
    EXPECT_EQ(give_back("alice", 3), CallStatus::too_late);
    EXPECT_FALSE(run().locked.is_zero()) << "the lock stays until all is final";
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::bidding; }));
    EXPECT_EQ(run().state, RunState::left);
    EXPECT_EQ(run().earned, run().price * U256(2));
    EXPECT_EQ(all<RunEnded>().back().reason, "given_back");
    EXPECT_TRUE(views::is_given_back(state, 1, 0)) << "why it ended can be told later";
    EXPECT_EQ(views::stake(state, party("alice")).bonded, bonded) << "nothing is lost";
    EXPECT_EQ(views::stake(state, party("alice")).locked, U256());
    EXPECT_EQ(views::solver(state, party("alice"))->reputation.silences, 0u);
    EXPECT_EQ(task().first_state, 2u);
    EXPECT_EQ(task().resume_root, root(2));
    EXPECT_EQ(task().round, 2u);
    EXPECT_EQ(commit_bid("alice", 5), CallStatus::excluded);
    auction({{"bob", 700}});
    EXPECT_EQ(run(1).first_state, 2u);
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    play_all();
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(run(1).paid, 4u);
}

/// Otherwise nobody keeps the state at which the successor starts, and a solver forges it and is gone.
TEST_F(Spot, TheLastSegmentIsAlwaysAudited) {
    start_run(spot_spec());
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    ASSERT_EQ(give_back("alice", 3), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::bidding; }));
    EXPECT_EQ(segment(0).state, SegmentState::verified) << "the first";
    EXPECT_EQ(segment(1).state, SegmentState::unaudited);
    EXPECT_EQ(segment(2).state, SegmentState::verified) << "the last";
    EXPECT_FALSE(views::checkpoint(state, 1, 0, 3)->keepers.empty());
}

TEST_F(Spot, GivingBackEscapesNoConviction) {
    wrong_from = 2;
    start_run(spot_spec());
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 1), CallStatus::ok);
    ASSERT_EQ(give_back("alice", 2), CallStatus::ok);
    const U256 lock = run().locked;
    ASSERT_TRUE(serve_until([&] { return views::dispute_count(state) != 0; })) << "an auditor differs";
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; })) << "alice does not move";
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin - lock);
    EXPECT_EQ(task().state, TaskState::bidding);
    EXPECT_LE(task().first_state, 1u);
}

/// A solver that gives back and then serves nobody has not left: its states are due as before.
TEST_F(Spot, WhoGivesBackStillOwesItsStates) {
    start_run(spot_spec());
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(give_back("alice", 1), CallStatus::ok);
    const U256 lock = run().locked;
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::forfeited; }));
    EXPECT_EQ(views::stake(state, party("alice")).bonded, U256(100) * kCoin - lock);
}

TEST_F(Spot, WithoutAKeeperItEndsWhenTheLastAuditorsHaveHadTheirTime) {
    start_run(spot_spec());
    keeping = false;
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(give_back("alice", 1), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return run().finalised == 1; }));
    const std::uint64_t final_at = height;
    ASSERT_TRUE(advance_until([&] { return run().state == RunState::left; }));
    EXPECT_EQ(height, final_at + params.reveal_verdict_blocks + 1);
    EXPECT_EQ(run().paid, 0u) << "nobody keeps its state";
    EXPECT_EQ(task().first_state, 0u);
}

TEST_F(Spot, TheTaskExpiresWhenItsAuctionsAreUsedUp) {
    auto once = params;
    once.rounds = 1;
    begin(once);
    const U256 before = balance("requester");
    start_run(spot_spec());
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    ASSERT_EQ(give_back("alice", 1), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::expired; }));
    U256 fees;
    for (const AuditPaid& paid : all<AuditPaid>()) fees += paid.amount;
    EXPECT_EQ(balance("requester"), before - run().price - fees);
}

TEST_F(Spot, Refusals) {
    TaskSpec two = spot_spec();
    two.replicas = 2;
    EXPECT_EQ(send("requester", PostTask{two}), CallStatus::replicas_out_of_range);
    start_run(spot_spec());
    EXPECT_EQ(give_back("alice", 0), CallStatus::wrong_index) << "it has computed nothing";
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    EXPECT_EQ(give_back("bob", 1), CallStatus::not_solver);
    EXPECT_EQ(send("alice", GiveBack{1, 0, 1, Hash32{}}), CallStatus::commitment_zero);
    EXPECT_EQ(give_back("alice", 2), CallStatus::wrong_index) << "not the next one";
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}), CallStatus::spot_task);
    for (const std::uint64_t i : {1, 2, 3}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    EXPECT_EQ(give_back("alice", 4), CallStatus::wrong_index) << "that is the end of the task";
}

TEST_F(Spot, OtherTasksAreNotGivenBack) {
    start_run();
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    EXPECT_EQ(give_back("alice", 1), CallStatus::not_spot);
}

}  // namespace
}  // namespace retrace::contracts
