// SPDX-License-Identifier: MIT
// Tasks that start with a named state (imported weights) instead of a seeded initialiser.
#include <gtest/gtest.h>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// The tiny task with the same first state, which a peer must serve.
struct NamedTask {
    TinyTask task;
    Hash32 first;

    explicit NamedTask(bool served = true) {
        const kernels::State state = task.initial();
        const auto commitment = kernels::commit_state(task.train.root(), state, task.pool);
        if (served) task.source.put(commitment, state);
        first = commitment.root;
        task.terms.init_root = {};
        task.terms.initial_state_root = first;
    }
};

TEST(NamedStart, IsFetchedBeforeTheRunIsAcceptedAndLeadsToTheSameStates) {
    TinyTask seeded;
    SolverParty plain(seeded, solver::honest_runners());
    MiniChain(seeded, plain, {}).run(30);

    NamedTask named;
    SolverParty solver(named.task, solver::honest_runners());
    StoreSource source(named.task.source, *solver.store, named.task.pool);
    VerifierParty checker(named.task, source, 1, std::nullopt);
    MiniChain chain(named.task, solver, {&checker});
    chain.run(120);
    EXPECT_TRUE(chain.accepted);
    ASSERT_EQ(chain.audits.size(), 3u);
    EXPECT_EQ(chain.audits[0].start, named.first);
    EXPECT_TRUE(chain.disputes.empty());
    for (const std::uint64_t index : {0, 1, 2, 3})
        EXPECT_EQ(solver.store->commitment({5, 0, index})->root, plain.store->commitment({5, 0, index})->root) << index;
}

TEST(NamedStart, ThatNobodyServesIsTriedAgainAndThenDeclined) {
    NamedTask named(false);
    SolverParty solver(named.task, solver::honest_runners());
    MiniChain chain(named.task, solver, {});
    chain.run(15);
    EXPECT_FALSE(chain.declined) << "a peer may be restarting";
    chain.run(30);
    EXPECT_TRUE(chain.declined);
    EXPECT_FALSE(chain.accepted);
}

TEST(NamedStart, WithOtherBytesBehindTheRootIsDeclined) {
    NamedTask named;
    for (auto& [root, tensor] : named.task.source.tensors)
        if (tensor.dtype == kernels::DType::f32 && !tensor.data.empty()) tensor.data[0] ^= 1;
    SolverParty solver(named.task, solver::honest_runners());
    MiniChain chain(named.task, solver, {});
    chain.run(50);
    EXPECT_TRUE(chain.declined);
}

TEST(NamedStart, OfASuccessorIsReportedToItsKeepersBeforeTheRunIsGivenUp) {
    NamedTask named(false);
    SolverParty solver(named.task, solver::honest_runners());
    solver::SolverView view;
    view.height = 1;
    solver::RunView run;
    run.terms = named.task.terms;
    run.run = 3;
    run.may_accept = true;
    run.first_state = run.next_state = 2;
    run.first_root = named.first;
    run.may_report_kept = 1;
    view.runs.push_back(run);
    std::vector<solver::SolverMove> moves;
    const auto play = [&](int blocks) {
        moves.clear();
        for (int i = 0; i < blocks; ++i, ++view.height) {
            auto out = solver.agent->on_view(view);
            for (auto& move : out.moves) moves.push_back(std::move(move));
            if (out.work) solver.agent->on_done(out.work->run());
        }
    };
    play(5);
    ASSERT_EQ(moves.size(), 1u);
    const auto* report = std::get_if<solver::ReportKept>(&moves[0]);
    ASSERT_NE(report, nullptr);
    EXPECT_EQ(report->run, 1u);
    EXPECT_EQ(report->index, 2u);
    view.runs[0].may_report_kept.reset();  // used up, or not answered
    play(60);
    ASSERT_FALSE(moves.empty());
    EXPECT_TRUE(std::holds_alternative<solver::Decline>(moves.back()));
}

}  // namespace
}  // namespace retrace::test
