// SPDX-License-Identifier: MIT
#include "contracts/audits/seats.hpp"

#include "contracts/market/tasks.hpp"
#include "market/draw.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

/// Never the task's own parties, nobody twice, only members that joined before the beacon could be known.
std::vector<market::Candidate> candidates(const Effects& fx, const market::Audit& audit, std::uint64_t joined_before) {
    const auto task = must_load<market::Task>(fx.state, keys::task(audit.task));
    std::vector<Address> barred{task.requester};
    barred.insert(barred.end(), task.excluded.begin(), task.excluded.end());
    for (const std::uint32_t run : task.active)
        barred.push_back(must_load<market::Run>(fx.state, keys::run(task.id, run)).solver);
    for (const market::Seat& seat : audit.seats) barred.push_back(seat.auditor);
    std::vector<market::Candidate> out;
    for (const Address& party : views::verifiers(fx.state)) {
        if (std::find(barred.begin(), barred.end(), party) != barred.end()) continue;
        const auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
        if (info.retiring || info.joined_epoch >= joined_before) continue;
        const market::Stake stake = views::stake(fx.state, party);
        if (stake.available() < fx.params.audit_bond) continue;
        if (views::open_audits(fx.state, party).size() >= market::kOpenItemsMax) continue;
        out.push_back({party, info.weight});
    }
    return out;
}

}  // namespace

std::size_t fill_seats(Effects& fx, market::Audit& audit, std::size_t wanted, std::uint64_t joined_before) {
    const auto beacon = must_load<views::Beacon>(fx.state, keys::beacon());
    const auto drawn = market::draw_auditors(beacon.value, audit.id, static_cast<std::uint32_t>(audit.redraws),
                                             candidates(fx, audit, joined_before), wanted);
    for (const Address& party : drawn) {
        lock(fx, party, fx.params.audit_bond);
        market::Seat seat;
        seat.auditor = party;
        seat.state = market::SeatState::drawn;
        seat.bond = fx.params.audit_bond;
        audit.seats.push_back(seat);
        add_to_list(fx.state, keys::open_audits(party), audit.id);
    }
    if (!drawn.empty()) fx.emit(AuditorsDrawn{audit.id, audit.task, audit.run, audit.segment, drawn});
    return drawn.size();
}

void free_seat(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    unlock(fx, seat.auditor, seat.bond);
    seat.bond = U256();
    remove_from_list(fx.state, keys::open_audits(seat.auditor), audit.id);
}

void pay_seat(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    seat.paid = true;
    const U256 fee = pay_audit_fee(fx, audit.task, seat.auditor);
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(seat.auditor));
    ++info.audits;
    store(fx.state, keys::verifier(seat.auditor), info);
    fx.emit(AuditPaid{audit.id, seat.auditor, fee});
}

void miss_seat(Effects& fx, const market::Audit& audit, market::Seat& seat, SlashReason reason) {
    // Hiding a verdict that was committed would otherwise be a cheap way to be paid for guesses.
    const U256 penalty = reason == SlashReason::verdict_hidden
                             ? seat.bond
                             : market::split(seat.bond, fx.params.silence_penalty_bp).share;
    slash_locked(fx, seat.auditor, audit.task, penalty, {}, reason);
    seat.bond -= penalty;
    seat.state = market::SeatState::missed;
    free_seat(fx, audit, seat);
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(seat.auditor));
    ++info.missed;
    store(fx.state, keys::verifier(seat.auditor), info);
}

}  // namespace retrace::contracts
