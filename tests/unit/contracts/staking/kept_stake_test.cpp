// SPDX-License-Identifier: MIT
// Stake that a member of the beacon must keep free, so that withholding a reveal has a cost. SPEC 11.7 and 10.5.8.
#include "market/odds.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class KeptStake : public MarketTest {
protected:
    /// v1 bonds `more` than a bid locks, and is a solver; v2 is a member too.
    void bond(const U256& more) {
        add_verifier("v2");
        floor = market::stake_floor(params, spec).value();
        ASSERT_GE(floor, params.min_verifier_stake) << "so that the floor is what counts here";
        ASSERT_EQ(send("v1", Deposit{}, floor + more), CallStatus::ok);
        ASSERT_EQ(send("v1", RegisterSolver{"http://v1", 1}), CallStatus::ok);
    }
    void join() {
        ASSERT_EQ(send("v1", RegisterVerifier{"http://v1", link("v1", kChain)}), CallStatus::ok) << last.revert_reason;
        chains["v1"] = kChain;
    }
    CallStatus bid() {
        post(spec);
        if (const CallStatus refused = commit_bid("v1", 400); refused != CallStatus::ok) return refused;
        while (height < task().bid_end) next_block();
        return reveal_bid("v1", 400);
    }
    static TaskSpec priced() {
        TaskSpec out = small_spec();
        out.price_ceiling = 200 * market::kMilli;
        return out;
    }
    const TaskSpec spec = priced();
    U256 floor;
};

TEST_F(KeptStake, AMembersBidLocksOnlyWhatIsBeyondThePenalty) {
    bond(params.beacon_penalty - U256(1));
    join();
    EXPECT_EQ(bid(), CallStatus::stake_too_low);
}

TEST_F(KeptStake, WithholdingARevealCostsThePenaltyThoughAllElseIsLocked) {
    bond(params.beacon_penalty);
    join();
    ASSERT_EQ(bid(), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(send("v1", BeginUnbond{1}), CallStatus::stake_too_low);
    silent.insert("v1");
    advance(3 * params.epoch_blocks);
    EXPECT_FALSE(views::verifier(state, party("v1"))->member);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].amount, params.beacon_penalty);
    EXPECT_EQ(slashed[0].reason, "beacon_missed");
}

TEST_F(KeptStake, WhoHasEverythingLockedDoesNotJoin) {
    bond(params.beacon_penalty - U256(1));
    ASSERT_EQ(bid(), CallStatus::ok) << "no member bids with all it has";
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v1", word("chain")}), CallStatus::stake_too_low);
    ASSERT_EQ(send("v1", Deposit{}, 1), CallStatus::ok);
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v1", word("chain")}), CallStatus::ok);
}

TEST_F(KeptStake, WhatABidNeedsIsLockedFromItsCommitmentOn) {
    auto slow = small_params();
    slow.bid_blocks = 24;  // An audit draws its seats while a bid is sealed.
    begin(slow);
    bond(params.beacon_penalty);
    join();
    add_solver("alice");
    TaskSpec audited = small_spec();
    audited.auditors = 2;            // As many as there are verifiers, so that every eligible one is drawn.
    audited.allow_unaudited = true;  // An eligible verifier may be the only one.
    post(audited);
    auction({{"alice", 400}});
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    post(spec);
    ASSERT_EQ(commit_bid("v1", 400, 2), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(views::stake(state, party("v1")).locked, floor);
    EXPECT_EQ(send("v1", BeginUnbond{1}), CallStatus::stake_too_low);
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    while (height < task(2).bid_end) serve("alice"), next_block();
    ASSERT_FALSE(all<AuditorsDrawn>().empty());
    EXPECT_EQ(all<AuditorsDrawn>()[0].auditors, std::vector<ledger::Address>{party("v2")});
    EXPECT_EQ(reveal_bid("v1", 400, 2), CallStatus::ok) << last.revert_reason;
}

TEST_F(KeptStake, SeatsLeaveThePenaltyFree) {
    auto dear = small_params();
    dear.audit_bond = dear.min_verifier_stake - dear.beacon_penalty + U256(1);
    begin(dear);
    for (const char* name : {"v1", "v2"}) add_verifier(name, 1);
    add_solver("alice");
    advance(9);
    post();
    auction({{"alice", 400}});
    ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    for (int i = 0; i < 10; ++i) serve("alice"), next_block();
    EXPECT_TRUE(all<AuditorsDrawn>().empty()) << "a seat would take a part of the penalty";
}

TEST_F(KeptStake, RegisteringAnewTakesARetirementBack) {
    add_verifier("v1");
    advance(2 * params.epoch_blocks);
    ASSERT_EQ(send("v1", RetireVerifier{}), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send("v1", RegisterVerifier{"http://v1", link("v1", chains["v1"])}), CallStatus::ok)
        << last.revert_reason;
    advance(2 * params.epoch_blocks);
    EXPECT_TRUE(views::verifier(state, party("v1"))->member);
    EXPECT_EQ(views::verifiers(state).size(), 1u);
    EXPECT_TRUE(all<Slashed>().empty());
}

}  // namespace
}  // namespace retrace::contracts
