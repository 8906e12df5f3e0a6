// SPDX-License-Identifier: MIT
#include "node/service/views.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

using market::AuditPhase;
using market::SeatState;
using market::SegmentState;
namespace views = contracts::views;

const market::Seat* seat_of(const market::Audit& audit, const ledger::Address& self) {
    // A party may be drawn again after it was taken off: its newest seat counts.
    const market::Seat* found = nullptr;
    for (const market::Seat& seat : audit.seats) {
        if (seat.auditor == self) found = &seat;
    }
    return found;
}

Hash32 opened_root(const ledger::StateView& view, std::uint64_t task, std::uint32_t run,
                   std::uint64_t index) {
    const auto checkpoint = views::checkpoint(view, task, run, index);
    return checkpoint && checkpoint->opened ? checkpoint->root : Hash32{};
}

Hash32 first_root_of(const ledger::StateView& view, const market::Run& run) {
    if (run.first_state == 0) return {};
    const auto task = views::task(view, run.task);
    return task ? task->resume_root : Hash32{};
}

}  // namespace

solver::TaskTerms terms_of(std::uint64_t task, const market::TaskSpec& spec) {
    solver::TaskTerms terms;
    terms.id = task;
    terms.program_root = spec.program_root;
    terms.program_bytes = spec.program_bytes;
    terms.init_root = spec.init_root;
    terms.initial_state_root = spec.initial_state_root;
    terms.data_roots = spec.data_roots;
    terms.schedule = {spec.steps, spec.interval};
    terms.seed = spec.seed;
    terms.contract = spec.contract_hash;
    return terms;
}

std::optional<market::TaskSpec> Immutable::spec(const ledger::StateView& view, std::uint64_t task) {
    if (const auto found = specs_.find(task); found != specs_.end()) return found->second;
    auto spec = views::spec(view, task);
    if (spec) specs_.emplace(task, *spec);
    return spec;
}

std::optional<market::Params> Immutable::params(const ledger::StateView& view) {
    if (!params_) params_ = views::params(view);
    return params_;
}

std::vector<verifier::DisputeView> dispute_views(const ledger::StateView& view, const ledger::Address& self,
                                                 Immutable& immutable) {
    std::vector<verifier::DisputeView> out;
    for (const std::uint64_t id : views::open_disputes(view, self)) {
        const auto dispute = views::dispute(view, id);
        auto game = views::game(view, id);
        if (!dispute || !game) continue;
        const auto spec = immutable.spec(view, dispute->task);
        const auto run = views::run(view, dispute->task, dispute->run);
        if (!spec || !run) continue;
        verifier::DisputeView entry;
        entry.id = id;
        entry.terms = terms_of(dispute->task, *spec);
        entry.run = dispute->run;
        entry.segment = dispute->segment;
        entry.first_state = run->first_state;
        entry.first_root = first_root_of(view, *run);
        entry.side = dispute->solver == self ? verifier::Side::solver : verifier::Side::challenger;
        entry.game = std::move(*game);
        out.push_back(std::move(entry));
    }
    return out;
}

void Seats::update(const ledger::StateView& view, const ledger::Address& self) {
    if (!scanned_) {
        const std::uint64_t count = views::audit_count(view);
        for (std::uint64_t id = count > kHistory ? count - kHistory + 1 : 1; id <= count; ++id) {
            const auto audit = views::audit(view, id);
            if (audit && seat_of(*audit, self) != nullptr) audits_.insert(id);
        }
        scanned_ = true;
    }
    for (const std::uint64_t id : views::open_audits(view, self)) audits_.insert(id);
}

namespace {

/// State 0 of a run may be disputed once by each party, until its first segment's window is over.
bool challengeable_initial(const ledger::StateView& view, const market::Audit& audit,
                           const ledger::Address& self) {
    for (const std::uint64_t id : views::open_disputes(view, self)) {
        const auto dispute = views::dispute(view, id);
        const bool same_run = dispute && dispute->task == audit.task && dispute->run == audit.run;
        if (same_run && dispute->kind == market::DisputeKind::initial) return false;
    }
    const auto run = views::run(view, audit.task, audit.run);
    return run && run->state == market::RunState::running && run->clear == 0;
}

verifier::AuditView audit_view(const ledger::StateView& view, const market::Audit& audit,
                               const market::Seat& seat, const market::TaskSpec& spec) {
    verifier::AuditView out;
    out.id = audit.id;
    out.terms = terms_of(audit.task, spec);
    out.run = audit.run;
    out.segment = audit.segment;
    out.start_root = opened_root(view, audit.task, audit.run, audit.segment);
    out.end_root = opened_root(view, audit.task, audit.run, audit.segment + 1);
    out.may_commit = audit.phase == AuditPhase::collecting && seat.state == SeatState::drawn;
    out.may_reveal = audit.phase == AuditPhase::verdicts && seat.state == SeatState::committed;
    out.may_report = out.may_commit;
    out.may_challenge_initial = audit.segment == 0 && !spec.init_root.is_zero() &&
                                !out.start_root.is_zero() && challengeable_initial(view, audit, seat.auditor);
    out.commitment = seat.commitment;
    for (const market::Seat& other : audit.seats) {
        if (other.auditor != seat.auditor && !other.commitment.is_zero())
            out.others.push_back(other.commitment);
    }
    return out;
}

verifier::BeaconView beacon_view(const ledger::StateView& view, std::uint64_t height,
                                 const ledger::Address& self, const market::Params& params) {
    verifier::BeaconView out;
    const auto info = views::verifier(view, self);
    if (!info || !info->member) return out;
    const std::uint64_t epoch = views::epoch_of(params, height + 1);
    out.head = info->head;
    out.may_reveal = epoch > info->joined_epoch && info->revealed_epoch < epoch;
    return out;
}

}  // namespace

verifier::VerifierView verifier_view(const ledger::StateView& view, std::uint64_t height,
                                     const ledger::Address& self, Seats& seats, Immutable& immutable) {
    verifier::VerifierView out;
    out.height = height;
    const auto params = immutable.params(view);
    if (!params) return out;
    seats.update(view, self);
    std::vector<std::uint64_t> over;
    for (const std::uint64_t id : seats.audits()) {
        const auto audit = views::audit(view, id);
        const market::Seat* seat = audit ? seat_of(*audit, self) : nullptr;
        const auto spec = audit ? immutable.spec(view, audit->task) : std::nullopt;
        const auto task = audit ? views::task(view, audit->task) : std::nullopt;
        if (seat == nullptr || !spec || !task) continue;
        if (audit->phase != AuditPhase::closed) out.audits.push_back(audit_view(view, *audit, *seat, *spec));
        if (seat->state == SeatState::matched && !market::is_final(task->state)) {
            out.keep.push_back({audit->task, audit->run, audit->segment + 1, !seat->paid});
        } else if (audit->phase == AuditPhase::closed) {
            over.push_back(id);
        }
    }
    for (const std::uint64_t id : over) seats.drop(id);
    out.disputes = dispute_views(view, self, immutable);
    out.beacon = beacon_view(view, height, self, *params);
    return out;
}

std::vector<std::string> endpoints_of(const ledger::StateView& view, std::uint64_t id) {
    std::vector<std::string> out;
    const auto add = [&](const std::string& endpoint) {
        if (!endpoint.empty() && std::find(out.begin(), out.end(), endpoint) == out.end())
            out.push_back(endpoint);
    };
    const auto task = views::task(view, id);
    if (!task) return out;
    for (const std::uint32_t index : task->active) {
        const auto run = views::run(view, id, index);
        const auto info = run ? views::solver(view, run->solver) : std::nullopt;
        if (info) add(info->endpoint);
    }
    // A settled task has no active run; its last ones delivered the model.
    for (std::uint32_t index = task->runs; task->active.empty() && index > 0 && out.size() < 4; --index) {
        const auto run = views::run(view, id, index - 1);
        const auto info = run ? views::solver(view, run->solver) : std::nullopt;
        if (info) add(info->endpoint);
    }
    for (const ledger::Address& member : views::verifiers(view)) {
        if (const auto info = views::verifier(view, member)) add(info->endpoint);
    }
    return out;
}

}  // namespace retrace::node
