// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/validator_views.hpp"
#include "node/agents/group_views.hpp"
#include "verifier/agent/keys.hpp"

namespace retrace::node {
namespace {

using market::AuditPhase;
using market::SeatState;
namespace views = contracts::views;

constexpr std::size_t kWatchMax = 64;  // segments in one view; each run gets at least one

const market::Seat* seat_of(const market::Audit& audit, const ledger::Address& self) {
    // A party may be drawn again after it was removed from the audit; its newest seat counts.
    const market::Seat* found = nullptr;
    for (const market::Seat& seat : audit.seats) {
        if (seat.auditor == self) found = &seat;
    }
    return found;
}

/// Whether the party's seat waits until another auditor's dispute about the segment is over (contracts 15.9). It needs
/// its states until then, although its audit is closed.
bool waits_to_dispute(const market::Audit& audit, const market::Seat& seat) {
    return std::any_of(audit.waiting.begin(), audit.waiting.end(),
                       [&](std::uint32_t index) { return &audit.seats.at(index) == &seat; });
}

Hash32 opened_root(const ledger::StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    const auto checkpoint = views::checkpoint(view, task, run, index);
    return checkpoint && checkpoint->opened ? checkpoint->root : Hash32{};
}

/// Whether a challenge of the segment that is sent now could still be in time (contracts 15.1.12).
bool window_open(const ledger::StateView& view, const market::Params& params, const market::TaskSpec& spec,
                 const market::Run& run, const market::Segment& segment, std::uint64_t height) {
    const auto end = contracts::window_end(view, params, spec, run, segment);
    return !end || height + 1 < *end;
}

/// State 0 may be disputed from its opening to the end of the window of its segment, or of the next one.
void add_initial(const ledger::StateView& view, const ledger::Address& self, const market::Params& params,
                 const market::TaskSpec& spec, std::uint64_t task, std::uint32_t index, const market::Seat* seat,
                 Immutable& immutable, verifier::VerifierView& out) {
    if (spec.init_root.is_zero()) return;
    const auto run = views::run(view, task, index);
    const std::uint64_t with = views::segment_of_start(view, task, index);  // contracts 21.13.31
    const auto segment = views::segment(view, task, index, with);
    const Hash32 root = opened_root(view, task, index, 0);
    if (!run || run->state != market::RunState::running || !segment || root.is_zero() || run->solver == self) return;
    if (!window_open(view, params, spec, *run, *segment, out.height)) return;
    const auto same = [&](const verifier::InitialView& other) { return other.terms.id == task && other.run == index; };
    if (std::any_of(out.initials.begin(), out.initials.end(), same)) return;
    if (views::accusation(view, market::DisputeKind::initial, task, index, with, self) != 0) return;
    const std::uint64_t deadline = segment->window_end == 0 ? 0 : segment->window_end - 1;
    const bool assigned = seat != nullptr;
    const auto group = immutable.group(view, task);
    const auto entry = group ? entry_view(view, task, index) : std::nullopt;
    if (group && !entry) return;
    out.initials.push_back(
        {terms_of(task, spec, group), index, root, assigned, assigned ? seat->due : 0, deadline, entry});
}

verifier::AuditView audit_view(const ledger::StateView& view, const market::Audit& audit, const market::Seat& seat,
                               const market::TaskSpec& spec, const market::Params& params, std::uint64_t height,
                               bool first, Immutable& immutable) {
    verifier::AuditView out;
    out.id = audit.id;
    out.terms = terms_of(audit.task, spec, immutable.group(view, audit.task));
    out.member = segment_view(view, audit.task, audit.run, audit.segment, immutable);
    if (views::is_private(view, audit.task, audit.run, audit.segment)) set_member_data(view, audit.run, out.terms);
    out.run = audit.run;
    out.segment = audit.segment;
    const std::uint64_t start = solver::start_state_of(out.member, audit.segment);
    out.start_root = opened_root(view, audit.task, audit.run, start);
    out.end_root = opened_root(view, audit.task, audit.run, audit.segment + 1);
    out.may_commit = audit.phase == AuditPhase::collecting && seat.state == SeatState::drawn;
    out.may_reveal = audit.phase == AuditPhase::verdicts && seat.state == SeatState::committed;
    out.may_report = out.may_commit && seat.reports < params.reports &&
                     !reports_pending(view, audit.task, audit.run, start, first, seat.auditor);
    // After the collecting phase there are no reports, but a slow peer must still not keep the worker from other
    // audits.
    const bool collecting = audit.phase == AuditPhase::collecting;
    // The seat's own deadline, unless a report extends the audit beyond it: the party does its work in the order in
    // which it was assigned (contracts 18.2).
    const std::uint64_t own = seat.due + params.verdict_blocks;
    const bool in_order = collecting && seat.due != 0 && own > height;
    const std::uint64_t deadline = in_order ? std::min(own, audit.deadline) : audit.deadline;
    out.fetch_by = fetch_by_of(height, collecting ? deadline : height + params.verdict_blocks, params.verdict_blocks,
                               collecting ? spec.replay_blocks : 0);
    if (out.may_commit || out.may_reveal) out.deadline = deadline;
    out.due = seat.due;
    out.commitment = seat.commitment;
    for (const market::Seat& other : audit.seats) {
        if (other.auditor != seat.auditor && !other.commitment.is_zero()) out.others.push_back(other.commitment);
    }
    return out;
}

verifier::BeaconView beacon_view(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self,
                                 const market::Params& params) {
    verifier::BeaconView out;
    const auto info = views::verifier(view, self);
    if (!info || !info->member) return out;
    const std::uint64_t epoch = views::epoch_of(params, height + 1);
    // With validators a reveal is sent once the first block of its epoch is decided, whose proposer chooses among shares.
    const bool is_early = (height + 1) % params.epoch_blocks == 0 && views::validator_rules(view).has_value();
    out.head = info->head;
    out.may_reveal = !is_early && epoch > info->joined_epoch && info->revealed_epoch < epoch;
    return out;
}

void add_seats(const ledger::StateView& view, const ledger::Address& self, const market::Params& params, Seats& seats,
               Immutable& immutable, verifier::VerifierView& out) {
    std::vector<std::uint64_t> over;
    std::set<std::pair<std::uint64_t, std::uint32_t>> owed;  // Runs in which this verifier owes a verdict.
    for (const std::uint64_t id : seats.audits()) {
        const auto audit = views::audit(view, id);
        const market::Seat* seat = audit ? seat_of(*audit, self) : nullptr;
        const auto spec = audit ? immutable.spec(view, audit->task) : std::nullopt;
        const auto task = audit ? views::task(view, audit->task) : std::nullopt;
        if (seat == nullptr || !spec || !task) continue;
        if (task->state == market::TaskState::frozen) continue;  // Its calls there would be refused.
        const bool owes = audit->phase == AuditPhase::collecting && seat->state == SeatState::drawn;
        const bool first = owes && owed.insert({audit->task, audit->run}).second;
        const bool waits = waits_to_dispute(*audit, *seat);
        if (audit->phase != AuditPhase::closed || waits)
            out.audits.push_back(audit_view(view, *audit, *seat, *spec, params, out.height, first, immutable));
        if (audit->segment == views::segment_of_start(view, audit->task, audit->run))
            add_initial(view, self, params, *spec, audit->task, audit->run, seat, immutable, out);
        // Members of a group are paid without keepers.
        const bool keeps = !immutable.group(view, audit->task);
        if (keeps && seat->state == SeatState::matched && !market::is_final(task->state)) {
            // Attested when the whole audit is closed: the segment is verified then.
            const bool may_attest = !seat->paid && audit->phase == AuditPhase::closed;
            out.keep.push_back({audit->task, audit->run, audit->segment + 1, may_attest});
        } else if (audit->phase == AuditPhase::closed && !waits) {
            over.push_back(id);
        }
    }
    for (const std::uint64_t id : over) seats.drop(id);
}

void add_offers(const ledger::StateView& view, const ledger::Address& self, Seats& seats, Immutable& immutable,
                verifier::VerifierView& out) {
    const auto info = views::verifier(view, self);
    const bool member = info && info->member;
    std::vector<std::uint64_t> over;
    for (const std::uint64_t id : seats.offers()) {
        const auto offer = views::retention(view, id);
        const auto task = offer ? views::task(view, offer->task) : std::nullopt;
        const auto spec = offer ? immutable.spec(view, offer->task) : std::nullopt;
        if (!offer || !task || !spec) continue;
        const bool open = offer->state == market::RetentionState::open;
        const bool kept = offer->state == market::RetentionState::kept && offer->keeper == self;
        if (market::is_final(task->state) || (!open && !kept)) {
            over.push_back(id);
        } else if (kept) {
            out.keep.push_back({offer->task, offer->run, offer->index, false});
        } else if (member && offer->solver != self) {
            const Hash32 root = opened_root(view, offer->task, offer->run, offer->index);
            out.offers.push_back({terms_of(offer->task, *spec, std::nullopt), offer->run, offer->index, root});
        }
    }
    for (const std::uint64_t id : over) seats.drop_offer(id);
}

/// Adds the stored states that this party attested to keep according to the ledger: after a restart they may be too old
/// to be found among the newest audits.
void add_stored(const ledger::StateView& view, const ledger::Address& self,
                const std::vector<solver::CheckpointKey>& stored, verifier::VerifierView& out) {
    for (const solver::CheckpointKey& key : stored) {
        const std::uint32_t run = key.run & ~verifier::kKeyMarks;
        const auto same = [&](const verifier::KeepView& kept) {
            return kept.task == key.task && kept.run == run && kept.index == key.index;
        };
        if (std::any_of(out.keep.begin(), out.keep.end(), same)) continue;
        const auto task = views::task(view, key.task);
        const auto point = views::checkpoint(view, key.task, run, key.index);
        if (!task || !point || market::is_final(task->state)) continue;
        if (std::find(point->keepers.begin(), point->keepers.end(), self) != point->keepers.end())
            out.keep.push_back({key.task, run, key.index, false});
    }
}

/// Adds the reports by which successor runs ask keepers for states.
void add_kept_reports(const ledger::StateView& view, const market::Params& params, Immutable& immutable,
                      verifier::VerifierView& out) {
    std::set<std::uint64_t> tasks;
    for (const verifier::KeepView& kept : out.keep) tasks.insert(kept.task);
    for (const std::uint64_t task : tasks) {
        for (const std::uint64_t id : views::open_reports(view, task)) {
            const auto report = views::report(view, id);
            const auto spec = immutable.spec(view, task);
            if (!report || !spec || report->kind != market::ReportKind::kept) continue;
            const auto own = [&](const verifier::KeepView& kept) {
                return kept.task == task && kept.run == report->run && kept.index == report->index && !kept.may_attest;
            };
            if (std::any_of(out.keep.begin(), out.keep.end(), own))
                out.reports.push_back({id, terms_of(task, *spec, std::nullopt), report->run, report->index,
                                       report->tensor, report->tile, report->deadline, due_of(*report, params)});
        }
    }
}

/// Whether `self` has a dispute about this segment, or waits for one.
bool disputes(const ledger::StateView& view, const ledger::Address& self, const market::Run& run, std::uint64_t index,
              const market::Segment& segment) {
    if (views::accusation(view, market::DisputeKind::challenge, run.task, run.index, index, self) != 0) return true;
    const auto playing = views::dispute(view, segment.audit_dispute);
    if (playing && playing->challenger == self) return true;
    const auto audit = views::audit(view, segment.audit);
    const market::Seat* seat = audit ? seat_of(*audit, self) : nullptr;
    return playing && seat != nullptr && seat->state == SeatState::mismatched && !seat->bond.is_zero();
}

void watch_run(const ledger::StateView& view, const ledger::Address& self, const market::Params& params,
               const market::Run& run, const market::TaskSpec& spec, const WatchChoice& choice, std::size_t share,
               Immutable& immutable, verifier::VerifierView& out) {
    if (run.first_state == 0) add_initial(view, self, params, spec, run.task, run.index, nullptr, immutable, out);
    const auto group = immutable.group(view, run.task);
    const std::uint64_t next = std::min(run.next_state, market::most_segments(spec, group ? &*group : nullptr) + 1);
    const std::size_t most = out.watch.size() + share;
    for (std::uint64_t i = run.finalised; i + 1 < next && out.watch.size() < most; ++i) {
        // Checked before any read, and before the list fills up with segments that are not replayed.
        if (choice && !choice(run.task, run.index, i)) continue;
        const auto segment = views::segment(view, run.task, run.index, i);
        if (!segment || segment->window_end == 0 || !window_open(view, params, spec, run, *segment, out.height))
            continue;
        if (disputes(view, self, run, i, *segment)) continue;
        const bool is_private = views::is_private(view, run.task, run.index, i);
        // Contracts 21.13.9: others could neither replay it nor challenge it.
        if (is_private && !views::has_consent(view, run.task, run.index, i, self)) continue;
        if (group && !views::shows_masks(view, run.task, run.index, i)) continue;  // Contracts 21.11.39.
        auto member = segment_view(view, run.task, run.index, i, immutable);
        if (group && !member) continue;
        const std::uint64_t start = solver::start_state_of(member, i);
        auto terms = terms_of(run.task, spec, group);
        if (is_private) set_member_data(view, run.index, terms);
        out.watch.push_back({std::move(terms), run.index, i, opened_root(view, run.task, run.index, start),
                             opened_root(view, run.task, run.index, i + 1), std::move(member)});
    }
}

void add_watch(const ledger::StateView& view, const ledger::Address& self, const market::Params& params,
               Immutable& immutable, const WatchChoice& choice, verifier::VerifierView& out) {
    std::vector<market::Run> runs;
    for (const std::uint64_t id : views::active_tasks(view)) {
        const auto task = views::task(view, id);
        if (!task || task->state != market::TaskState::running) continue;
        for (const std::uint32_t index : task->active) {
            const auto run = views::run(view, id, index);
            if (run && run->state == market::RunState::running && run->solver != self) runs.push_back(*run);
        }
    }
    // Each run has a share of the list, so that a decoy run with many open windows cannot hide another run.
    const std::size_t share = std::max<std::size_t>(1, kWatchMax / std::max<std::size_t>(runs.size(), 1));
    for (const market::Run& run : runs)
        if (const auto spec = immutable.spec(view, run.task))
            watch_run(view, self, params, run, *spec, choice, share, immutable, out);
}

}  // namespace

void Seats::update(const ledger::StateView& view, const ledger::Address& self) {
    if (!scanned_) {
        // Counted down, because a node may claim a count of 2^64 - 1, and a loop up to it would not end.
        const std::uint64_t count = views::audit_count(view), offers = views::retention_count(view);
        for (std::uint64_t left = std::min(count, kHistory); left > 0; --left) {
            const std::uint64_t id = count - left + 1;
            const auto audit = views::audit(view, id);
            if (audit && seat_of(*audit, self) != nullptr) audits_.insert(id);
        }
        for (std::uint64_t left = std::min(offers, kHistory); left > 0; --left) offers_.insert(offers - left + 1);
        scanned_ = true;
    }
    for (const std::uint64_t id : views::open_audits(view, self)) audits_.insert(id);
    for (const std::uint64_t task : views::active_tasks(view))
        for (const std::uint64_t id : views::open_retentions(view, task)) offers_.insert(id);
}

verifier::VerifierView verifier_view(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self,
                                     Seats& seats, Immutable& immutable, bool watch,
                                     const std::vector<solver::CheckpointKey>& stored, const WatchChoice& choice) {
    verifier::VerifierView out;
    out.height = height;
    const auto params = immutable.params(view);
    if (!params) return out;
    seats.update(view, self);
    add_seats(view, self, *params, seats, immutable, out);
    add_offers(view, self, seats, immutable, out);
    add_stored(view, self, stored, out);
    add_kept_reports(view, *params, immutable, out);
    if (watch) add_watch(view, self, *params, immutable, choice, out);
    out.disputes = dispute_views(view, self, immutable);
    out.beacon = beacon_view(view, height, self, *params);
    return out;
}

}  // namespace retrace::node
