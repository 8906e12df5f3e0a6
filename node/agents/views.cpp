// SPDX-License-Identifier: MIT
#include "node/agents/views.hpp"

#include <algorithm>

#include "contracts/lifecycle/isolate.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/groups/rules.hpp"
#include "contracts/rules/market/rules.hpp"
#include "node/agents/group_views.hpp"

namespace retrace::node {
namespace views = contracts::views;

bool reports_pending(const ledger::StateView& view, std::uint64_t task, const ledger::Address& self) {
    bool pending = false;
    for (const std::uint64_t id :
         views::open_reports(view, task)) {  // all of them, so that they are read ahead at once
        const auto report = views::report(view, id);
        pending = pending || !report || report->reporter == self;
    }
    return pending;
}

bool reports_pending(const ledger::StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
                     bool first, const ledger::Address& self) {
    bool pending = false;
    for (const std::uint64_t id : views::open_reports(view, task)) {
        const auto report = views::report(view, id);
        const bool own = report && report->reporter == self && report->run == run;
        const bool of_state = own && report->kind == market::ReportKind::state;
        pending = pending || !report || (own && (of_state ? report->index == segment : first));
    }
    return pending;
}

std::uint64_t fetch_by_of(std::uint64_t height, std::uint64_t deadline, std::uint64_t verdict_blocks,
                          std::uint64_t replay_blocks) {
    if (deadline <= height) return height;
    const std::uint64_t half = verdict_blocks / 2, rest = deadline - height;
    const std::uint64_t kept = half + replay_blocks;
    return height + std::min(half, rest > kept ? rest - kept : rest / 2);
}

std::uint64_t due_of(const market::Report& report, const market::Params& params) {
    return report.deadline > params.answer_blocks ? report.deadline - params.answer_blocks : 0;
}

solver::TaskTerms terms_of(std::uint64_t task, const market::TaskSpec& spec,
                           const std::optional<market::GroupSpec>& group) {
    solver::TaskTerms terms;
    terms.id = task;
    terms.program_root = spec.program_root;
    terms.program_bytes = spec.program_bytes;
    terms.init_root = spec.init_root;
    terms.initial_state_root = spec.initial_state_root;
    terms.data_roots = spec.data_roots;
    terms.schedule = {group ? market::most_segments(spec, &*group) * spec.interval : spec.steps, spec.interval};
    terms.seed = spec.seed;
    terms.contract = spec.contract_hash;
    if (group) terms.group = group_terms_of(spec, *group);
    return terms;
}

const Immutable::Terms* Immutable::find(const ledger::StateView& view, std::uint64_t task) {
    const bool rises = views::auctions(view, task).has_value();
    if (const auto found = tasks_.find(task); found != tasks_.end() && !rises) return &found->second;
    if (auto found = before_.extract(task); found && !rises) return &tasks_.insert(std::move(found)).position->second;
    // Both are read before either is used, because read-ahead shows an empty value at first.
    const auto spec = views::spec(view, task);
    const auto group = views::group_spec(view, task);
    if (!spec) return nullptr;
    // No chain holds terms that the rules refuse; a lying node could otherwise make us divide by zero.
    const auto status =
        group ? contracts::check(contracts::PostGroup{*spec, *group}) : contracts::check(contracts::PostTask{*spec});
    if (status != contracts::CallStatus::ok) return nullptr;
    return &tasks_.insert_or_assign(task, Terms{*spec, group}).first->second;
}

std::optional<market::TaskSpec> Immutable::spec(const ledger::StateView& view, std::uint64_t task) {
    const Terms* const found = find(view, task);
    return found != nullptr ? std::optional(found->spec) : std::nullopt;
}

std::optional<market::GroupSpec> Immutable::group(const ledger::StateView& view, std::uint64_t task) {
    const Terms* const found = find(view, task);
    return found != nullptr ? found->group : std::nullopt;
}

std::optional<solver::TaskTerms> Immutable::terms(const ledger::StateView& view, std::uint64_t task) {
    const Terms* const found = find(view, task);
    if (found == nullptr) return std::nullopt;
    return terms_of(task, found->spec, found->group);
}

std::optional<solver::RecordView> Immutable::record(const ledger::StateView& view, std::uint64_t task,
                                                    std::uint32_t round) {
    const std::pair key(task, round);
    if (const auto found = records_.find(key); found != records_.end()) return found->second;
    if (auto found = records_before_.extract(key)) return records_.insert(std::move(found)).position->second;
    const auto record = views::round(view, task, round);
    if (!record) return std::nullopt;
    solver::RecordView out{round, record->total, {}};
    for (const market::RoundEntry& entry : record->entries) {
        auto message = views::round_message(view, task, round, entry.run);
        if (message)
            out.entries.push_back(
                {entry.run, entry.steps, std::move(message->tensors), entry.weight, entry.age, entry.region});
    }
    if (out.entries.size() != record->entries.size()) return std::nullopt;
    out.masks = mask_rows(record->masks);
    return records_.emplace(key, std::move(out)).first->second;
}

std::optional<market::Params> Immutable::params(const ledger::StateView& view) {
    if (!params_) params_ = views::params(view);
    if (params_ && !market::check(*params_)) params_.reset();
    return params_;
}

namespace {

/// Returns the run whose states this party made: for a replica that accuses another its own run, which leads to the
/// same start.
std::optional<market::Run> own_run(const ledger::StateView& view, const market::Dispute& dispute,
                                   const ledger::Address& self) {
    if (dispute.kind == market::DisputeKind::replica && dispute.challenger == self)
        for (const views::RunId& id : views::open_runs(view, self))
            if (id.task == dispute.task) return views::run(view, id.task, id.run);
    return views::run(view, dispute.task, dispute.run);
}

}  // namespace

std::vector<verifier::DisputeView> dispute_views(const ledger::StateView& view, const ledger::Address& self,
                                                 Immutable& immutable) {
    std::vector<verifier::DisputeView> out;
    for (const std::uint64_t id : views::disputes_of(view, self)) {
        const auto dispute = views::dispute(view, id);
        auto game = views::game(view, id);
        if (!dispute || !game || contracts::is_frozen(view, dispute->task)) continue;  // Its moves would be refused.
        auto terms = immutable.terms(view, dispute->task);
        const auto run = own_run(view, *dispute, self);
        if (!terms || !run) continue;
        verifier::DisputeView entry;
        entry.id = id;
        if (terms->group) {
            if (game->claim.initialiser)
                entry.entry = entry_view(view, dispute->task, dispute->run);
            else
                entry.member = segment_view(view, dispute->task, dispute->run, dispute->segment, immutable);
            if (!entry.entry && !entry.member) continue;
        }
        entry.terms = std::move(*terms);
        const bool own = dispute->solver == self;
        if (own || (!game->claim.initialiser && views::is_private(view, dispute->task, dispute->run, dispute->segment)))
            set_member_data(view, dispute->run, entry.terms);
        entry.run = dispute->run;
        entry.segment = dispute->segment;
        entry.own_run = run->index;
        entry.first_state = run->first_state;
        entry.first_root = run->first_root;
        entry.side = dispute->solver == self ? verifier::Side::solver : verifier::Side::challenger;
        entry.game = std::move(*game);
        entry.deadline = dispute->deadline;
        entry.clock = entry.side == verifier::Side::solver ? dispute->solver_clock : dispute->challenger_clock;
        entry.due = entry.side == verifier::Side::solver ? dispute->solver_due : dispute->challenger_due;
        entry.claimed_root = dispute->claimed_root;
        const auto params = immutable.params(view);
        entry.may_report = entry.side == verifier::Side::challenger && params && dispute->reports < params->reports &&
                           !reports_pending(view, dispute->task, dispute->run,
                                            solver::start_state_of(entry.member, dispute->segment), true, self);
        out.push_back(std::move(entry));
    }
    return out;
}

}  // namespace retrace::node
