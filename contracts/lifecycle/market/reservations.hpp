// SPDX-License-Identifier: MIT
// How reservations end. SPEC 12.11.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "contracts/records/reservations.hpp"

namespace retrace::contracts {

/// 12.11.12: the most reservations of a party that are offered or accepted.
inline constexpr std::size_t kReservationsMax = 16;

/// Stores the reservation in its new state and emits an event.
void move_reservation(Effects& fx, market::Reservation& reservation, market::ReservationState to);
/// The last height of an accepted reservation is over: it was not used, unless its task has begun.
void reservation_due(Effects& fx, std::uint64_t reservation);
/// The requester takes back one that is offered; from its first height on it has lapsed. Nothing is scheduled for an
/// offer: any number of them, each for the same height, would delay what others have scheduled there.
void withdraw_offer(Effects& fx, std::uint64_t reservation);
/// The solver has the task's data: the deposit returns.
void honour_reservation(Effects& fx, std::uint64_t task, std::uint32_t run);
/// The run ends through nobody's fault: the deposit of one whose data were not accepted returns.
void release_reservation(Effects& fx, std::uint64_t task, std::uint32_t run);
/// The solver did not accept the task's data: the deposit is burned. Returns it; nullopt: the run was not reserved.
std::optional<U256> break_reservation(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
