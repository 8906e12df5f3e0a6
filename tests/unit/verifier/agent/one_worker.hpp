// SPDX-License-Identifier: MIT
// A verifier with one worker and a solver's complete run, to test the order and the duration of its work.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {

using namespace verifier;

inline constexpr std::uint64_t kSegment = 6;  // steps

/// Calls back between two ops, when the token is polled.
class HeardInitialiser final : public solver::ProgramRunner {
public:
    HeardInitialiser(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                     std::function<void()>& between)
        : ProgramRunner(program, std::move(inputs), pool), between_(between) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        return ProgramRunner::attempt(state, [&] {
            between_();
            return stop.stop_requested();
        });
    }

private:
    std::function<void()>& between_;
};

/// Calls back before each step.
class HookedRunner final : public solver::ProgramRunner {
public:
    HookedRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                 std::function<void()>& before)
        : ProgramRunner(program, std::move(inputs), pool), before_(before) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        before_();
        return ProgramRunner::attempt(state, stop);
    }

private:
    std::function<void()>& before_;
};

/// A solver that has trained task 5, which the verifier sees as tasks 5 and 6.
struct OneWorker : ::testing::Test {
    TinyTask task{4 * kSegment, kSegment};
    std::unique_ptr<SolverParty> solver;
    std::unique_ptr<StoreSource> source;
    std::unique_ptr<VerifierParty> party;
    std::unique_ptr<solver::TaskCache> task_cache;
    std::unique_ptr<VerifierAgent> agent;
    VerifierView view;
    std::size_t steps = 0;
    std::function<void()> before_step = [this] { ++steps; };
    std::function<void()> in_initialiser = [] {};
    std::chrono::milliseconds timeout{10'000};

    void begin(solver::RunnerFactory runners = solver::honest_runners()) {
        solver = std::make_unique<SolverParty>(task, std::move(runners));
        MiniChain(task, *solver, {}).run(40);
        source = std::make_unique<StoreSource>(task.source, *solver->store, task.pool);
        party = std::make_unique<VerifierParty>(task, *source, 1, std::nullopt);
        task_cache = std::make_unique<solver::TaskCache>(
            *source, task.pool,
            [this](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                   kernels::ThreadPool& pool) {
                return std::make_unique<HookedRunner>(program, std::move(inputs), pool, before_step);
            },
            UINT64_MAX,
            [this](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                   kernels::ThreadPool& pool) {
                return std::make_unique<HeardInitialiser>(program, std::move(inputs), pool, in_initialiser);
            });
        VerifierConfig config;
        config.secret = party->secret;
        config.address = party->address;
        config.beacon_length = 4;
        config.watch_bp = 10'000;
        config.step_timeout = timeout;
        agent = std::make_unique<VerifierAgent>(config, *task_cache, *party->store);
        view.height = 100;
    }
    Hash32 root(std::uint64_t index) const { return solver->store->commitment({5, 0, index})->root; }
    solver::TaskTerms terms(std::uint64_t id) const {
        solver::TaskTerms out = task.terms;
        out.id = id;
        return out;
    }
    void sit(std::uint64_t audit, std::uint64_t id, std::uint64_t segment, std::uint64_t deadline) {
        AuditView seat;
        seat.id = audit;
        seat.terms = terms(id);
        seat.segment = segment;
        seat.start_root = root(segment);
        seat.may_commit = true;
        seat.fetch_by = deadline;
        seat.deadline = deadline;
        view.audits.push_back(seat);
    }
    /// Passes to the next block.
    Verifier::Output next() {
        ++view.height;
        return agent->on_view(view);
    }
    /// Runs the order. Before step number `at`, a block arrives whose view is modified by `change`.
    void run(const VerifierWork& order, std::size_t at, std::function<void()> change) {
        const std::size_t stop = steps + at;
        before_step = [this, stop, change = std::move(change)] {
            if (++steps != stop) return;
            change();
            EXPECT_FALSE(next().work) << "one order at a time";
        };
        agent->on_done(order.run());
        before_step = [this] { ++steps; };
    }
    void run(const VerifierWork& order) { agent->on_done(order.run()); }
    std::vector<std::uint64_t> committed(const Verifier::Output& out) const {
        std::vector<std::uint64_t> audits;
        for (const VerifierMove& move : out.moves)
            if (const auto* commit = std::get_if<CommitVerdict>(&move)) audits.push_back(commit->audit);
        return audits;
    }
    /// A dispute about a segment in which it is this party's turn to move.
    DisputeView dispute_of(std::uint64_t id, std::uint64_t segment, std::uint64_t deadline) {
        const solver::TaskTerms& terms = task.terms;
        const Facts facts{terms.contract, terms.program_root, terms.program_root, terms.seed, terms.data_roots};
        const Claim claim{false, segment * kSegment, (segment + 1) * kSegment, root(segment), root(segment + 1)};
        Game game = start(facts, claim);
        PostHashes hashes;
        hashes.hashes.resize(search_positions(game.search).size());
        EXPECT_TRUE(apply(game, Side::solver, Move{hashes}).has_value());
        DisputeView out;
        out.id = id;
        out.terms = terms;
        out.segment = segment;
        out.side = Side::challenger;
        out.game = game;
        out.deadline = deadline;
        return out;
    }
    using Audits = std::vector<std::uint64_t>;
};

}  // namespace retrace::test
