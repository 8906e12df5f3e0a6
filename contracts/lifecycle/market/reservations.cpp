// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/market/reservations.hpp"

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {
namespace {

using market::ReservationState;

/// Ends one that is offered or accepted; its deposit goes to `to`.
void end_unbegun(Effects& fx, market::Reservation& reservation, ReservationState state, const Address& to) {
    const U256 deposit = std::exchange(reservation.deposit, U256());
    unlock(fx, reservation.solver, std::exchange(reservation.locked, U256()));
    remove_from_list(fx.state, keys::reservations(reservation.requester), reservation.id);
    remove_from_list(fx.state, keys::reservations(reservation.solver), reservation.id);
    remove(fx.state, keys::reserved_spec(reservation.id));
    move_reservation(fx, reservation, state);
    pay(fx, Contract::market, to, deposit);
}

/// Takes the deposit of one whose task has begun.
std::optional<U256> end_begun(Effects& fx, std::uint64_t task, std::uint32_t run, ReservationState state) {
    auto reservation = views::reservation_of_run(fx.state, task, run);
    if (!reservation) return std::nullopt;
    remove(fx.state, keys::reserved_for(task));
    const U256 deposit = std::exchange(reservation->deposit, U256());
    move_reservation(fx, *reservation, state);
    return deposit;
}

}  // namespace

void move_reservation(Effects& fx, market::Reservation& reservation, ReservationState to) {
    reservation.state = to;
    store(fx.state, keys::reservation(reservation.id), reservation);
    fx.emit(ReservationChanged{reservation.id, static_cast<std::uint8_t>(to), reservation.task});
}

void reservation_due(Effects& fx, std::uint64_t id) {
    auto reservation = must_load<market::Reservation>(fx.state, keys::reservation(id));
    if (reservation.state == ReservationState::offered)
        return end_unbegun(fx, reservation, ReservationState::lapsed, reservation.requester);
    if (reservation.state == ReservationState::accepted && fx.height >= reservation.until)
        end_unbegun(fx, reservation, ReservationState::unused, reservation.solver);
}

void honour_reservation(Effects& fx, std::uint64_t task, std::uint32_t run) {
    const auto reservation = views::reservation_of_run(fx.state, task, run);
    const auto deposit = end_begun(fx, task, run, ReservationState::honoured);
    if (deposit) pay(fx, Contract::market, reservation->requester, *deposit);
}

std::optional<U256> break_reservation(Effects& fx, std::uint64_t task, std::uint32_t run) {
    const auto deposit = end_begun(fx, task, run, ReservationState::broken);
    if (deposit) burn_held(fx, Contract::market, *deposit);
    return deposit;
}

}  // namespace retrace::contracts
