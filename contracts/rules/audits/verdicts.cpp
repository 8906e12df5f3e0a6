// SPDX-License-Identifier: MIT
// SPEC 14.6 and 14.8. Auditors commit to their results, and reveal them after the solver.
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "solver/commitments.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SeatState;

const market::Seat* seat_of(const market::Audit& audit, const Address& party) {
    for (const market::Seat& seat : audit.seats)
        if (seat.auditor == party) return &seat;
    return nullptr;
}
market::Seat& seat_of(market::Audit& audit, const Address& party) {
    return const_cast<market::Seat&>(*seat_of(std::as_const(audit), party));
}

bool any(const market::Audit& audit, SeatState state) {
    return std::any_of(audit.seats.begin(), audit.seats.end(),
                       [&](const market::Seat& seat) { return seat.state == state; });
}

}  // namespace

CallStatus check(const CommitVerdict& call) {
    if (call.commitment.is_zero()) return CallStatus::commitment_zero;  // 14.6.1
    return CallStatus::ok;
}

CallStatus admit(const CommitVerdict& call, const TxContext& context, const StateView& view) {
    const auto audit = views::audit(view, call.audit);
    if (!audit) return CallStatus::unknown_audit;  // 14.6.2
    const market::Seat* seat = seat_of(*audit, context.sender);
    if (!seat) return CallStatus::not_auditor;                                      // 14.6.3
    if (audit->phase != AuditPhase::collecting) return CallStatus::wrong_phase;     // 14.6.4
    if (seat->state == SeatState::committed) return CallStatus::already_committed;  // 14.6.5
    if (seat->state != SeatState::drawn) return CallStatus::not_auditor;            // 14.6.6
    return CallStatus::ok;
}

void apply(const CommitVerdict& call, const TxContext& context, Effects& fx) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(call.audit));
    market::Seat& seat = seat_of(audit, context.sender);
    seat.state = SeatState::committed;
    seat.commitment = call.commitment;
    end_seat_work(fx, audit, seat);
    store(fx.state, keys::audit(call.audit), audit);
    fx.emit(VerdictCommitted{call.audit, context.sender});
    if (!any(audit, SeatState::drawn)) enter_revealing(fx, audit);
}

CallStatus check(const RevealVerdict&) { return CallStatus::ok; }

CallStatus admit(const RevealVerdict& call, const TxContext& context, const StateView& view) {
    const auto audit = views::audit(view, call.audit);
    if (!audit) return CallStatus::unknown_audit;  // 14.8.1
    const market::Seat* seat = seat_of(*audit, context.sender);
    if (!seat) return CallStatus::not_auditor;                                 // 14.8.2
    if (audit->phase != AuditPhase::verdicts) return CallStatus::wrong_phase;  // 14.8.3
    if (seat->state == SeatState::matched || seat->state == SeatState::mismatched)
        return CallStatus::already_revealed;                                    // 14.8.4
    if (seat->state != SeatState::committed) return CallStatus::not_committed;  // 14.8.5
    if (solver::verdict_commitment(call.root, call.salt, context.sender.bytes, call.audit) != seat->commitment)
        return CallStatus::wrong_opening;  // 14.8.6
    return CallStatus::ok;
}

void apply(const RevealVerdict& call, const TxContext& context, Effects& fx) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(call.audit));
    const auto end =
        must_load<market::Checkpoint>(fx.state, keys::checkpoint(audit.task, audit.run, audit.segment + 1));
    const bool matches = end.root == call.root;
    market::Seat& seat = seat_of(audit, context.sender);
    seat.state = matches ? SeatState::matched : SeatState::mismatched;
    seat.root = call.root;
    if (!matches) audit.waiting.push_back(static_cast<std::uint32_t>(&seat - audit.seats.data()));  // 15.9
    store(fx.state, keys::audit(call.audit), audit);
    fx.emit(VerdictRevealed{call.audit, context.sender, call.root, matches});
    const bool last = !any(audit, SeatState::committed);
    open_next_dispute(fx, audit.task, audit.run, audit.segment);
    audit = must_load<market::Audit>(fx.state, keys::audit(call.audit));
    if (last && audit.phase == AuditPhase::verdicts) finish_audit(fx, audit);
}

}  // namespace retrace::contracts
