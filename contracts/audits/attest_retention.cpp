// SPDX-License-Identifier: MIT
// SPEC 14.9. Who verified a segment keeps its end for a successor, and is paid.
#include "contracts/audits/rules.hpp"
#include "contracts/audits/seats.hpp"
#include "contracts/market/runs.hpp"

namespace retrace::contracts {
namespace {

/// The newest audit of the segment that ends in state `index`.
std::optional<market::Audit> audit_before(const StateView& view, std::uint64_t task, std::uint32_t run,
                                          std::uint64_t index) {
    const auto segment = views::segment(view, task, run, index - 1);
    if (!segment || segment->state != market::SegmentState::verified) return std::nullopt;
    return views::audit(view, segment->audit);
}

}  // namespace

Verdict check(const AttestRetention& call) {
    if (call.index == 0) return Verdict::wrong_index;                                       // 14.9.1
    return Verdict::ok;
}

Verdict admit(const AttestRetention& call, const TxContext& context, const StateView& view) {
    if (!views::task(view, call.task)) return Verdict::unknown_task;                        // 14.9.2
    if (!views::run(view, call.task, call.run)) return Verdict::unknown_run;                // 14.9.3
    const auto audit = audit_before(view, call.task, call.run, call.index);
    if (!audit) return Verdict::not_matched;                                                // 14.9.4
    for (const market::Seat& seat : audit->seats)
        if (seat.auditor == context.sender && seat.state == market::SeatState::matched)
            return seat.paid ? Verdict::already_attested : Verdict::ok;                     // 14.9.5
    return Verdict::not_matched;                                                            // 14.9.6
}

void apply(const AttestRetention& call, const TxContext& context, Effects& fx) {
    auto audit = audit_before(fx.state, call.task, call.run, call.index).value();
    for (market::Seat& seat : audit.seats)
        if (seat.auditor == context.sender) pay_seat(fx, audit, seat);
    store(fx.state, keys::audit(audit.id), audit);
    auto checkpoint = must_load<market::Checkpoint>(fx.state, keys::checkpoint(call.task, call.run, call.index));
    checkpoint.keepers.push_back(context.sender);
    store(fx.state, keys::checkpoint(call.task, call.run, call.index), checkpoint);
    fx.emit(RetentionAttested{call.task, context.sender, call.run, call.index});
    auto run = must_load<market::Run>(fx.state, keys::run(call.task, call.run));
    const auto at = std::lower_bound(run.retained.begin(), run.retained.end(), call.index);
    const bool known = at != run.retained.end() && *at == call.index;
    if (run.state != market::RunState::running || known || call.index <= run.paid) return;
    run.retained.insert(at, call.index);
    // What matters are the newest states; a run with very many retained ones forgets the oldest.
    if (run.retained.size() > market::kOpenItemsMax) run.retained.erase(run.retained.begin());
    store(fx.state, keys::run(call.task, call.run), run);
    advance_payments(fx, call.task, call.run);
}

}  // namespace retrace::contracts
