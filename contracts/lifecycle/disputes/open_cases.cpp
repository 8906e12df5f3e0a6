// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/open_cases.hpp"

#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeKind;
using market::DisputeState;

constexpr std::uint64_t kWakeBlocks = 16;

/// Resumes the accusing replica's payments, which waited for the dispute.
void resume_payments(Effects& fx, const market::Dispute& dispute) {
    if (!market::between_replicas(dispute.kind)) return;
    for (const views::RunId& id : views::open_runs(fx.state, dispute.challenger))
        if (id.task == dispute.task) schedule_single(fx, fx.height + 1, ScheduledKind::payment, id.task, id.run);
}

/// Whether the dispute counts against the limits for challenges of strangers (15.2.5).
bool counts_against_limit(DisputeKind kind, std::uint64_t audit) { return audit == 0 && is_voluntary(kind); }

/// Key under which a dispute is found without a search. Disputes of drawn auditors have none.
keys::Key accusation_key(const market::Dispute& dispute) {
    const bool replicas = market::between_replicas(dispute.kind);
    const auto kind = static_cast<std::uint8_t>(replicas ? DisputeKind::replica : dispute.kind);
    return keys::accusation(kind, dispute.task, dispute.run, replicas ? 0 : dispute.segment, dispute.challenger);
}

void unlist_dispute(Effects& fx, const market::Dispute& dispute) {
    remove_from_list(fx.state, keys::open_disputes(dispute.challenger), dispute.id);
    remove_from_list(fx.state, keys::run_disputes(dispute.task, dispute.run), dispute.id);
    remove_from_list(fx.state, keys::accusations(dispute.task, dispute.run, dispute.challenger), dispute.id);
    if (dispute.kind != DisputeKind::audit) remove(fx.state, accusation_key(dispute));
}

void count_opened(Effects& fx, const market::Dispute& dispute) {
    auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    auto segment = must_load<market::Segment>(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment));
    ++run.open_disputes;
    ++segment.open_disputes;
    if (counts_against_limit(dispute.kind, dispute.audit)) {
        ++run.challenges;
        ++segment.challenges;
    }
    if (dispute.kind == DisputeKind::audit) segment.audit_dispute = dispute.id;
    store(fx.state, keys::run(dispute.task, dispute.run), run);
    store(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment), segment);
}

/// 15.2.6: if strangers were refused, they have a whole window from here.
void count_closed(Effects& fx, const market::Dispute& dispute) {
    auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    auto segment = must_load<market::Segment>(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment));
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(dispute.task));
    const std::uint64_t until = fx.height + challenge_window(fx.params, spec);
    if (refuses_challenges(run)) run.heard_until = until;
    if (segment.challenges >= kSegmentChallengesMax && segment.window_end != 0)
        extend_window(fx, dispute.task, dispute.run, segment, until);
    --run.open_disputes;
    --segment.open_disputes;
    if (counts_against_limit(dispute.kind, dispute.audit)) {
        --run.challenges;
        --segment.challenges;
    }
    if (dispute.kind == DisputeKind::audit) segment.audit_dispute = 0;
    store(fx.state, keys::run(dispute.task, dispute.run), run);
    store(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment), segment);
}

/// 15.9: frees the seats of auditors that waited for a dispute, because the run is over.
void free_waiting_seats(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    for (const std::uint32_t seat : audit.waiting) free_seat(fx, audit, audit.seats.at(seat));
    audit.waiting.clear();
    store(fx.state, keys::audit(id), audit);
}

/// 18.7: returns the unused allowance of a side.
void end_work_of(Effects& fx, const market::Dispute& dispute, const Address& party) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(dispute.task));
    const std::uint64_t work = market::dispute_work(spec, dispute.kind);
    if (!end_dispute_work(fx, party, work, dispute.opened_height, origin_of(dispute, party))) return;
    // 15.2.6: until now no window of its runs had an end. Up to 256 items are written, so a party whose disputes begin
    // and end in every block has them handled in one block of kWakeBlocks only.
    const std::uint64_t next = fx.height - fx.height % kWakeBlocks + kWakeBlocks;
    for (const views::RunId& id : views::open_runs(fx.state, party))
        schedule_single(fx, next, ScheduledKind::payment, id.task, id.run);
}

void end_work_of_both(Effects& fx, const market::Dispute& dispute) {
    if (dispute.solver_due == 0) return;  // It was decided when it opened.
    end_work_of(fx, dispute, dispute.solver);
    end_work_of(fx, dispute, dispute.challenger);
}

}  // namespace

bool is_voluntary(DisputeKind kind) { return kind == DisputeKind::challenge || kind == DisputeKind::initial; }

bool bond_is_stake(DisputeKind kind) { return kind == DisputeKind::audit || market::between_replicas(kind); }

DisputeOrigin origin_of(const market::Dispute& dispute, const Address& party) {
    if (!is_voluntary(dispute.kind)) return DisputeOrigin::assigned;
    return party == dispute.challenger ? DisputeOrigin::self : DisputeOrigin::other_party;
}

void list_dispute(Effects& fx, const market::Dispute& dispute) {
    count_opened(fx, dispute);
    add_to_list(fx.state, keys::open_disputes(dispute.challenger), dispute.id);
    add_to_list(fx.state, keys::run_disputes(dispute.task, dispute.run), dispute.id);
    add_to_list(fx.state, keys::accusations(dispute.task, dispute.run, dispute.challenger), dispute.id);
    if (dispute.kind != DisputeKind::audit) store(fx.state, accusation_key(dispute), Counter{dispute.id});
}

void note_late(Effects& fx, const market::Dispute& dispute) {
    if (!is_voluntary(dispute.kind)) return;
    const auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    const std::uint64_t due = counter(fx.state, keys::begun_deadline(dispute.task, dispute.run));
    if (run.deadline == 0 || fx.height + fx.params.move_blocks < due) return;
    const auto stop = load<Stop>(fx.state, keys::stopped(run.task, run.index));
    if (stop && !stop->was_late) return;  // It waits for nothing but its cases (13.7.1).
    store(fx.state, keys::late_challenge(dispute.id), Counter{run.next_state});
}

bool is_late_challenge(const StateView& view, const market::Dispute& dispute) {
    const std::uint64_t next_state = counter(view, keys::late_challenge(dispute.id));
    if (next_state == 0) return false;
    return must_load<market::Run>(view, keys::run(dispute.task, dispute.run)).next_state == next_state;
}

void close_dispute(Effects& fx, market::Dispute& dispute, DisputeState state) {
    dispute.state = state;
    dispute.mover = 0;
    dispute.deadline = 0;
    store(fx.state, keys::dispute(dispute.id), dispute);
    remove(fx.state, keys::game(dispute.id));
    unlist_dispute(fx, dispute);
    remove(fx.state, keys::late_challenge(dispute.id));
    end_work_of_both(fx, dispute);
    count_closed(fx, dispute);
    if (dispute.kind == DisputeKind::audit && state != DisputeState::challenger_lost)
        free_waiting_seats(fx, dispute.audit);
    resume_payments(fx, dispute);
}

void return_bond(Effects& fx, const market::Dispute& dispute) {
    if (bond_is_stake(dispute.kind))
        unlock(fx, dispute.challenger, dispute.bond);
    else
        pay(fx, Contract::disputes, dispute.challenger, dispute.bond);
}

}  // namespace retrace::contracts
