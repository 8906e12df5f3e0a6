// SPDX-License-Identifier: MIT
// The price of a raise counts from the state at which its replicas join, regardless of events before its auction ends.
// SPEC 12.7.8.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class RaiseEscrow : public MarketTest {
protected:
    static constexpr std::uint64_t kSegments = 12;

    /// alice computes alone, and no party keeps her states, so finalised segments are not paid.
    void start() {
        auto wide = small_params();
        wide.checkpoint_blocks = 150;
        wide.accept_blocks = 20;
        begin(wide);
        keeping = false;
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol", "dave"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.steps = 10 * kSegments;
        post(spec);
        auction({{"alice", 400}, {"carol", 700}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    }
    U256 price(std::uint8_t more) const {
        const std::uint64_t from = views::joining_state(state, task()).index;
        return market::escrow_of_more(*views::spec(state, 1), params, from, more).total();
    }
    void block() {
        for (const std::uint32_t index : task().active) serve(name_of(run(index).solver), index);
        check_audits();
        next_block();
    }
    /// As many bidders as are wanted bid the ceiling, which each of them is paid.
    void raise_auction(const std::vector<const char*>& bidders) {
        for (const char* name : bidders) ASSERT_EQ(commit_bid(name, 900), CallStatus::ok) << last.revert_reason;
        while (height < task().bid_end) block();
        for (const char* name : bidders) ASSERT_EQ(reveal_bid(name, 900), CallStatus::ok) << last.revert_reason;
        while (task().wanted != 0) block();
    }
};

TEST_F(RaiseEscrow, ALostLeaderDoesNotMoveTheStateAtWhichReplicasJoin) {
    start();
    for (std::uint64_t i = 0; i < kSegments; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    const std::uint64_t silent_at = run(0).deadline;
    while (height + 9 < silent_at) block();
    const std::uint64_t joining = views::joining_state(state, task()).index;
    ASSERT_GT(joining, 5u) << "alice is far";
    ASSERT_EQ(run(0).paid, 0u) << "and nobody keeps her states";
    // Two in all: bob joins and takes a while to fetch program and data.
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::ok) << last.revert_reason;
    raise_auction({"bob"});
    ASSERT_EQ(task().active.size(), 2u);
    // Four in all: two more, from alice's state. She is gone before they are chosen.
    ASSERT_EQ(send("requester", RaiseReplicas{1, 4}, price(2)), CallStatus::ok) << last.revert_reason;
    raise_auction({"carol", "dave"});
    ASSERT_EQ(run(0).state, RunState::forfeited) << "alice was silent";
    ASSERT_EQ(task().active.size(), 3u);
    for (const std::uint32_t index : {2u, 3u}) EXPECT_EQ(run(index).first_state, joining) << index;
    play_all(1, 400);
    EXPECT_EQ(task().state, TaskState::delivering);
    for (const std::uint32_t index : {1u, 2u, 3u}) EXPECT_EQ(run(index).paid, kSegments) << index;
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
}

}  // namespace
}  // namespace retrace::contracts
