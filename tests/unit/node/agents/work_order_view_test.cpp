// SPDX-License-Identifier: MIT
// What agents see of their place in the order of work (contracts 18.2): their own seats, sides of disputes and reports.
#include <gtest/gtest.h>

#include <map>

#include "contracts/records/store.hpp"
#include "node/agents/views.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using Ids = contracts::ListOf<std::uint64_t>;

/// A view of records that a test puts.
class PutState final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address& contract, View key) const override {
        const auto found = slots_.find({contract, to_bytes(key)});
        return found == slots_.end() ? Bytes{} : found->second;
    }
    void put(const keys::Key& key, Bytes bytes) {
        slots_[{contracts::address_of(key.contract), key.bytes}] = std::move(bytes);
    }
    template <class T>
    void put(const keys::Key& key, const T& record) {
        put(key, market::encode_record(record));
    }

private:
    std::map<std::pair<ledger::Address, Bytes>, Bytes> slots_;
};

/// A solver and an auditor of its first segment are in dispute about it; a state of each of them is reported.
struct WorkOrderView : ::testing::Test {
    const ledger::Address solver{{1}}, auditor{{2}};
    market::Params params;
    PutState state;
    Immutable immutable;

    WorkOrderView() {
        state.put(keys::params(), params);
        market::TaskSpec spec;
        spec.program_root = spec.init_root = Hash32{{1}};
        spec.program_bytes = spec.interval = spec.finish_blocks = 1;
        spec.steps = 4;
        spec.price_ceiling = ledger::U256(1);
        spec.audit_bp = spec.auditors = spec.replicas = 1;
        state.put(keys::spec(1), spec);
        market::Task task;
        task.id = 1;
        task.state = market::TaskState::running;
        task.active = {0};
        state.put(keys::task(1), task);
        market::Run run;
        run.task = 1;
        run.solver = solver;
        run.state = market::RunState::running;
        run.next_state = 3;
        state.put(keys::run(1, 0), run);
        state.put(keys::open_runs(solver), contracts::ListOf<contracts::views::RunId>{{{1, 0}}});
        market::Segment segment;
        segment.state = market::SegmentState::auditing;
        segment.audit = 1;
        segment.window_end = 801;
        state.put(keys::segment(1, 0, 0), segment);
        market::Checkpoint point;
        point.opened = true;
        point.root = Hash32{{5}};
        state.put(keys::checkpoint(1, 0, 0), point);
        point.keepers = {auditor};
        state.put(keys::checkpoint(1, 0, 2), point);
        put_audit();
        put_dispute(market::DisputeKind::audit, auditor);
        put_reports();
    }
    void put_audit() {
        market::Audit audit;
        audit.id = audit.task = 1;
        audit.phase = market::AuditPhase::collecting;
        audit.deadline = 500;
        market::Seat other, own;
        other.auditor = ledger::Address{{3}};
        own.auditor = auditor;
        own.state = other.state = market::SeatState::drawn;
        own.due = 310;
        other.due = 290;
        audit.seats = {other, own};
        state.put(keys::audit(1), audit);
        state.put(keys::open_audits(auditor), Ids{{1}});
    }
    void put_dispute(market::DisputeKind kind, const ledger::Address& challenger) {
        market::Dispute dispute;
        dispute.id = dispute.task = 1;
        dispute.kind = kind;
        dispute.state = market::DisputeState::open;
        dispute.solver = solver;
        dispute.challenger = challenger;
        dispute.claimed_root = Hash32{{6}};
        dispute.solver_due = 620;
        dispute.challenger_due = 630;
        state.put(keys::dispute(1), dispute);
        const verifier::Claim claim{false, 0, 1, Hash32{{5}}, Hash32{{7}}};
        state.put(keys::game(1), verifier::encode(verifier::start({}, claim)));
        state.put(keys::open_disputes(challenger), Ids{{1}});
        state.put(keys::run_disputes(1, 0), Ids{{1}});
    }
    void put_reports() {
        market::Report report;
        report.task = 1;
        report.state = market::ReportState::open;
        report.index = 2;
        for (const auto& [id, kind] : {std::pair{1, market::ReportKind::state}, {2, market::ReportKind::kept}}) {
            report.id = static_cast<std::uint64_t>(id);
            report.kind = kind;
            report.deadline = 700 + 10 * report.id + params.answer_blocks;
            state.put(keys::report(report.id), report);
        }
        state.put(keys::open_reports(1), Ids{{1, 2}});
    }
};

TEST_F(WorkOrderView, OfAVerifierIsOfItsOwnSeatSideAndReport) {
    Seats seats;
    const auto view = verifier_view(state, 100, auditor, seats, immutable, false, {{1, 0, 2}});
    ASSERT_EQ(view.audits.size(), 1u);
    EXPECT_EQ(view.audits[0].due, 310u);
    ASSERT_EQ(view.initials.size(), 1u);
    EXPECT_TRUE(view.initials[0].assigned);
    EXPECT_EQ(view.initials[0].due, 310u);
    EXPECT_EQ(view.initials[0].deadline, 800u);
    ASSERT_EQ(view.disputes.size(), 1u);
    EXPECT_EQ(view.disputes[0].due, 630u);
    EXPECT_EQ(view.disputes[0].claimed_root, (Hash32{{6}}));
    ASSERT_EQ(view.reports.size(), 1u);
    EXPECT_EQ(view.reports[0].deadline, 720 + params.answer_blocks);
    EXPECT_EQ(view.reports[0].due, 720u);
}

/// Otherwise a verifier deletes its states of the segment, and loses its dispute when the solver no longer serves them.
TEST_F(WorkOrderView, OfAVerifierHoldsASeatThatWaitsForItsDispute) {
    auto audit = *contracts::views::audit(state, 1);
    audit.phase = market::AuditPhase::closed;
    for (market::Seat& seat : audit.seats) seat.state = market::SeatState::mismatched;
    audit.waiting = {1};
    state.put(keys::audit(1), audit);
    Seats seats;
    for (int i = 0; i < 2; ++i) {
        const auto view = verifier_view(state, 100, auditor, seats, immutable);
        ASSERT_EQ(view.audits.size(), 1u);
        EXPECT_FALSE(view.audits[0].may_commit || view.audits[0].may_reveal || view.audits[0].may_report);
    }
    audit.waiting = {};
    state.put(keys::audit(1), audit);
    state.put(keys::open_audits(auditor), Ids{});
    EXPECT_TRUE(verifier_view(state, 100, auditor, seats, immutable).audits.empty());
    EXPECT_TRUE(seats.audits().empty());
}

TEST_F(WorkOrderView, OfASolverIsOfItsOwnSideAndReport) {
    const auto view = solver_view(
        state, 100, solver, [](std::uint64_t, const market::TaskSpec&) { return Quote{}; }, immutable);
    ASSERT_EQ(view.runs.size(), 1u);
    ASSERT_EQ(view.runs[0].reports.size(), 1u);
    EXPECT_EQ(view.runs[0].reports[0].due, 710u);
    const auto disputes = dispute_views(state, solver, immutable);
    ASSERT_EQ(disputes.size(), 1u);
    EXPECT_EQ(disputes[0].due, 620u);
}

/// A requester chooses replay_blocks freely: a solver that accepts what it cannot commit in time loses stake.
TEST_F(WorkOrderView, ASegmentHasToFitTheTimeToACheckpointToo) {
    market::SolverInfo info;
    info.capability = 1'000;
    state.put(keys::solver(solver), info);
    auto spec = *contracts::views::spec(state, 1);
    auto run = *contracts::views::run(state, 1, 0);
    run.state = market::RunState::assigned;
    run.next_state = 0;
    const auto able = [&](std::uint64_t replay, std::uint64_t checkpoint) {
        spec.replay_blocks = replay;
        spec.checkpoint_blocks = checkpoint;
        state.put(keys::spec(1), spec);
        state.put(keys::run(1, 0), run);
        Immutable fresh;
        const auto view = solver_view(
            state, 100, solver, [](std::uint64_t, const market::TaskSpec&) { return Quote{}; }, fresh);
        return view.runs.at(0).replay_cost_max;
    };
    EXPECT_EQ(able(100'000, 600), 600'000u) << "to a checkpoint";
    EXPECT_EQ(able(0, 100'000), params.verdict_blocks * 4'000) << "auditors, with the slack of auctions";
    info.capability = 0;
    state.put(keys::solver(solver), info);
    EXPECT_EQ(able(100'000, 600), 0u) << "not measured";
}

/// It has only the states of its own run, in which the segment starts from the same state (contracts 15.8).
TEST_F(WorkOrderView, AReplicaThatAccusesBeginsWithTheStatesOfItsOwnRun) {
    const ledger::Address replica{{4}};
    market::Run run;
    run.task = 1;
    run.index = 3;
    run.solver = replica;
    run.state = market::RunState::running;
    run.first_state = 2;
    run.first_root = Hash32{{8}};
    state.put(keys::run(1, 3), run);
    state.put(keys::open_runs(replica), contracts::ListOf<contracts::views::RunId>{{{1, 3}}});
    put_dispute(market::DisputeKind::replica, replica);
    const auto accuser = dispute_views(state, replica, immutable);
    ASSERT_EQ(accuser.size(), 1u);
    EXPECT_EQ(accuser[0].run, 0u);
    EXPECT_EQ(accuser[0].own_run, 3u);
    EXPECT_EQ(accuser[0].first_state, 2u);
    EXPECT_EQ(accuser[0].first_root, (Hash32{{8}}));
    const auto accused = dispute_views(state, solver, immutable);
    ASSERT_EQ(accused.size(), 1u);
    EXPECT_EQ(accused[0].own_run, 0u);
    EXPECT_EQ(accused[0].first_state, 0u);
}

/// This holds even while its own segments are finalised and paid, because another replica may still differ about them.
TEST_F(WorkOrderView, StatesAreKeptAsLongAsAnyReplicaMayDisputeFromThem) {
    const auto keep_from = [&] {
        const auto quote = [](std::uint64_t, const market::TaskSpec&) { return Quote{}; };
        return solver_view(state, 100, solver, quote, immutable).runs.at(0).keep_from;
    };
    market::Run run = contracts::views::run(state, 1, 0).value();
    run.finalised = run.paid = 3;
    state.put(keys::run(1, 0), run);
    EXPECT_EQ(keep_from(), 3u);
    market::Run behind = run;
    behind.index = 1;
    behind.finalised = 2;
    behind.paid = 1;
    state.put(keys::run(1, 1), behind);
    market::Task task = contracts::views::task(state, 1).value();
    task.active = {0, 1};
    state.put(keys::task(1), task);
    EXPECT_EQ(keep_from(), 1u);
    task.active = {0};
    task.wanted = 1;
    task.joining_state = 2;
    state.put(keys::task(1), task);
    EXPECT_EQ(keep_from(), 2u) << "a replica may join there";
}

TEST_F(WorkOrderView, OfAnInitialStateThatIsOnlyWatchedIsNone) {
    state.put(keys::open_audits(auditor), Ids{});
    state.put(keys::active_tasks(), Ids{{1}});
    Seats seats;
    const auto view = verifier_view(state, 100, auditor, seats, immutable, true);
    ASSERT_EQ(view.initials.size(), 1u);
    EXPECT_FALSE(view.initials[0].assigned);
}

}  // namespace
}  // namespace retrace::node
