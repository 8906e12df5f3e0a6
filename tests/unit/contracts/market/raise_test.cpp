// SPDX-License-Identifier: MIT
// More replicas for a running task, and the duties of several solvers to each other.
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskState;

class Raise : public MarketTest {
protected:
    U256 price(std::uint8_t more) const {
        return market::escrow_of_more(small_spec(), params, views::joining_state(state, task()).index, more).total();
    }
    /// Number of segments of a run whose ends no other run had opened when it committed its own.
    std::uint64_t originals(std::uint32_t index) const {
        std::uint64_t count = 0;
        for (std::uint64_t i = run(index).first_state + 1; i <= 4; ++i) {
            const std::uint64_t committed = views::checkpoint(state, 1, index, i)->height;
            bool copied = false;
            for (std::uint32_t other = 0; other < task().runs; ++other) {
                const auto seen = other == index ? std::nullopt : views::checkpoint(state, 1, other, i);
                const bool in_time = seen && (seen->open_height < committed ||
                                              (seen->open_height == committed && segment(i - 1, index).not_awaited));
                copied = copied || (seen && seen->opened && in_time);
            }
            count += !copied;
        }
        return count;
    }
    /// alice has a finalised segment and two more committed ones.
    void run_for_a_while() {
        auto slow = params;
        slow.checkpoint_blocks = 100;
        begin(slow);
        start_run();
        for (int i = 0; i < 200 && run().finalised < 1; ++i) {
            if (run().next_state <= 3) {
                ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
            }
            serve("alice");
            check_audits();
            next_block();
        }
        ASSERT_EQ(run().state, RunState::running);
    }
};

TEST_F(Raise, ReplicasJoinARunningTaskWhereNothingCanBeDisputed) {
    start_run();
    for (const char* name : {"carol", "dave"}) add_solver(name);
    ASSERT_EQ(send("requester", RaiseReplicas{1, 3}, price(2)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(all<ReplicasWanted>().at(0).wanted, 2);
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    auction({{"carol", 300}, {"dave", 350}, {"bob", 700}});
    ASSERT_EQ(task().active.size(), 3u);
    EXPECT_EQ(task().state, TaskState::running) << "the task did not stop for the auction";
    play_all();
    EXPECT_EQ(task().state, TaskState::delivering);
    for (const std::uint32_t index : {1u, 2u}) {
        EXPECT_EQ(run(index).state, RunState::delivering);
        EXPECT_EQ(run(index).price, U256(700));
        EXPECT_EQ(run(index).earned, U256(originals(index) * 700));
    }
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::settled);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(Raise, WhatIsPublicAlreadyIsNotPaidToWhoJoins) {
    run_for_a_while();
    const std::uint64_t start = views::joining_state(state, task()).index;
    ASSERT_GE(start, 1u);
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(commit_bid("bob", 300), CallStatus::ok);
    const auto pass_block = [&] {
        serve("alice");
        check_audits();
        next_block();
    };
    for (std::uint64_t i = 0; i < params.bid_blocks; ++i) pass_block();
    ASSERT_EQ(reveal_bid("bob", 300), CallStatus::ok);
    for (int i = 0; i < 10 && run().state == RunState::running && task().active.size() == 1; ++i) pass_block();
    ASSERT_EQ(task().state, TaskState::running) << "the task ended before anybody joined";
    ASSERT_EQ(task().active.size(), 2u);
    EXPECT_GE(run(1).first_state, start);
    EXPECT_EQ(run(1).first_root, root(run(1).first_state));
    play_all();
    EXPECT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(run(1).paid, 4u);
    EXPECT_LT(originals(1), 4 - run(1).first_state) << "alice had opened some before bob committed his own";
    EXPECT_EQ(run(1).earned, U256(originals(1)) * run(1).price);
}

TEST_F(Raise, WithoutBidsTheTaskGoesOnAndTheEscrowReturns) {
    start_run();
    const U256 before = ledger::balance_of(state, party("requester")) + task().escrow + task().audit_budget;
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::ok);
    play("alice");
    ASSERT_EQ(task().state, TaskState::delivering);
    EXPECT_EQ(task().active.size(), 1u);
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    U256 fees;
    for (const AuditPaid& event : all<AuditPaid>()) fees += event.amount;
    EXPECT_EQ(ledger::balance_of(state, party("requester")) + run().earned + fees, before);
}

/// A segment may be finalised between the estimate and the block.
TEST_F(Raise, WhatItBringsBeyondThePriceReturnsAtOnce) {
    start_run();
    const U256 before = ledger::balance_of(state, party("requester")), escrow = task().escrow + task().audit_budget;
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1) + U256(7)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(ledger::balance_of(state, party("requester")), before - price(1));
    EXPECT_EQ(task().escrow + task().audit_budget, escrow + price(1));
    EXPECT_EQ(all<EscrowReturned>().back().amount, 7);
}

TEST_F(Raise, BidsForReplicasReturnWhenTheTaskStopsRunning) {
    start_run();
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
    const U256 before = ledger::balance_of(state, party("bob"));
    while (height + 1 < run().deadline) next_block();
    ASSERT_EQ(task().wanted, 0) << "nobody did bid in time; the requester asks again";
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::ok);
    ASSERT_EQ(commit_bid("bob", 300), CallStatus::ok);
    advance(3);
    EXPECT_EQ(run().state, RunState::forfeited) << "alice was silent";
    EXPECT_EQ(task().state, TaskState::bidding);
    EXPECT_EQ(ledger::balance_of(state, party("bob")), before) << "the deposit is back";
    auction({{"bob", 300}});
    EXPECT_EQ(task().active.size(), 1u);
}

TEST_F(Raise, Refusals) {
    EXPECT_EQ(send("requester", RaiseReplicas{1, 0}), CallStatus::replicas_out_of_range);
    EXPECT_EQ(send("requester", RaiseReplicas{1, 6}), CallStatus::replicas_out_of_range);
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}), CallStatus::unknown_task);
    auto few = params;
    few.rounds = 2;
    begin(few);
    start_run();
    EXPECT_EQ(send("bob", RaiseReplicas{1, 2}), CallStatus::not_requester);
    EXPECT_EQ(send("requester", RaiseReplicas{1, 1}), CallStatus::not_more_replicas);
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}, price(1) - U256(1)), CallStatus::wrong_value);
    EXPECT_EQ(commit_bid("bob", 5), CallStatus::wrong_task_state) << "no auction is open";
    ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::ok);
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::already_bid);
    EXPECT_EQ(commit_bid("alice", 5), CallStatus::already_running);
    advance(params.bid_blocks + params.reveal_blocks);
    EXPECT_EQ(send("requester", RaiseReplicas{1, 2}, price(1)), CallStatus::rounds_used_up);
}

class Crowd : public MarketTest, public ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(Crowd, OneHonestReplicaWinsAgainstAllOthers) {
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    const std::vector<std::string> names{"alice", "bob", "carol"};
    for (const std::string& name : names) add_solver(name);
    advance(9);
    TaskSpec spec = small_spec();
    spec.replicas = 3;
    post(spec);
    auction({{"alice", 400}, {"bob", 500}, {"carol", 700}});
    ASSERT_EQ(task().active.size(), 3u);
    // All replicas but one collude, with the same wrong states from state 2 on.
    wrong_from = 2;
    wrong_run = ~0u;
    const std::uint32_t honest = GetParam();
    for (const std::uint32_t index : {0u, 1u, 2u})
        if (index != honest) wrong_runs.insert(index);
    for (int i = 0; i < 150 && !task().active.empty() && task().state != TaskState::delivering; ++i) {
        for (const std::uint32_t index : task().active) {
            const market::Run now = run(index);
            const std::string name = name_of(now.solver);
            if (now.state == RunState::assigned) {
                ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
            }
            if (now.state == RunState::running && now.next_state <= 4) {
                ASSERT_EQ(checkpoint(name, now.next_state, index), CallStatus::ok);
            }
            serve(name, index);
            check_audits();
        }
        // The honest replica moves in every dispute; the others have no valid answer and give none.
        for (std::uint64_t id = 1; id <= views::dispute_count(state); ++id) {
            const auto dispute = views::dispute(state, id).value();
            const auto game = views::game(state, id);
            if (!game || dispute.mover != 1 || dispute.solver != run(honest).solver) continue;
            verifier::PostHashes post;
            post.hashes.resize(verifier::search_positions(game->search).size());
            if (!post.hashes.empty())
                send(name_of(dispute.solver), PlayMove{id, verifier::encode(verifier::Move{post})});
        }
        next_block();
    }
    EXPECT_EQ(task().state, TaskState::delivering);
    for (const std::uint32_t index : {0u, 1u, 2u}) {
        const RunState wanted = index == honest ? RunState::delivering : RunState::forfeited;
        EXPECT_EQ(run(index).state, wanted) << index;
    }
    for (const Slashed& event : all<Slashed>()) EXPECT_NE(event.party, run(honest).solver);
}

INSTANTIATE_TEST_SUITE_P(HonestOne, Crowd, ::testing::Values(0u, 1u, 2u));

}  // namespace
}  // namespace retrace::contracts
