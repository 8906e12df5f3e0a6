// SPDX-License-Identifier: MIT
// SPEC 14.9. An auditor that verified a segment keeps its end for a successor and is paid, as is a verifier that takes
// a solver's offer.
#include "contracts/lifecycle/audits/retentions.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/rules/audits/rules.hpp"

namespace retrace::contracts {
namespace {

/// Returns the newest audit of the verified segment that ends in state `index`.
std::optional<market::Audit> audit_before(const StateView& view, const AttestRetention& call) {
    const auto segment = views::segment(view, call.task, call.run, call.index - 1);
    if (!segment || segment->state != market::SegmentState::verified) return std::nullopt;
    return views::audit(view, segment->audit);
}

const market::Seat* matched_seat(const market::Audit& audit, const Address& party) {
    for (const market::Seat& seat : audit.seats)
        if (seat.auditor == party && seat.state == market::SeatState::matched) return &seat;
    return nullptr;
}

CallStatus admit_offer(const AttestRetention& call, const TxContext& context, const StateView& view) {
    if (!open_retention(view, call.task, call.run, call.index)) return CallStatus::not_matched;  // 14.9.6
    const auto verifier = views::verifier(view, context.sender);
    if (!verifier || !verifier->member) return CallStatus::not_member;                                // 14.9.7
    if (views::run(view, call.task, call.run)->solver == context.sender) return CallStatus::own_run;  // 14.9.8
    return CallStatus::ok;
}

void pay_verdict(const AttestRetention& call, const Address& keeper, Effects& fx) {
    auto audit = audit_before(fx.state, call);
    if (!audit) return;
    for (market::Seat& seat : audit->seats)
        if (seat.auditor == keeper && seat.state == market::SeatState::matched && !seat.paid)
            pay_seat(fx, *audit, seat);
    store(fx.state, keys::audit(audit->id), *audit);
}

void pay_offer(const AttestRetention& call, const Address& keeper, Effects& fx) {
    auto offer = open_retention(fx.state, call.task, call.run, call.index);
    if (!offer) return;
    offer->keeper = keeper;
    close_retention(fx, *offer, market::RetentionState::kept);
    pay(fx, Contract::audits, keeper, offer->fee);
    fx.emit(RetentionClosed{offer->id, call.task, keeper});
}

/// 16.3.1: records the task for the keeper, which keeps one bond while any recorded task is not over.
void record_kept_task(const AttestRetention& call, const Address& keeper, Effects& fx) {
    auto tasks = views::kept_tasks(fx.state, keeper);
    const auto at = std::lower_bound(tasks.begin(), tasks.end(), call.task);
    const bool known = at != tasks.end() && *at == call.task;
    if (!known && tasks.size() < views::kKeptTasksMax) tasks.insert(at, call.task);
    store_list(fx.state, keys::kept_tasks(keeper), std::move(tasks));
}

/// Marks the state as retained, so that the segments before it can be paid.
void note_retained(const AttestRetention& call, Effects& fx) {
    auto run = must_load<market::Run>(fx.state, keys::run(call.task, call.run));
    const auto at = std::lower_bound(run.retained.begin(), run.retained.end(), call.index);
    const bool known = at != run.retained.end() && *at == call.index;
    if (run.state != market::RunState::running || known || call.index <= run.paid) return;
    run.retained.insert(at, call.index);
    // Only the newest states matter; a run with very many retained ones drops the oldest.
    if (run.retained.size() > market::kOpenItemsMax) run.retained.erase(run.retained.begin());
    store(fx.state, keys::run(call.task, call.run), run);
    advance_payments(fx, call.task, call.run);
}

}  // namespace

CallStatus check(const AttestRetention& call) {
    if (call.index == 0) return CallStatus::wrong_index;  // 14.9.1
    return CallStatus::ok;
}

CallStatus admit(const AttestRetention& call, const TxContext& context, const StateView& view) {
    if (!views::task(view, call.task)) return CallStatus::unknown_task;          // 14.9.2
    if (!views::run(view, call.task, call.run)) return CallStatus::unknown_run;  // 14.9.3
    const auto checkpoint = views::checkpoint(view, call.task, call.run, call.index);
    if (!checkpoint) return CallStatus::not_committed;  // 14.9.4
    const auto& keepers = checkpoint->keepers;
    if (std::find(keepers.begin(), keepers.end(), context.sender) != keepers.end())
        return CallStatus::already_attested;  // 14.9.5
    const auto audit = audit_before(view, call);
    if (!audit || !matched_seat(*audit, context.sender)) {
        const CallStatus offered = admit_offer(call, context, view);
        if (offered != CallStatus::ok) return offered;
    }
    if (views::stake(view, context.sender).available() < context.params.audit_bond)
        return CallStatus::stake_too_low;  // 14.9.9
    return CallStatus::ok;
}

void apply(const AttestRetention& call, const TxContext& context, Effects& fx) {
    pay_verdict(call, context.sender, fx);
    pay_offer(call, context.sender, fx);
    auto checkpoint = must_load<market::Checkpoint>(fx.state, keys::checkpoint(call.task, call.run, call.index));
    checkpoint.keepers.push_back(context.sender);
    checkpoint.kept_since.push_back(views::report_count(fx.state));
    store(fx.state, keys::checkpoint(call.task, call.run, call.index), checkpoint);
    record_kept_task(call, context.sender, fx);
    fx.emit(RetentionAttested{call.task, context.sender, call.run, call.index});
    note_retained(call, fx);
}

}  // namespace retrace::contracts
