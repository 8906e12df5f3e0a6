// SPDX-License-Identifier: MIT
// Runs that join at states which are proved wrong while they go on. SPEC 13.7.1.
#pragma once

#include "tests/unit/contracts/scenarios/replicas_fixture.hpp"

namespace retrace::contracts {

class StoppedRuns : public JoiningReplicas {
protected:
    void raise(const std::string& who) {
        pay_raise(1);
        ASSERT_EQ(commit_bid(who, 300), CallStatus::ok);
        while (height < task().bid_end) step();
        ASSERT_EQ(reveal_bid(who, 300), CallStatus::ok);
        const std::uint64_t close = task().reveal_end;
        while (height < close) step();
        ASSERT_EQ(run(task().runs - 1).solver, party(who));
        ASSERT_EQ(send(who, AcceptData{1}), CallStatus::ok) << last.revert_reason;
        names.resize(task().runs);
        names.back() = who;
    }
    void commit(std::uint32_t index) {
        ASSERT_EQ(checkpoint(names[index], run(index).next_state, index), CallStatus::ok) << last.revert_reason;
    }
    /// Auditors of a run in wrong_runs replay from the state that it started at, so they find what it found; the others
    /// find root().
    void check(std::uint64_t a) {
        for (const market::Seat& seat : audit(a).seats) {
            const std::string name = name_of(seat.auditor);
            const std::uint64_t end = audit(a).segment + 1;
            if (audit(a).run == silent_about && end == segments) continue;
            const Hash32 mine = wrong_runs.contains(audit(a).run) ? solver_root(end, audit(a).run) : root(end);
            const Hash32 secret = word("verdict " + name);
            if (audit(a).phase == market::AuditPhase::collecting && seat.state == market::SeatState::drawn)
                send(name, CommitVerdict{a, solver::verdict_commitment(mine, secret, seat.auditor.bytes, a)});
            if (audit(a).phase == market::AuditPhase::verdicts && seat.state == market::SeatState::committed)
                send(name, RevealVerdict{a, mine, secret});
        }
    }
    /// One block: each run is fast up to its state in `fast_to` and later commits at its deadlines; all serve and check.
    void step() {
        for (std::uint32_t index = 0; index < names.size(); ++index) {
            const market::Run now = run(index);
            if (now.state != market::RunState::running) continue;
            const bool may = now.next_state <= segments && !views::is_stopped(state, 1, index) && !gone.contains(index);
            if (may && (now.next_state <= fast_to[index] || height + 1 >= now.deadline)) commit(index);
            if (kept.empty() || kept.contains(index)) keep(names[index], index);
            if (!silent.contains(index)) serve(names[index], index);
        }
        for (std::uint64_t id = 1; id <= views::audit_count(state); ++id) check(id);
        next_block();
    }
    void step_until(const std::function<bool()>& done) {
        for (int i = 0; i < 2'000 && !done(); ++i) step();
        ASSERT_TRUE(done());
    }
    bool is_over(std::uint32_t index) const { return market::is_over(run(index).state); }
    void begin_task(std::uint64_t window) {
        auto wanted = small_params();
        wanted.checkpoint_blocks = checkpoint_blocks;
        wanted.challenge_blocks = window;
        start(wanted, {"alice", "bob", "carol", "dave"});
        ASSERT_TRUE(ledger::mint(state, party("zed"), U256(1'000) * kCoin));
        parties.push_back(party("zed"));
        add_solver("zed");
        advance(9);
        assign(names[0], spec_of(segments));
        wrong_from = 6;
    }
    /// alice and bob win the two places of the task, and accept.
    void begin_two(const market::Params& wanted) {
        start(wanted, {"alice", "bob", "carol"});
        TaskSpec spec = spec_of(segments);
        spec.replicas = 2;
        post(spec);
        auction({{"alice", 300}, {"bob", 310}});
        names = {"alice", "bob"};
        for (const std::string& name : names) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    }
    /// alice forges state 6 and what follows, and is finalised up to state 8, because bob is slow; carol joins there.
    void join_at_a_forged_state(std::uint64_t window = 8) {
        names = {"alice"};
        fast_to[0] = 9;
        begin_task(window);
        wrong_run = 0;
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        raise("bob");
        step_until([&] { return run(0).finalised >= 8; });
        ASSERT_EQ(views::dispute_count(state), 0u);
        ASSERT_LT(run(1).next_state, 6u) << "bob is slow";
        wrong_runs = {2};  // carol computes honestly from the forged state
        raise("carol");
        ASSERT_EQ(checkpoint("carol", run(2).first_state, 2), CallStatus::ok) << last.revert_reason;
    }
    CallStatus challenge_carol(const std::string& who) {
        const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
        CallStatus out = CallStatus::not_opened;
        for (std::uint64_t s = run(2).first_state; s < run(2).next_state && out != CallStatus::ok; ++s)
            out = send(who, ChallengeSegment{1, 2, s, word("mine")}, bond);
        return out;
    }
    /// carol answers in time in every dispute about her.
    void play_carol() {
        for (std::uint64_t id = 2; id <= views::dispute_count(state); ++id) play_in(id);
    }
    void play_in(std::uint64_t id) {
        const market::Dispute now = dispute(id);
        const bool hers = now.run == 2 && now.mover == static_cast<std::uint8_t>(verifier::Side::solver);
        if (now.state != market::DisputeState::open || !hers || height + 1 < now.deadline) return;
        ASSERT_EQ(post_hashes("carol", id), CallStatus::ok) << last.revert_reason;
    }
    /// Until alice is convicted; a watcher challenges a segment of carol shortly before that. Its dispute is number 2.
    void challenge_carol_and_convict_alice() {
        step_until([&] { return views::dispute_count(state) != 0; });
        ASSERT_EQ(dispute(1).segment, 5u);
        fast_to[2] = segments;
        step_until([&] {
            if (views::dispute_count(state) < 2) challenge_carol("v4");
            return is_over(0);
        });
        ASSERT_EQ(run(0).state, market::RunState::forfeited);
        ASSERT_EQ(views::dispute_count(state), 2u);
        ASSERT_EQ(dispute(1).state, market::DisputeState::solver_lost);
        ASSERT_EQ(dispute(2).solver, party("carol"));
    }
    std::uint64_t segments = 40, checkpoint_blocks = 40;
    std::vector<std::string> names;  ///< Solvers by run.
    std::map<std::uint32_t, std::uint64_t> fast_to;
    std::set<std::uint32_t> gone;      ///< Runs that commit nothing more.
    std::set<std::uint32_t> kept;      ///< Runs whose states are retained; empty: all.
    std::set<std::uint32_t> silent;    ///< Runs that open nothing more.
    std::uint32_t silent_about = ~0u;  ///< Nobody has a verdict about this run's last segment.
};

}  // namespace retrace::contracts
