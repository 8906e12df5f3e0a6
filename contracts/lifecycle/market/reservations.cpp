// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/market/reservations.hpp"

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {
namespace {

using market::ReservationState;

/// Ends one that is offered or accepted; its deposit goes to `to`.
void end_unbegun(Effects& fx, market::Reservation& reservation, ReservationState state, const Address& to) {
    unlock(fx, reservation.solver, std::exchange(reservation.locked, U256()));
    remove_from_list(fx.state, keys::reservations(reservation.requester), reservation.id);
    remove_from_list(fx.state, keys::reservations(reservation.solver), reservation.id);
    remove(fx.state, keys::reserved_spec(reservation.id));
    move_reservation(fx, reservation, state);
    pay(fx, Contract::market, to, reservation.deposit);
}

/// Ends one whose task has begun, and returns it; the caller moves its deposit.
std::optional<market::Reservation> end_begun(Effects& fx, std::uint64_t task, std::uint32_t run,
                                             ReservationState state) {
    auto reservation = views::reservation_of_run(fx.state, task, run);
    if (reservation) move_reservation(fx, *reservation, state);
    return reservation;
}

/// Ends one whose task has begun; its deposit returns.
void return_begun(Effects& fx, std::uint64_t task, std::uint32_t run, ReservationState state) {
    const auto ended = end_begun(fx, task, run, state);
    if (ended) pay(fx, Contract::market, ended->requester, ended->deposit);
}

}  // namespace

void move_reservation(Effects& fx, market::Reservation& reservation, ReservationState to) {
    reservation.state = to;
    store(fx.state, keys::reservation(reservation.id), reservation);
    fx.emit(ReservationChanged{reservation.id, static_cast<std::uint8_t>(to), reservation.task});
}

void reservation_due(Effects& fx, std::uint64_t id) {
    auto reservation = must_load<market::Reservation>(fx.state, keys::reservation(id));
    if (reservation.state != ReservationState::accepted) return;
    end_unbegun(fx, reservation, ReservationState::unused, reservation.solver);
    fx.emit(ReservationPaid{id, reservation.solver, reservation.deposit});
}

void withdraw_offer(Effects& fx, std::uint64_t id) {
    auto reservation = must_load<market::Reservation>(fx.state, keys::reservation(id));
    const auto end = fx.height < reservation.from ? ReservationState::withdrawn : ReservationState::lapsed;
    end_unbegun(fx, reservation, end, reservation.requester);
}

void honour_reservation(Effects& fx, std::uint64_t task, std::uint32_t run) {
    return_begun(fx, task, run, ReservationState::honoured);
}

void release_reservation(Effects& fx, std::uint64_t task, std::uint32_t run) {
    return_begun(fx, task, run, ReservationState::released);
}

std::optional<U256> break_reservation(Effects& fx, std::uint64_t task, std::uint32_t run) {
    const auto broken = end_begun(fx, task, run, ReservationState::broken);
    if (!broken) return std::nullopt;
    burn_held(fx, Contract::market, broken->deposit);
    return broken->deposit;
}

}  // namespace retrace::contracts
