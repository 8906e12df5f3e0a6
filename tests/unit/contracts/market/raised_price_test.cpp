// SPDX-License-Identifier: MIT
// The requester's payment for more replicas covers the segments that they are paid for, whatever happens to the other
// runs between the call and the end of the auction. SPEC 12.7.
#include "merkle/base/non_fatal.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

constexpr std::uint64_t kSegments = 12, kReached = 10;

class RaisedPrice : public MarketTest {
protected:
    RaisedPrice() {
        auto slow = small_params();
        slow.accept_blocks = 60;
        slow.checkpoint_blocks = 95;
        begin(slow);
    }
    U256 price(std::uint8_t more) const {
        const std::uint64_t start = views::joining_state(state, task()).index;
        return market::escrow_of_more(views::spec(state, 1).value(), params, start, more).total();
    }
    /// Raises the task and bids in the new auction, up to its end.
    void raise_to(std::uint8_t replicas, const std::vector<std::string>& bidders) {
        const auto more = static_cast<std::uint8_t>(replicas - task().active.size());
        ASSERT_EQ(send("requester", RaiseReplicas{1, replicas}, price(more)), CallStatus::ok) << last.revert_reason;
        for (const std::string& name : bidders) ASSERT_EQ(commit_bid(name, 1000), CallStatus::ok);
        while (height < task().bid_end) next_block();
        for (const std::string& name : bidders) ASSERT_EQ(reveal_bid(name, 1000), CallStatus::ok);
        const std::uint64_t close = task().reveal_end;
        while (height < close) next_block();
    }
    /// Payments still due to the runs that are not over.
    U256 due() const {
        U256 out;
        for (const std::uint32_t index : task().active) {
            const auto now = run(index);
            const std::uint64_t from = now.paid;
            if (from < kSegments) out += now.price * U256(kSegments - from);
        }
        return out;
    }
    /// alice has ten clear segments, one of which is paid because an auditor keeps its end; then she falls silent.
    void lead() {
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol", "dave"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.steps = kSegments * spec.interval;
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1000);
        post(spec);
        auction({{"alice", 1000}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        for (std::uint64_t i = 0; i <= kReached; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        const std::uint64_t auctions = 2 * (params.bid_blocks + params.reveal_blocks);
        while (height + auctions < run(0).deadline + 3) {
            serve("alice", 0);
            check_audits();
            next_block();
        }
        ASSERT_EQ(run(0).finalised, kReached);
        ASSERT_EQ(run(0).paid, 1u);
    }
};

TEST_F(RaisedPrice, CoversWhoJoinsThoughTheRunThatLedIsLost) {
    const NonFatalScope failed_invariants_are_thrown;
    lead();
    raise_to(2, {"bob"});
    ASSERT_EQ(task().active.size(), 2u) << "bob has the run, and has not accepted it yet";
    raise_to(4, {"carol", "dave"});
    ASSERT_EQ(run(0).state, RunState::forfeited) << "alice was silent before the auction ended";
    EXPECT_LE(due(), task().escrow) << "for " << task().active.size() << " runs";
    ASSERT_NO_THROW(play_all(1, 400)) << "a payment found less than it owes";
    EXPECT_EQ(task().state, TaskState::delivering);
    for (const std::uint32_t index : task().active) {
        const market::Run joined = run(index);
        const std::uint64_t copies = segment(kSegments - 1, index).not_paid;
        EXPECT_EQ(joined.earned, U256(kSegments - joined.first_state - copies) * joined.price) << index;
    }
}

}  // namespace
}  // namespace retrace::contracts
