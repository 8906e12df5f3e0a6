// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <tuple>

#include "contracts/lifecycle/isolate.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/odds.hpp"
#include "market/work.hpp"
#include "node/agents/group_views.hpp"
#include "solver/capability/program.hpp"

namespace retrace::node {
namespace {

using market::AuditPhase;
using market::RunState;
using market::SegmentState;
using market::TaskState;
namespace views = contracts::views;

void add_auction(const ledger::StateView& view, std::uint64_t next, const ledger::Address& self, const Pricing& pricing,
                 const market::Params& params, const market::Task& task, const market::TaskSpec& spec,
                 Immutable& immutable, solver::SolverView& out) {
    for (const views::RunId& id : views::open_runs(view, self))
        if (id.task == task.id) return;  // The solver already runs the task.
    const auto bid = views::bid(view, task.id, self);
    solver::AuctionView auction;
    auction.terms = terms_of(task.id, spec, immutable.group(view, task.id));
    auction.round = task.round;
    auction.may_commit = !bid && next >= views::bids_begin(params, task) && next < task.bid_end;
    auction.may_reveal = bid && !bid->revealed && next >= task.bid_end && next < task.reveal_end;
    if (!auction.may_commit && !auction.may_reveal) return;
    // A committed bid is revealed at any price: its deposit would be lost otherwise.
    if (auction.may_commit && !pricing(task.id, spec).price) return;
    out.auctions.push_back(std::move(auction));
}

/// Adds the openings and reveals that the audits of one segment require from the solver.
void add_segment(const ledger::StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index,
                 solver::RunView& out) {
    const auto segment = views::segment(view, task, run, index);
    if (!segment) return;
    if (segment->state == SegmentState::auditing) {
        const auto audit = views::audit(view, segment->audit);
        // In a group with masks the start may be open: the audit waits for those over the message (contracts 21.11.33).
        const std::uint64_t from = views::start_of_segment(view, task, run, index);
        const auto start = views::checkpoint(view, task, run, from);
        if (audit && audit->phase == AuditPhase::opening && start && !start->opened) out.open_segments.push_back(from);
        if (audit && audit->phase == AuditPhase::revealing && audit->deadline != 0) {
            out.reveal_segments.push_back(index + 1);
        }
        return;
    }
    // The first state of a run whose first segment nobody audits: that of a private group (contracts 21.13.6). Any other start
    // is the end of the segment before.
    const auto start = views::checkpoint(view, task, run, index);
    if (index == 0 && start && !start->opened && start->open_deadline != 0) out.open_roots.push_back(0);
    const auto end = views::checkpoint(view, task, run, index + 1);
    if (end && !end->opened && end->open_deadline != 0) out.open_roots.push_back(index + 1);
}

/// Returns the run whose keepers may be asked for the state from which `run` starts.
std::optional<std::uint32_t> maker_of_first_state(const ledger::StateView& view, const market::Run& run,
                                                  const market::Params& params) {
    const bool starting = run.first_state != 0 && run.next_state == run.first_state;
    if (!starting || run.reports >= params.reports || reports_pending(view, run.task, run.solver)) return std::nullopt;
    for (std::uint32_t index = run.index; index-- > 0;) {
        const auto made = views::checkpoint(view, run.task, index, run.first_state);
        if (made && made->root == run.first_root && !made->keepers.empty()) return index;
    }
    return std::nullopt;
}

/// Returns the newest finalised state if nobody keeps one and its retention costs at most a quarter of the payment that
/// it makes possible.
std::optional<std::uint64_t> unkept_state(const ledger::StateView& view, const market::Run& run,
                                          const market::TaskSpec& spec, const market::Params& params) {
    constexpr std::uint64_t kWorth = 4;
    if (run.state != RunState::running || run.finalised <= run.paid || run.finalised == spec.segments() ||
        !run.retained.empty())
        return std::nullopt;
    const ledger::U256 due = run.price * ledger::U256(run.finalised - run.paid);
    const auto state = views::checkpoint(view, run.task, run.index, run.finalised);
    if (due < params.audit_fee * ledger::U256(kWorth) || !state || !state->opened || !state->keepers.empty())
        return std::nullopt;
    bool offered = false;
    for (const std::uint64_t id : views::open_retentions(view, run.task)) {
        const auto offer = views::retention(view, id);
        offered = offered || !offer || offer->run == run.index;
    }
    if (offered) return std::nullopt;  // One offer at a time.
    return run.finalised;
}

/// Multiply-adds in `blocks` blocks at `bp` basis points of the measured speed; 0: not measured.
std::uint64_t multiply_adds_in(const ledger::StateView& view, const ledger::Address& solver, std::uint64_t blocks,
                               std::uint64_t bp) {
    const auto info = views::solver(view, solver);
    if (!info) return 0;
    const ledger::U256 able =
        ledger::mul_div(ledger::U256(info->capability), ledger::U256(blocks) * ledger::U256(bp), market::kBasisPoints);
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    return able < ledger::U256(kMost) ? able.low64() : kMost;
}

/// Part of `replay_cost_max`. A task may run faster than the benchmark by the slack with which bids are judged.
std::uint64_t replay_capacity(const ledger::StateView& view, const ledger::Address& solver,
                              const market::TaskSpec& spec, const market::Params& params) {
    return multiply_adds_in(view, solver, params.verdict_blocks + spec.replay_blocks, params.capability_slack_bp);
}

/// Multiply-adds in the time to a checkpoint; 0: not measured. There is no slack, because a stake depends on it. A
/// requester chooses replay_blocks freely, so what auditors can replay does not bound this. The height by which a run
/// finishes does not bound it either: it moves on with the machine's time that others' duties take.
std::uint64_t own_capacity(const ledger::StateView& view, const market::Run& run, const market::TaskSpec& spec,
                           const market::Params& params) {
    const std::uint64_t longest = std::max(params.checkpoint_blocks, spec.checkpoint_blocks);
    return multiply_adds_in(view, run.solver, longest, market::kBasisPoints);
}

/// Value of `dispute_cost_max`. There is no slack, because a stake depends on it. One block of each move is left for
/// its way to the chain.
std::uint64_t dispute_capacity(const ledger::StateView& view, const ledger::Address& solver,
                               const market::TaskSpec& spec, const market::Params& params) {
    const std::uint64_t thinking = params.moves * (std::max<std::uint64_t>(params.move_blocks, 1) - 1);
    const std::uint64_t work = market::dispute_work(spec, market::DisputeKind::challenge);
    return multiply_adds_in(view, solver, thinking + work, market::kBasisPoints);
}

/// Returns the lowest state that may still be asked for: for this run, or because a replica that is behind or may yet
/// join opens another end of a segment that is finalised here (contracts 15.8).
std::uint64_t keep_from(const ledger::StateView& view, const market::Task& task, const market::Run& run) {
    std::uint64_t out = std::min(run.paid, run.finalised);
    for (const std::uint32_t index : task.active) {
        const auto other = index == run.index ? std::nullopt : views::run(view, task.id, index);
        if (other) out = std::min({out, other->paid, other->finalised});
    }
    return task.wanted != 0 ? std::min(out, views::joining_state(view, task).index) : out;
}

/// What differs in the run of a member: only its first state is committed as other runs' states are, it is paid without
/// keepers, and nobody waits for its states.
void make_member(const ledger::StateView& view, const market::Task& task, const market::Run& run, Immutable& immutable,
                 solver::RunView& out) {
    out.member = member_view(view, run, immutable);
    out.may_commit = out.may_commit && run.next_state == 0 && views::has_data(view, run.task, run.index);
    set_member_data(view, run.index, out.terms);
    out.unkept.reset();
    out.keep_from = std::min(keep_for_joiners(view, task, run), keep_for_rollbacks(view, run));
}

solver::RunView run_view(const ledger::StateView& view, std::uint64_t next, const market::Task& task,
                         const market::Run& run, const market::TaskSpec& spec, const market::Params& params,
                         Immutable& immutable) {
    solver::RunView out;
    out.terms = terms_of(run.task, spec, immutable.group(view, run.task));
    out.run = run.index;
    // Work that its solver was given since moves what is due (contracts 18.4).
    const std::uint64_t deadline = contracts::moved_deadline(view, params, run);
    out.may_accept = run.state == RunState::assigned && next <= deadline;
    out.first_state = run.first_state;
    out.first_root = run.first_root;
    out.accept_by = run.state == RunState::assigned ? deadline : 0;
    out.deadline = deadline;
    out.may_report_kept = maker_of_first_state(view, run, params);
    std::tie(out.replay_cost_max, out.dispute_cost_max) = capacities(view, run.solver, spec, params);
    // A member's deadline is that of its round, which bounds the steps and not the segment.
    if (!out.terms.group) {
        out.replay_cost_max = std::min(out.replay_cost_max, own_capacity(view, run, spec, params));
        out.stated_cost = spec.step_cost;
    }
    out.unkept = unkept_state(view, run, spec, params);
    out.next_state = run.next_state;
    // 13.8.12: a run that has waited too long for auditors commits nothing more until it has some.
    const bool waits = run.unaudited_since != 0 && next >= run.unaudited_since + params.unaudited_blocks;
    const bool stopped = views::is_stopped(view, run.task, run.index);  // 13.7.1
    out.spot = spec.spot;
    out.given_back = views::is_given_back(view, run.task, run.index);
    out.may_commit =
        run.state == RunState::running && run.next_state <= spec.segments() && !waits && !stopped && !out.given_back;
    // Only so many states exist, whatever a node says.
    const std::uint64_t next_state = std::min(run.next_state, out.terms.schedule.segments() + 1);
    for (std::uint64_t i = run.finalised; i + 1 < next_state; ++i) add_segment(view, run.task, run.index, i, out);
    for (const std::uint64_t id : views::open_reports(view, run.task)) {
        const auto report = views::report(view, id);
        if (!report || report->run != run.index || report->state != market::ReportState::open ||
            report->kind == market::ReportKind::kept)
            continue;
        out.reports.push_back({id, static_cast<solver::ReportKind>(report->kind), report->index, report->tensor,
                               report->tile, report->deadline, due_of(*report, params)});
    }
    out.keep_from = keep_from(view, task, run);
    if (out.terms.group) make_member(view, task, run, immutable, out);
    return out;
}

/// Returns the capability challenge that waits for a move of this solver.
std::optional<solver::ChallengeView> challenge_view(const ledger::StateView& view, std::uint64_t next,
                                                    const ledger::Address& self, const market::Params& params) {
    const auto info = views::solver(view, self);
    const auto challenge = info && info->challenge != 0 ? views::challenge(view, info->challenge) : std::nullopt;
    if (!challenge || challenge->deadline == 0 || next > challenge->deadline) return std::nullopt;
    solver::ChallengeView out;
    out.id = challenge->id;
    out.seed = challenge->seed;
    // The other half of the window is left for the answer's way to the chain.
    out.stop_height = challenge->seed_height + (params.capability_blocks + 1) / 2;
    out.may_answer = challenge->state == market::ChallengeState::running;
    out.may_prove = challenge->state == market::ChallengeState::proving;
    if (!out.may_answer && !out.may_prove) return std::nullopt;
    if (out.may_prove) {
        out.rounds = challenge->rounds;
        out.draws = solver::capability_draws(challenge->draw_beacon, challenge->id, challenge->rounds,
                                             static_cast<std::uint32_t>(params.capability_draws));
    }
    return out;
}

/// Returns the states that a run opened beyond its first segment that waits for auditors; empty while that segment has
/// auditors.
std::set<Hash32> beyond_waiting(const ledger::StateView& view, const market::Run& run) {
    std::set<Hash32> out;
    if (run.unaudited_since == 0) return out;
    const auto segment = views::segment(view, run.task, run.index, run.unaudited_from);
    const auto audit = segment ? views::audit(view, segment->audit) : std::nullopt;
    if (!audit || audit->phase != AuditPhase::no_auditors) return out;
    for (std::uint64_t i = run.unaudited_from + 1; i < run.next_state; ++i) {
        const auto state = views::checkpoint(view, run.task, run.index, i);
        if (state && state->opened) out.insert(state->root);
    }
    return out;
}

/// Returns those of the states `from` to `end` - 1 of a member of a group with masks that are open and that no audit starts
/// from: each has the update of the segment that ends there, and nobody needs it (contracts 21.11.40). Its last state is the
/// model.
std::set<Hash32> behind_masks(const ledger::StateView& view, const market::Run& run, std::uint64_t from,
                              std::uint64_t end) {
    std::set<Hash32> out;
    const auto terms = views::group_spec(view, run.task);
    const auto group = terms && terms->mask_bits != 0 ? views::group(view, run.task) : std::nullopt;
    if (!group) return out;
    for (std::uint64_t i = std::max<std::uint64_t>(from, 1); i < end; ++i) {
        const auto segment = views::segment(view, run.task, run.index, i);
        const bool is_last = i + 1 == run.next_state && group->phase == market::GroupPhase::over;
        const auto state = views::checkpoint(view, run.task, run.index, i);
        if (state && state->opened && !is_last && (!segment || segment->audit == 0)) out.insert(state->root);
    }
    return out;
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> capacities(const ledger::StateView& view, const ledger::Address& solver,
                                                   const market::TaskSpec& spec, const market::Params& params) {
    return {replay_capacity(view, solver, spec, params), dispute_capacity(view, solver, spec, params)};
}

std::vector<solver::RunKey> runs_not_over(const ledger::StateView& view, const ledger::Address& self,
                                          const std::vector<solver::RunKey>& runs) {
    const auto open = views::open_runs(view, self);
    std::vector<solver::RunKey> out;
    for (const solver::RunKey& run : runs) {
        const bool known =
            views::run(view, run.first, run.second).has_value();  // All are read, so that they are read ahead.
        const bool is_open = std::any_of(open.begin(), open.end(), [&](const views::RunId& id) {
            return id.task == run.first && id.run == run.second;
        });
        if (!known || is_open) out.push_back(run);
    }
    return out;
}

void Withheld::update(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self) {
    const auto open = views::open_runs(view, self);
    for (const views::RunId& id : open) {
        const auto run = views::run(view, id.task, id.run);
        auto roots = run ? beyond_waiting(view, *run) : std::set<Hash32>();
        Entry entry;
        if (const auto found = runs_.find(id); found != runs_.end()) entry = found->second;
        if (run) {
            // No audit of a segment that is final begins any more.
            entry.passed.merge(behind_masks(view, *run, entry.from, run->finalised));
            entry.from = std::max(entry.from, run->finalised);
            roots.merge(behind_masks(view, *run, run->finalised, run->next_state));
            roots.insert(entry.passed.begin(), entry.passed.end());
        }
        entry.seen = height;
        entry.roots = std::move(roots);
        if (entry.roots.empty())
            runs_.erase(id);
        else
            runs_[id] = std::move(entry);
    }
    std::erase_if(runs_, [&](const auto& item) {
        if (std::binary_search(open.begin(), open.end(), item.first)) return false;
        const auto run = views::run(view, item.first.task, item.first.run);
        const auto terms = views::group_spec(view, item.first.task);
        const bool kept = run && (run->state == RunState::left || (terms && terms->mask_bits != 0));
        return !kept || height > item.second.seen + retention_blocks_;
    });
}

std::set<Hash32> Withheld::roots() const {
    std::set<Hash32> out;
    for (const auto& [run, entry] : runs_) out.insert(entry.roots.begin(), entry.roots.end());
    return out;
}

bool bid_is_over(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self, std::uint64_t id,
                 std::uint32_t round) {
    const auto task = views::task(view, id);
    if (!task) return false;
    if (market::is_final(task->state) || round < task->round) return true;
    if (round > task->round) return false;
    const auto bid = views::bid(view, id, self);
    return height + 1 >= task->reveal_end || (bid && bid->revealed);
}

solver::SolverView solver_view(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self,
                               const Pricing& pricing, Immutable& immutable) {
    solver::SolverView out;
    out.height = height;
    const auto params = immutable.params(view);
    for (const std::uint64_t id : views::active_tasks(view)) {
        const auto task = views::task(view, id);
        const bool open =
            task && task->wanted != 0 && (task->state == TaskState::bidding || task->state == TaskState::running);
        const auto spec = open ? immutable.spec(view, id) : std::nullopt;
        if (spec && params) add_auction(view, height + 1, self, pricing, *params, *task, *spec, immutable, out);
    }
    if (params) out.challenge = challenge_view(view, height + 1, self, *params);
    for (const views::RunId& id : views::open_runs(view, self)) {
        if (contracts::is_frozen(view, id.task)) continue;  // Calls there would be refused.
        const auto task = views::task(view, id.task);
        const auto run = views::run(view, id.task, id.run);
        const auto spec = immutable.spec(view, id.task);
        if (task && run && spec && params)
            out.runs.push_back(run_view(view, height + 1, *task, *run, *spec, *params, immutable));
    }
    return out;
}

}  // namespace retrace::node
