// SPDX-License-Identifier: MIT
// Tasks with one solver each, challengers that belong to one owner, and auditors whose verdicts a test chooses.
#pragma once

#include "market/escrow.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {

class Limits : public MarketTest {
protected:
    static market::Params slow_params() {
        market::Params p = small_params();
        p.checkpoint_blocks = 2'000;
        p.challenge_blocks = 600;
        p.unbond_blocks = 40'000;
        return p;
    }
    void start(const market::Params& wanted, const std::vector<std::string>& solvers) {
        begin(wanted);
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        for (const std::string& name : solvers) add_solver(name);
        advance(9);
    }
    static TaskSpec spec_of(std::uint64_t segments, std::uint8_t auditors = 2, std::uint64_t replay_blocks = 0) {
        TaskSpec spec = small_spec();
        spec.steps = 10 * segments;
        spec.audit_bp = 1;  // except the first segment and the last
        spec.price_ceiling = U256(1'000);
        spec.auditors = auditors;
        spec.replay_blocks = replay_blocks;
        return spec;
    }
    /// `name` wins the task as the only bidder, and accepts.
    std::uint64_t assign(const std::string& name, const TaskSpec& spec) {
        const std::uint64_t id = post(spec);
        auction({{name, 400}}, id);
        EXPECT_EQ(send(name, AcceptData{id}), CallStatus::ok);
        return id;
    }
    /// Commits to the first states and serves until both ends of the last of these segments are open.
    void open_segments(const std::string& name, std::uint64_t id, std::uint64_t count) {
        for (std::uint64_t i = 0; i <= count; ++i) ASSERT_EQ(checkpoint(name, i, 0, id), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] {
            serve(name, 0, id);
            check_audits();
            return segment(count - 1, 0, id).window_end != 0 && segment(0, 0, id).window_end != 0;
        }));
    }
    CallStatus challenge(const std::string& who, std::uint64_t id, std::uint64_t segment) {
        const U256 bond = market::challenge_bond(params, views::spec(state, id).value());
        return send(who, ChallengeSegment{id, 0, segment, word("mine")}, bond);
    }
    /// Returns an account of one owner, with the stake of a verifier.
    std::string accomplice(int i) {
        const std::string name = "accomplice " + std::to_string(i);
        if (known_.insert(name).second) {
            EXPECT_TRUE(ledger::mint(state, party(name), U256(100) * kCoin));
            parties.push_back(party(name));
            EXPECT_EQ(send(name, Deposit{}, params.min_verifier_stake), CallStatus::ok);
        }
        return name;
    }
    /// Challenges each segment once from each account until the decoy accepts no more. Returns how many were accepted.
    std::uint64_t fill(std::uint64_t id, std::uint64_t segments, int accounts) {
        std::uint64_t taken = 0;
        for (std::uint64_t segment = 0; segment < segments; ++segment)
            for (int i = 0; i < accounts; ++i) taken += challenge(accomplice(i), id, segment) == CallStatus::ok;
        return taken;
    }
    CallStatus post_hashes(const std::string& who, std::uint64_t dispute) {
        verifier::PostHashes post;
        post.hashes.resize(verifier::search_positions(views::game(state, dispute)->search).size());
        return send(who, PlayMove{dispute, verifier::encode(verifier::Move{post})});
    }
    market::Dispute dispute(std::uint64_t id) const { return views::dispute(state, id).value(); }
    /// All auditors with a seat commit, those in `wrong` to another root than the others; the solver reveals.
    void commit_verdicts(const std::string& solver, std::uint64_t id, const std::set<std::string>& wrong) {
        ASSERT_TRUE(advance_until([&] {
            serve(solver, 0, id);
            return segment(0, 0, id).audit != 0 && !audit_of(id).seats.empty();
        }));
        for (const market::Seat& seat : audit_of(id).seats) {
            const std::string name = name_of(seat.auditor);
            const Hash32 mine = verdict_of(name, wrong);
            const std::uint64_t audit = audit_of(id).id;
            ASSERT_EQ(send(name, CommitVerdict{audit, solver::verdict_commitment(mine, word(name), seat.auditor.bytes,
                                                                                 audit)}),
                      CallStatus::ok);
        }
        serve(solver, 0, id);
        ASSERT_EQ(audit_of(id).phase, market::AuditPhase::verdicts);
    }
    Hash32 verdict_of(const std::string& name, const std::set<std::string>& wrong) const {
        return wrong.contains(name) ? word("lie of " + name) : root(1);
    }
    CallStatus reveal_verdict(const std::string& name, std::uint64_t id, const std::set<std::string>& wrong) {
        return send(name, RevealVerdict{audit_of(id).id, verdict_of(name, wrong), word(name)});
    }
    market::Audit audit_of(std::uint64_t id) const { return views::audit(state, segment(0, 0, id).audit).value(); }
    std::vector<std::string> auditors_of(std::uint64_t id) const {
        std::vector<std::string> out;
        for (const market::Seat& seat : audit_of(id).seats) out.push_back(name_of(seat.auditor));
        return out;
    }
    std::set<std::string> known_;
};

}  // namespace retrace::contracts
