// SPDX-License-Identifier: MIT
// The number of disputes that replicas can be drawn into, and the time they have for them. SPEC 15.3 and 15.8.1.
#include "contracts/lifecycle/disputes/cases.hpp"
#include "market/work.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeKind;
using market::RunState;

class ManyDisputes : public MarketTest {
protected:
    void start(std::uint8_t replicas, std::uint64_t replay_blocks = 0, std::uint64_t segments = 4) {
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
        advance(9);
        TaskSpec spec = small_spec();
        spec.replicas = replicas;
        spec.replay_blocks = replay_blocks;
        spec.steps = segments * spec.interval;
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1000);
        post(spec);
        std::map<std::string, std::uint64_t> bids{{"alice", 400}, {"bob", 500}};
        if (replicas > 2) bids["carol"] = 600;
        auction(bids);
        ASSERT_EQ(task().active.size(), replicas);
        for (const auto& [name, price] : bids) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    }
    std::vector<market::Dispute> between_replicas() const {
        std::vector<market::Dispute> out;
        for (std::uint64_t id = 1; id <= views::dispute_count(state); ++id) {
            const auto dispute = views::dispute(state, id).value();
            if (dispute.kind == DisputeKind::replica) out.push_back(dispute);
        }
        return out;
    }
};

TEST_F(ManyDisputes, TwoReplicasThatDifferInEveryOtherStateHaveOneDispute) {
    start(2);
    // alice is wrong in states 1 and 3 only: segments 0 and 2 start equal and end differently.
    forged_roots = {root(0), word("forged 1"), root(2), word("forged 3"), root(4)};
    wrong_from = 0;
    for (int i = 0; i < 200 && run(0).state != RunState::forfeited; ++i) {
        play_all(1, 1);
        EXPECT_TRUE(run(0).paid == 0 && run(1).paid == 0) << "for segments that have no dispute of their own";
    }
    EXPECT_EQ(run(0).state, RunState::forfeited) << "alice has no answer to the game";
    EXPECT_EQ(between_replicas().size(), 1u);
    EXPECT_EQ(task().first_state, 0u) << "nothing of hers was agreed to";
    for (const Slashed& event : all<Slashed>()) {
        if (event.reason != "wrong_result") continue;
        EXPECT_EQ(event.party, party("alice"));
    }
}

TEST_F(ManyDisputes, AReplicaThatAccusesSeveralHasAReplayForEach) {
    start(3, 10);
    wrong_from = 2;
    wrong_run = 0;
    wrong_runs = {1};  // alice and bob agree on the wrong state
    for (int i = 0; i < 200 && between_replicas().size() < 2; ++i) play_all(1, 1);
    const auto disputes = between_replicas();
    ASSERT_EQ(disputes.size(), 2u);
    for (const auto& dispute : disputes) EXPECT_EQ(dispute.challenger, party("carol"));
    const std::uint64_t work = market::dispute_work(views::spec(state, 1).value(), DisputeKind::replica);
    EXPECT_EQ(disputes[1].challenger_due, std::max(disputes[0].challenger_due, disputes[1].opened_height + work) + work)
        << "all of the first one's may be to come";
    EXPECT_EQ(disputes[1].opened_height + disputes[1].challenger_clock,
              disputes[1].challenger_due + params.moves * params.move_blocks);
}

/// 13.5: an accuser cannot avoid its loss by missing a checkpoint before its clock runs out.
TEST_F(ManyDisputes, AnAccuserThatFallsSilentLosesItsWholeLock) {
    auto wanted = small_params();
    wanted.moves = 200;
    wanted.unbond_blocks = 5'000;
    begin(wanted);
    start(2, 0, 80);
    wrong_from = 2;  // In a segment that is not drawn.
    wrong_run = 1;
    for (int i = 0; i < 60 && between_replicas().empty(); ++i) play_all(1, 1);
    ASSERT_EQ(between_replicas().size(), 1u);
    const market::Dispute dispute = between_replicas()[0];
    ASSERT_EQ(dispute.challenger, party("bob"));
    verifier::PostHashes hashes;
    hashes.hashes.resize(verifier::search_positions(views::game(state, dispute.id)->search).size());
    ASSERT_EQ(send("alice", PlayMove{dispute.id, verifier::encode(verifier::Move{hashes})}), CallStatus::ok);
    for (int i = 0; i < 60 && !open_audit_ids(1, 1).empty(); ++i) play_all(1, 1);
    ASSERT_TRUE(open_audit_ids(1, 1).empty()) << "which alone would cost all of it";
    ASSERT_NE(run(1).deadline, 0u) << "a checkpoint of bob is due";
    const U256 locked = run(1).locked;
    ASSERT_TRUE(advance_until(
        [&] {
            if (run(0).state == RunState::running && run(0).deadline <= height + 1) {
                EXPECT_EQ(checkpoint("alice", run(0).next_state, 0), CallStatus::ok);
            }
            serve("alice", 0);
            serve("bob", 1);
            check_audits();
            return market::is_over(run(1).state);
        },
        2'000));
    EXPECT_EQ(all<Slashed>().back().reason, "wrong_result") << "its run waited until its dispute was decided (13.5.1)";
    EXPECT_EQ(all<Slashed>().back().party, party("bob"));
    EXPECT_EQ(all<Slashed>().back().amount, locked);
}

TEST(Lists, AreNeverWrittenLongerThanTheyAreRead) {
    EmptyView nothing;
    ledger::State state{nothing};
    std::vector<std::uint64_t> items(market::kRecordListMax);
    store_list(state, keys::active_tasks(), items);
    EXPECT_EQ(list<std::uint64_t>(state, keys::active_tasks()).size(), items.size());
    items.push_back(1);
    EXPECT_DEATH(store_list(state, keys::active_tasks(), items), "a list fits into its record");
}

}  // namespace
}  // namespace retrace::contracts
