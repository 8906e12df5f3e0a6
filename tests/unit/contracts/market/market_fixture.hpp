// SPDX-License-Identifier: MIT
// A market without machines: parties are names, states are hashes of words, and time passes block by block. All
// invariants, including the deep ones, are checked after every call and every block.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "contracts/calls/call_status.hpp"
#include "contracts/calls/encode.hpp"
#include "contracts/executor.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/records/views.hpp"
#include "ledger/state/supply.hpp"
#include "market/auction.hpp"
#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "merkle/hash/sha256.hpp"
#include "solver/commitments.hpp"

namespace retrace::contracts {

class EmptyView final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

inline Hash32 word(std::string_view text) { return merkle::sha256(view(text)); }
inline Address party(std::string_view name) { return ledger::address_of_bytes(view(word(name)).first(20)); }
inline const U256 kCoin = 1'000 * market::kMilli;

inline market::Params small_params() {
    market::Params p;
    p.contract_hash = word("kernels");
    p.epoch_blocks = 4;
    p.bid_blocks = 3;
    p.reveal_blocks = 3;
    p.accept_blocks = 5;
    p.checkpoint_blocks = 24;  // longer than two draws, of the segment and of its auditors
    p.open_blocks = 6;
    p.verdict_blocks = 6;
    p.reveal_segment_blocks = 6;
    p.reveal_verdict_blocks = 6;
    p.challenge_blocks = 8;
    p.deliver_blocks = 20;
    p.answer_blocks = 5;
    p.unbond_blocks = 500;
    p.move_blocks = 2;
    p.moves = 10;
    p.unaudited_blocks = 40;
    return p;
}

inline TaskSpec small_spec() {
    TaskSpec s;
    s.name = "digits";
    s.program_root = word("program");
    s.program_bytes = 1000;
    s.initial_state_root = word("state 0");
    s.data_roots = {word("images"), word("labels")};
    s.steps = 40;
    s.interval = 10;
    s.seed = 7;
    s.contract_hash = word("kernels");
    s.price_ceiling = market::kMilli;
    s.audit_bp = 2'500;
    s.auditors = 2;
    s.finish_blocks = 1'000;
    return s;
}

class MarketTest : public ::testing::Test {
protected:
    MarketTest() { begin(small_params()); }

    void begin(const market::Params& wanted) {
        state.clear();
        parties.clear();
        chains.clear();
        params = wanted;
        height = 0;
        executor.genesis(state, market::encode(params));
        for (const char* name : {"requester", "alice", "bob", "carol", "dave", "v1", "v2", "v3", "v4"}) {
            ASSERT_TRUE(ledger::mint(state, party(name), U256(1'000) * kCoin));
            parties.push_back(party(name));
        }
    }

    ledger::BlockContext block() const {
        ledger::BlockContext out;
        out.height = height;
        out.chain_id = 7298;
        return out;
    }

    /// Passes one block: scheduled items are handled, then the beacon's members reveal.
    void next_block() {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        ++height;
        auto logs = executor.begin_block(next, block());
        EXPECT_EQ(executor.broken_invariant(state, next), std::nullopt);
        state.apply(next.diff());
        events.insert(events.end(), logs.begin(), logs.end());
        check_deep();
        for (auto& [name, steps] : chains) reveal(name, steps);
    }
    void advance(std::uint64_t blocks) {
        for (std::uint64_t i = 0; i < blocks; ++i) next_block();
    }
    template <class Condition>
    ::testing::AssertionResult advance_until(Condition condition, std::uint64_t limit = 200) {
        for (std::uint64_t i = 0; i < limit; ++i) {
            if (condition()) return ::testing::AssertionSuccess();
            next_block();
        }
        return ::testing::AssertionFailure() << "not within " << limit << " blocks";
    }
    void check_deep() {
        if (books_are_damaged) return;
        const auto broken = deep_check(state, parties);
        ASSERT_FALSE(broken.has_value()) << *broken << " at height " << height;
    }

    /// Sends a call and returns its verdict. Its effects are kept if it is accepted; otherwise nothing changes.
    template <class Call>
    CallStatus send(std::string_view sender, const Call& call, const U256& value = 0) {
        return send_raw(party(sender), address_of(Call::kContract), calldata(call), value);
    }
    CallStatus send_raw(const Address& sender, const Address& to, const Bytes& data, const U256& value = 0) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        ledger::Call call{sender, to, value, data, 10'000'000};
        last = executor.call(next, block(), call);
        EXPECT_EQ(last.gas_used, executor.gas_of(to, data)) << "blocks are filled by it (4.4)";
        if (!last.ok) {
            EXPECT_TRUE(next.diff().empty()) << "a refused call changes nothing: " << last.revert_reason;
            EXPECT_TRUE(last.logs.empty());
            const auto refused = decode_refusal(last.output);
            EXPECT_TRUE(refused.has_value());
            return refused ? static_cast<CallStatus>(refused->code) : CallStatus::ok;
        }
        EXPECT_EQ(executor.broken_invariant(state, next), std::nullopt);
        state.apply(next.diff());
        events.insert(events.end(), last.logs.begin(), last.logs.end());
        check_deep();
        return CallStatus::ok;
    }

    template <class Event>
    std::vector<Event> all() const {
        std::vector<Event> out;
        for (const ledger::Log& log : events)
            if (auto event = decode_event<Event>(log)) out.push_back(*event);
        return out;
    }

    // --- parties ---

    void add_solver(std::string_view name, std::uint64_t coins = 100) {
        ASSERT_EQ(send(name, Deposit{}, U256(coins) * kCoin), CallStatus::ok);
        ASSERT_EQ(send(name, RegisterSolver{"http://solver", 1}), CallStatus::ok);
    }
    void add_verifier(const std::string& name, std::uint64_t coins = 100) {
        ASSERT_EQ(send(name, Deposit{}, U256(coins) * kCoin), CallStatus::ok);
        ASSERT_EQ(send(name, RegisterVerifier{"http://verifier", link(name, kChain)}), CallStatus::ok);
        chains[name] = kChain;
    }
    static Hash32 link(const std::string& name, std::uint64_t steps) {
        return solver::beacon_value(word(name), 7298, steps);
    }
    void reveal(const std::string& name, std::uint64_t& steps) {
        const auto info = views::verifier(state, party(name));
        const std::uint64_t epoch = views::epoch_of(params, height);
        if (!info || !info->member || silent.contains(name)) return;
        if (info->joined_epoch >= epoch || info->revealed_epoch == epoch) return;
        ASSERT_EQ(send(name, RevealBeacon{link(name, --steps)}), CallStatus::ok) << last.revert_reason;
    }

    // --- tasks ---

    std::uint64_t post(const TaskSpec& spec = small_spec()) {
        const auto escrow = market::escrow_of(spec, params);
        EXPECT_EQ(send("requester", PostTask{spec}, escrow->total()), CallStatus::ok) << last.revert_reason;
        return views::task_count(state);
    }
    market::Task task(std::uint64_t id = 1) const { return views::task(state, id).value(); }
    market::Run run(std::uint32_t index = 0, std::uint64_t id = 1) const {
        return views::run(state, id, index).value();
    }
    market::Segment segment(std::uint64_t i, std::uint32_t index = 0, std::uint64_t id = 1) const {
        return views::segment(state, id, index, i).value();
    }
    CallStatus commit_bid(std::string_view name, const U256& price, std::uint64_t id = 1) {
        const std::uint64_t finish = task(id).reveal_end + 900;
        const Hash32 commitment = market::bid_commitment(id, task(id).round, price, finish, word(name), party(name));
        return send(name, CommitBid{id, commitment}, params.bid_deposit);
    }
    CallStatus reveal_bid(std::string_view name, const U256& price, std::uint64_t id = 1) {
        return send(name, RevealBid{id, price, task(id).reveal_end + 900, word(name)});
    }
    /// Plays one auction with these bids up to its close.
    void auction(const std::map<std::string, std::uint64_t>& prices, std::uint64_t id = 1) {
        for (const auto& [name, price] : prices) ASSERT_EQ(commit_bid(name, price, id), CallStatus::ok);
        while (height < task(id).bid_end) next_block();
        for (const auto& [name, price] : prices) ASSERT_EQ(reveal_bid(name, price, id), CallStatus::ok);
        const std::uint64_t close = task(id).reveal_end;
        while (height < close) next_block();
    }

    // --- runs: state i of a run is a word, and so is its salt ---

    /// Root of state i of an honest solver; from `real_roots` if a test computes states.
    Hash32 root(std::uint64_t i) const {
        return real_roots.empty() ? word("state " + std::to_string(i)) : real_roots.at(i);
    }
    static Hash32 salt(std::uint32_t run, std::uint64_t i) {
        return word("salt " + std::to_string(run) + " " + std::to_string(i));
    }
    Hash32 wrong_root(std::uint64_t i) const {
        return forged_roots.empty() ? word("wrong " + std::to_string(i)) : forged_roots.at(i);
    }
    /// Root of state i of a solver that cheats from state `wrong_from` on.
    Hash32 solver_root(std::uint64_t i, std::uint32_t run = 0) const {
        const auto until = wrong_until.find(run);
        const bool wrong = i >= wrong_from && (until == wrong_until.end() || i < until->second);
        return wrong && (run == wrong_run || wrong_runs.contains(run)) ? wrong_root(i) : root(i);
    }
    CallStatus checkpoint(std::string_view name, std::uint64_t i, std::uint32_t run = 0, std::uint64_t id = 1) {
        const Hash32 blind = solver::checkpoint_commitment(id, run, i, salt(run, i), solver_root(i, run));
        return send(name, CommitCheckpoint{id, run, i, blind});
    }

    /// The solver of a run answers everything that is due.
    void serve(const std::string& name, std::uint32_t index = 0, std::uint64_t id = 1) {
        const auto run = views::run(state, id, index);
        if (!run || run->state != market::RunState::running) return;
        for (const std::uint64_t audit_id : open_audit_ids(id, index)) {
            const auto audit = views::audit(state, audit_id).value();
            const std::uint64_t start = audit.segment, end = start + 1;
            if (audit.phase == market::AuditPhase::opening) {
                const OpenSegment open{id, index, start, salt(index, start), solver_root(start, index)};
                EXPECT_EQ(send(name, open), CallStatus::ok) << last.revert_reason;
            }
            if (audit.phase == market::AuditPhase::revealing && audit.deadline != 0) {
                const RevealSegment reveal{id, index, start, salt(index, end), solver_root(end, index)};
                EXPECT_EQ(send(name, reveal), CallStatus::ok) << last.revert_reason;
            }
            if (views::run(state, id, index)->state != market::RunState::running) return;
        }
        for (std::uint64_t i = run->first_state; i < run->next_state; ++i) {
            const auto point = views::checkpoint(state, id, index, i).value();
            if (!point.opened && point.open_deadline != 0) {
                EXPECT_EQ(send(name, OpenRoots{id, index, i, {salt(index, i)}, {solver_root(i, index)}}),
                          CallStatus::ok)
                    << last.revert_reason;
            }
        }
    }
    /// The solver opens the states that the audit needs, and a beacon draws the auditors.
    void seat_auditors(const std::string& solver, std::uint64_t audit = 1) {
        ASSERT_TRUE(advance_until([&] {
            serve(solver);
            return views::audit_count(state) >= audit && !views::audit(state, audit)->seats.empty();
        }));
    }
    std::vector<std::uint64_t> open_audit_ids(std::uint64_t id, std::uint32_t index) const {
        std::vector<std::uint64_t> out;
        for (std::uint64_t a = 1; a <= views::audit_count(state); ++a) {
            const auto audit = views::audit(state, a).value();
            if (audit.task == id && audit.run == index && audit.phase != market::AuditPhase::closed) out.push_back(a);
        }
        return out;
    }
    /// All honest auditors make their due calls.
    void check_audits() {
        for (std::uint64_t a = 1; a <= views::audit_count(state); ++a) {
            const market::Audit drawn = views::audit(state, a).value();
            for (const market::Seat& seat : drawn.seats) {
                const auto audit = views::audit(state, a).value();
                const std::string name = name_of(seat.auditor);
                if (lazy.contains(name)) continue;
                const Hash32 mine = liars.contains(name) ? word("lie") : root(audit.segment + 1);
                const Hash32 secret = word("verdict " + name);
                if (audit.phase == market::AuditPhase::collecting && seat.state == market::SeatState::drawn)
                    send(name, CommitVerdict{a, solver::verdict_commitment(mine, secret, seat.auditor.bytes, a)});
                if (audit.phase == market::AuditPhase::verdicts && seat.state == market::SeatState::committed &&
                    !hiding.contains(name)) {
                    EXPECT_EQ(send(name, RevealVerdict{a, mine, secret}), CallStatus::ok) << last.revert_reason;
                }
                if (keeping && seat.state == market::SeatState::matched && !seat.paid)
                    send(name, AttestRetention{audit.task, audit.run, audit.segment + 1});
            }
        }
    }
    static std::string name_of(const Address& address) {
        for (const char* name : {"requester", "alice", "bob", "carol", "dave", "v1", "v2", "v3", "v4"})
            if (party(name) == address) return name;
        return "nobody";
    }
    /// All parties make their due calls, and the solver posts a checkpoint per block, until the run is over or
    /// delivering.
    void play(const std::string& solver, std::uint32_t index = 0, std::uint64_t id = 1, std::uint64_t limit = 200) {
        const std::uint64_t segments = views::spec(state, id)->segments();
        for (std::uint64_t i = 0; i < limit; ++i) {
            const market::Run now = run(index, id);
            if (now.state != market::RunState::running) return;
            if (now.next_state <= segments) {
                ASSERT_EQ(checkpoint(solver, now.next_state, index, id), CallStatus::ok);
            }
            serve(solver, index, id);
            check_audits();
            next_block();
        }
    }

    /// Like play, for all runs of a task at once, until the task stops running.
    void play_all(std::uint64_t id = 1, std::uint64_t limit = 200) {
        const std::uint64_t segments = views::spec(state, id)->segments();
        for (std::uint64_t i = 0; i < limit && task(id).state == market::TaskState::running; ++i) {
            for (const std::uint32_t index : task(id).active) {
                const market::Run now = run(index, id);
                const std::string name = name_of(now.solver);
                if (now.state == market::RunState::assigned) {
                    EXPECT_EQ(send(name, AcceptData{id}), CallStatus::ok);
                }
                if (now.state == market::RunState::running && now.next_state <= segments) {
                    EXPECT_EQ(checkpoint(name, now.next_state, index, id), CallStatus::ok);
                }
                serve(name, index, id);
                check_audits();
            }
            next_block();
        }
    }

    /// Three verifiers, two solvers, one task won by alice, who accepts.
    void start_run(const TaskSpec& spec = small_spec()) {
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        add_solver("alice");
        add_solver("bob");
        advance(9);
        post(spec);
        auction({{"alice", 400}, {"bob", 700}});
        ASSERT_EQ(task().state, market::TaskState::assigned);
        ASSERT_EQ(run().solver, party("alice"));
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    }

    static constexpr std::uint64_t kChain = 400;
    EmptyView nothing;
    ledger::State state{nothing};
    /// Broken invariants that the executor reported. A test that breaks one on purpose removes it.
    std::vector<std::string> broken;
    Executor executor{[this](const std::string& what) { broken.push_back(what); }};
    /// Set if the test itself damages records, so that the sums over all records are skipped.
    bool books_are_damaged = false;
    void TearDown() override { EXPECT_TRUE(broken.empty()) << broken.front(); }
    market::Params params;
    std::uint64_t height = 0;
    ledger::CallResult last;
    std::vector<ledger::Log> events;
    std::vector<Address> parties;
    std::map<std::string, std::uint64_t> chains;  ///< Steps left of each verifier's hash chain.
    /// Verifiers that make no reveals for the beacon, commit to no verdicts, commit to wrong ones, and do not reveal
    /// the verdicts that they committed to.
    std::set<std::string> silent, lazy, liars, hiding;
    bool keeping = true;          ///< Auditors attest the states that they matched, and are paid
                                  ///< for it.
    std::uint32_t wrong_run = 0;  ///< Index of the cheating run; `wrong_runs` adds more.
    std::set<std::uint32_t> wrong_runs;
    std::map<std::uint32_t, std::uint64_t> wrong_until;  ///< Runs of wrong_runs that are right from this state on.
    std::vector<Hash32> real_roots, forged_roots;
    std::uint64_t wrong_from = ~std::uint64_t{0};
};

}  // namespace retrace::contracts
