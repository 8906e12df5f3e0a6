// SPDX-License-Identifier: MIT
// One worker, many deadlines: what is due first goes first, and a long replay does not keep it waiting.
// SPEC 8.6.
#include <gtest/gtest.h>

#include "tests/unit/verifier/mini_chain.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

constexpr std::uint64_t kSegment = 6;  // steps

/// Says before each step that it is about to be made.
class HeardRunner final : public solver::ProgramRunner {
public:
    HeardRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                std::function<void()>& before)
        : ProgramRunner(program, std::move(inputs), pool), before_(before) {}
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::GoOn& go_on) override {
        before_();
        return ProgramRunner::attempt(state, go_on);
    }

private:
    std::function<void()>& before_;
};

/// A solver that has trained task 5, which is told to the verifier as tasks 5 and 6.
struct Urgency : ::testing::Test {
    TinyTask task{4 * kSegment, kSegment};
    std::unique_ptr<SolverParty> solver;
    std::unique_ptr<StoreSource> source;
    std::unique_ptr<VerifierParty> party;
    std::unique_ptr<solver::Workshop> workshop;
    std::unique_ptr<VerifierAgent> agent;
    VerifierView view;
    std::size_t steps = 0;
    std::function<void()> before_step = [this] { ++steps; };
    std::chrono::milliseconds patience{10'000};

    void begin(solver::RunnerFactory runners = solver::honest_runners()) {
        solver = std::make_unique<SolverParty>(task, std::move(runners));
        MiniChain(task, *solver, {}).run(40);
        source = std::make_unique<StoreSource>(task.source, *solver->store, task.pool);
        party = std::make_unique<VerifierParty>(task, *source, 1, std::nullopt);
        workshop = std::make_unique<solver::Workshop>(
            *source, task.pool,
            [this](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                   kernels::ThreadPool& pool) {
                return std::make_unique<HeardRunner>(program, std::move(inputs), pool, before_step);
            });
        VerifierConfig config;
        config.secret = party->secret;
        config.address = party->address;
        config.beacon_length = 4;
        config.watch_bp = 10'000;
        config.step_patience = patience;
        agent = std::make_unique<VerifierAgent>(config, *workshop, *party->store);
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
    /// The next block.
    Verifier::Output next() {
        ++view.height;
        return agent->on_view(view);
    }
    /// Runs the order. In the middle of it, before step number `at`, a block comes with what `change` makes
    /// of the view.
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
    using Audits = std::vector<std::uint64_t>;
};

TEST_F(Urgency, the_seat_that_is_due_first_goes_first) {
    begin();
    sit(10, 5, 1, 500);
    sit(11, 6, 2, 140);
    sit(12, 6, 3, 0);
    for (const char* name :
         {"replay task 6 segment 2", "replay task 5 segment 1", "replay task 6 segment 3"}) {
        const auto out = next();
        ASSERT_TRUE(out.work);
        EXPECT_EQ(out.work->what, name);
        run(*out.work);
    }
}

TEST_F(Urgency, a_long_replay_is_put_off_for_a_seat_that_is_due_earlier_and_goes_on_where_it_was) {
    begin();
    sit(10, 5, 1, 5'000);
    auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 3, [&] { sit(11, 6, 2, 140); });
    EXPECT_EQ(steps, 3u) << "the step that had begun is the last";
    EXPECT_TRUE(agent->take_problems().empty());
    out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 6 segment 2");
    run(*out.work);
    out = next();
    EXPECT_EQ(committed(out), Audits{11});
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    EXPECT_EQ(steps, 2 * kSegment) << "no step was made twice";
    EXPECT_EQ(committed(next()), Audits{10});
    for (const auto& [id, index] : {std::pair{5, 2}, std::pair{6, 3}})
        EXPECT_EQ(party->store->commitment({std::uint64_t(id), 0, std::uint64_t(index)})->root, root(index));
}

TEST_F(Urgency, a_step_that_takes_too_long_is_left_between_two_ops_and_its_segment_begun_again) {
    patience = std::chrono::milliseconds(0);
    begin();
    sit(10, 5, 1, 5'000);
    run(*next().work, 3, [&] { sit(11, 6, 2, 140); });
    EXPECT_EQ(steps, 3u);
    EXPECT_TRUE(agent->take_problems().empty());
    run(*next().work);
    auto out = next();
    EXPECT_EQ(committed(out), Audits{11});
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "replay task 5 segment 1");
    run(*out.work);
    EXPECT_EQ(steps, 3 + 2 * kSegment) << "three steps were for nothing";
    EXPECT_EQ(committed(next()), Audits{10});
    EXPECT_EQ(party->store->commitment({5, 0, 2})->root, root(2));
}

TEST_F(Urgency, a_seat_that_is_due_later_waits) {
    begin();
    sit(10, 5, 1, 140);
    const auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, 3, [&] { sit(11, 6, 2, 141); });
    EXPECT_EQ(steps, kSegment);
    EXPECT_EQ(committed(next()), Audits{10});
}

TEST_F(Urgency, of_one_task_one_state_is_kept) {
    begin();
    sit(10, 5, 1, 5'000);
    run(*next().work, 3, [&] { sit(11, 5, 2, 400); });
    run(*next().work, 2, [&] { sit(12, 6, 3, 140); });
    EXPECT_EQ(steps, 5u);
    for (int i = 0; i < 3; ++i) run(*next().work);
    EXPECT_EQ(steps, 3 * kSegment + 3) << "the first began anew, the second went on";
    EXPECT_EQ(committed(next()).size(), 1u);
}

/// Disk and memory of a verifier that always has something to do do not grow.
TEST_F(Urgency, what_no_view_asks_for_is_deleted_although_there_is_other_work) {
    begin();
    sit(10, 5, 1, 140);
    run(*next().work);
    EXPECT_FALSE(party->store->runs().empty());
    view.audits.clear();
    sit(11, 6, 2, 140);
    ASSERT_TRUE(next().work);
    EXPECT_TRUE(party->store->runs().empty());
}

TEST_F(Urgency, what_nobody_asked_for_is_put_off_and_finds_what_it_would_have_found) {
    begin(solver::fraud_runners(solver::Fraud::ulp));
    view.watch.push_back({task.terms, 0, 3, root(3), root(4)});
    auto out = next();
    ASSERT_TRUE(out.work);
    run(*out.work, kSegment + 2, [&] { sit(11, 6, 1, 0); });
    EXPECT_EQ(steps, kSegment + 2) << "in the second replay, by a seat without any deadline";
    run(*next().work);
    out = next();
    EXPECT_EQ(committed(out), Audits{11});
    ASSERT_TRUE(out.work);
    run(*out.work);
    EXPECT_EQ(steps, 3 * kSegment);
    const auto moves = next().moves;
    ASSERT_EQ(moves.size(), 1u);
    const auto* challenge = std::get_if<ChallengeSegment>(&moves[0]);
    ASSERT_NE(challenge, nullptr);
    EXPECT_EQ(challenge->segment, 3u);
    EXPECT_TRUE(agent->take_problems().empty());
}

/// A dispute about a segment in which it is this party's turn.
DisputeView dispute_of(Urgency& at, std::uint64_t id, std::uint64_t segment, std::uint64_t deadline) {
    const solver::TaskTerms& terms = at.task.terms;
    const Facts facts{terms.contract, terms.program_root, terms.program_root, terms.seed, terms.data_roots};
    const Claim claim{false, segment * kSegment, (segment + 1) * kSegment, at.root(segment),
                      at.root(segment + 1)};
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

TEST_F(Urgency, a_dispute_puts_a_replay_off) {
    begin();
    sit(10, 6, 1, 140);
    run(*next().work, 3, [&] { view.disputes.push_back(dispute_of(*this, 1, 2, 900)); });
    EXPECT_EQ(steps, 3u);
    const auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 1");
}

TEST_F(Urgency, of_disputes_the_one_that_is_due_first_goes_first) {
    begin();
    view.disputes.push_back(dispute_of(*this, 1, 1, 900));
    view.disputes.push_back(dispute_of(*this, 2, 2, 800));
    const auto out = next();
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->what, "move in dispute 2");
}

}  // namespace
}  // namespace retrace::test
