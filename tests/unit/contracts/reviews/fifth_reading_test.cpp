// SPDX-License-Identifier: MIT
// Fifth hostile reading, of 00d2312: states of a run that is lost beside a dispute with a replica. SPEC 13.7.1.
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "market/draw.hpp"
#include "tests/unit/contracts/reviews/hostile_reports_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;

class FifthReading : public HostileReports {
protected:
    U256 balance(const std::string& name) const { return ledger::balance_of(state, party(name)); }
    U256 bonded(const std::string& name) const { return views::stake(state, party(name)).bonded; }
};

/// (a) 13.7.1: the forger has the higher index, so it is the accuser (15.8). It falls silent under the dispute: its
/// forged states count as right, because only disputes about the lost run are read.
TEST_F(FifthReading, AForgerWithTheHigherIndexThatFallsSilentLeavesNoForgedStateToOthers) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    start(wanted, {"alice", "bob", "carol", "dave"});
    const std::uint64_t id = assign("alice", spec_of(90));
    wrong_run = 2, wrong_from = 6;
    const auto raise = [&](std::uint8_t more, const std::map<std::string, std::uint64_t>& who) {
        const auto from = views::newest_finalised_state(state, task()).index;
        const U256 price = market::escrow_of_more(views::spec(state, id).value(), params, from, more).total();
        const auto all = static_cast<std::uint8_t>(task().active.size() + more);
        ASSERT_EQ(send("requester", RaiseReplicas{1, all}, price), Verdict::ok) << last.revert_reason;
        auction(who);
    };
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    raise(2, {{"bob", 300}, {"carol", 310}});
    ASSERT_EQ(run(1).solver, party("bob"));
    ASSERT_EQ(run(2).solver, party("carol"));
    for (const char* name : {"bob", "carol"}) ASSERT_EQ(send(name, AcceptData{1}), Verdict::ok);
    for (int i = 0; i < 3'000 && views::dispute_count(state) == 0; ++i) {
        const market::Run c = run(2);
        ASSERT_EQ(c.state, RunState::running) << i;
        const bool often = run(1).next_state >= 5 && height % 4 == 0 && c.next_state < 80;
        if (c.next_state <= 9 || (c.deadline != 0 && height + 1 >= c.deadline) || often)
            checkpoint("carol", c.next_state, 2);
        if (c.finalised > c.paid && views::checkpoint(state, 1, 2, c.finalised)->keepers.empty()) {
            send("carol", RequestRetention{1, 2, c.finalised}, params.audit_fee);
            send("v1", AttestRetention{1, 2, c.finalised});
        }
        if (run(1).next_state <= 90 && height + 1 >= run(1).deadline) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), Verdict::ok);
        }
        serve("bob", 1), serve("carol", 2), check_audits(), next_block();
    }
    ASSERT_NE(run(0).state, RunState::running);
    ASSERT_EQ(views::dispute_count(state), 1u) << "paid " << run(2).paid << " bob at " << run(1).next_state;
    ASSERT_EQ(dispute(1).kind, market::DisputeKind::replica);
    ASSERT_EQ(dispute(1).challenger, party("carol"));
    ASSERT_EQ(dispute(1).segment, 5u);
    ASSERT_GT(run(2).paid, 6u);
    const U256 stake = bonded("carol"), lock = run(2).locked;
    for (int i = 0; i < 200 && run(2).state == RunState::running; ++i) {  // carol does nothing any more
        if (height + 1 >= run(1).deadline) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), Verdict::ok);
        }
        if (dispute(1).state == market::DisputeState::open &&
            dispute(1).mover == static_cast<std::uint8_t>(verifier::Side::solver)) {
            ASSERT_EQ(post_hashes("bob", 1), Verdict::ok) << last.revert_reason;
        }
        next_block(), serve("bob", 1);
    }
    ASSERT_EQ(run(2).state, RunState::forfeited);
    ASSERT_EQ(stake - bonded("carol"), lock);
    ASSERT_EQ(dispute(1).state, market::DisputeState::withdrawn);
    EXPECT_LE(task().first_state, 5u) << "carol forged state 6 and what follows, and disputed it with bob";
    raise(1, {{"dave", 300}});
    EXPECT_EQ(run(3).first_root, root(run(3).first_state)) << "dave starts at state " << run(3).first_state;
}

/// (a) 13.7.1: a replica accuses a forger of its seeded initial state, and the forger falls silent: its states count as
/// right, because only disputes about segments are read. (In this fixture root() is the forger's lineage, which its
/// auditors find too, because they start at its state 0; bob's wrong_root() is the honest one.)
TEST_F(FifthReading, AForgerOfTheInitialStateThatFallsSilentLeavesNoForgedStateToOthers) {
    auto wanted = small_params();
    wanted.checkpoint_blocks = 40;
    start(wanted, {"alice", "bob", "carol"});
    TaskSpec spec = spec_of(90);
    std::swap(spec.init_root, spec.initial_state_root);
    const std::uint64_t id = assign("alice", spec);
    wrong_run = 1, wrong_from = 0;
    const auto raise = [&](const std::string& who) {
        const auto from = views::newest_finalised_state(state, task()).index;
        const U256 price = market::escrow_of_more(views::spec(state, id).value(), params, from, 1).total();
        ASSERT_EQ(send("requester", RaiseReplicas{1, 2}, price), Verdict::ok) << last.revert_reason;
        auction({{who, 300}});
    };
    for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
    raise("bob");
    ASSERT_EQ(run(1).first_state, 0u);
    while (height + 1 < run(1).deadline) {
        if (run(0).next_state <= 3) {
            ASSERT_EQ(checkpoint("alice", run(0).next_state), Verdict::ok);
        }
        serve("alice", 0), check_audits(), next_block();
    }
    ASSERT_EQ(send("bob", AcceptData{1}), Verdict::ok);
    for (int i = 0; i < 2'000 && views::dispute_count(state) == 0; ++i) {
        const market::Run a = run(0);
        ASSERT_EQ(a.state, RunState::running);
        if (height + 1 >= a.deadline || (height % 4 == 0 && a.next_state < 40)) {
            ASSERT_EQ(checkpoint("alice", a.next_state), Verdict::ok);
        }
        if (a.finalised > a.paid && views::checkpoint(state, 1, 0, a.finalised)->keepers.empty()) {
            send("alice", RequestRetention{1, 0, a.finalised}, params.audit_fee);
            send("v1", AttestRetention{1, 0, a.finalised});
        }
        if (run(1).next_state <= 90 && height + 1 >= run(1).deadline) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), Verdict::ok);
        }
        serve("alice", 0), serve("bob", 1), check_audits(), next_block();
    }
    ASSERT_EQ(views::dispute_count(state), 1u) << "paid " << run(0).paid << " bob at " << run(1).next_state;
    ASSERT_EQ(dispute(1).kind, market::DisputeKind::replica_initial);
    ASSERT_EQ(dispute(1).challenger, party("bob"));
    ASSERT_GT(run(0).paid, 0u);
    const U256 stake = bonded("alice"), lock = run(0).locked;
    for (int i = 0; i < 200 && run(0).state == RunState::running; ++i) {  // alice does nothing any more
        if (height + 1 >= run(1).deadline) {
            ASSERT_EQ(checkpoint("bob", run(1).next_state, 1), Verdict::ok);
        }
        next_block(), serve("bob", 1);
    }
    ASSERT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(stake - bonded("alice"), lock);
    ASSERT_EQ(dispute(1).state, market::DisputeState::withdrawn);
    EXPECT_EQ(task().first_state, 0u) << "alice forged state 0, and was accused of it";
    raise("carol");
    EXPECT_EQ(run(2).first_state, 0u) << "carol starts at a state of alice";
}

}  // namespace
}  // namespace retrace::contracts
