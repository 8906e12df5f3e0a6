// SPDX-License-Identifier: MIT
// SPEC 12.11. A requester asks a solver for its time, or takes its offer back, the solver promises it, and the requester
// uses it.
#include "contracts/lifecycle/market/reservations.hpp"

#include "contracts/lifecycle/market/posting.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "contracts/rules/market/rules.hpp"
#include "market/escrow.hpp"
#include "market/odds.hpp"

namespace retrace::contracts {
namespace {

using market::Reservation;
using market::ReservationState;

constexpr std::uint64_t kAheadMax = 28 * 86'400;  // Four weeks of blocks of a second.

bool has_room(const StateView& view, const Address& party) {
    return views::reservations(view, party).size() < kReservationsMax;
}

}  // namespace

CallStatus check(const Reserve& call) {
    const CallStatus terms = check_terms(call.spec, 1);
    if (terms != CallStatus::ok) return terms;                                        // 12.11.1
    if (call.price.is_zero()) return CallStatus::price_zero;                          // 12.11.2
    if (call.spec.price_ceiling < call.price) return CallStatus::price_over_ceiling;  // 12.11.3
    if (call.until <= call.from) return CallStatus::duration_out_of_range;            // 12.11.4
    return CallStatus::ok;
}

CallStatus admit(const Reserve& call, const TxContext& context, const StateView& view) {
    if (call.from <= context.height) return CallStatus::too_late;                           // 12.11.5
    if (call.until - context.height > kAheadMax) return CallStatus::duration_out_of_range;  // 12.11.6
    if (call.solver == context.sender) return CallStatus::own_task;                         // 12.11.7
    const auto solver = views::solver(view, call.solver);
    if (!solver) return CallStatus::not_registered;  // 12.11.8
    if (call.spec.hardware_class != 0 && call.spec.hardware_class != solver->hardware_class)
        return CallStatus::wrong_hardware;  // 12.11.9
    const CallStatus terms = admit_chain_terms(call.spec, context.params);
    if (terms != CallStatus::ok) return terms;  // 12.11.10
    const U256 floor = *market::stake_floor(context.params, call.spec);
    if (context.value.is_zero() || floor < context.value) return CallStatus::wrong_value;  // 12.11.11
    if (!has_room(view, context.sender)) return CallStatus::too_many_open;                 // 12.11.12
    return CallStatus::ok;
}

void apply(const Reserve& call, const TxContext& context, Effects& fx) {
    Reservation out;
    out.id = next_id(fx.state, keys::reservation_count());
    out.requester = context.sender;
    out.solver = call.solver;
    out.state = ReservationState::offered;
    out.from = call.from;
    out.until = call.until;
    out.price = call.price;
    out.deposit = context.value;
    out.offered_height = context.height;
    store(fx.state, keys::reservation(out.id), out);
    store(fx.state, keys::reserved_spec(out.id), call.spec);
    add_to_list(fx.state, keys::reservations(out.requester), out.id);
    fx.emit(TimeReserved{out.id, out.requester, out.solver, out.price, out.from, out.until, out.deposit});
}

CallStatus check(const WithdrawReservation&) { return CallStatus::ok; }

CallStatus admit(const WithdrawReservation& call, const TxContext& context, const StateView& view) {
    const auto reservation = views::reservation(view, call.reservation);
    if (!reservation) return CallStatus::unknown_reservation;                                         // 12.11.30
    if (reservation->requester != context.sender) return CallStatus::not_requester;                   // 12.11.31
    if (reservation->state != ReservationState::offered) return CallStatus::wrong_reservation_state;  // 12.11.32
    return CallStatus::ok;
}

void apply(const WithdrawReservation& call, const TxContext&, Effects& fx) { withdraw_offer(fx, call.reservation); }

CallStatus check(const AcceptReservation&) { return CallStatus::ok; }

CallStatus admit(const AcceptReservation& call, const TxContext& context, const StateView& view) {
    const auto reservation = views::reservation(view, call.reservation);
    if (!reservation) return CallStatus::unknown_reservation;                                               // 12.11.13
    if (reservation->solver != context.sender) return CallStatus::not_solver;                               // 12.11.14
    if (reservation->state != ReservationState::offered) return CallStatus::wrong_reservation_state;        // 12.11.15
    if (context.height >= reservation->from) return CallStatus::too_late;                                   // 12.11.16
    if (!has_room(view, context.sender)) return CallStatus::too_many_open;                                  // 12.11.17
    if (views::open_work(view, context.sender) >= market::kOpenItemsMax) return CallStatus::too_many_open;  // 12.11.29
    const auto spec = must_load<TaskSpec>(view, keys::reserved_spec(call.reservation));
    const auto floor = market::stake_floor(context.params, spec);
    if (views::free_stake(view, context.params, context.sender) < *floor) return CallStatus::stake_too_low;  // 12.11.18
    return CallStatus::ok;
}

void apply(const AcceptReservation& call, const TxContext& context, Effects& fx) {
    auto reservation = must_load<Reservation>(fx.state, keys::reservation(call.reservation));
    const auto spec = must_load<TaskSpec>(fx.state, keys::reserved_spec(call.reservation));
    reservation.locked = *market::stake_floor(fx.params, spec);
    lock(fx, context.sender, reservation.locked);
    add_to_list(fx.state, keys::reservations(context.sender), reservation.id);
    schedule(fx, reservation.until, {ScheduledKind::reservation, reservation.id, 0, 0});
    move_reservation(fx, reservation, ReservationState::accepted);
}

CallStatus check(const BeginReserved&) { return CallStatus::ok; }

CallStatus admit(const BeginReserved& call, const TxContext& context, const StateView& view) {
    const auto reservation = views::reservation(view, call.reservation);
    if (!reservation) return CallStatus::unknown_reservation;                                          // 12.11.19
    if (reservation->requester != context.sender) return CallStatus::not_requester;                    // 12.11.20
    if (reservation->state != ReservationState::accepted) return CallStatus::wrong_reservation_state;  // 12.11.21
    if (context.height < reservation->from) return CallStatus::too_early;                              // 12.11.22
    if (context.height >= reservation->until) return CallStatus::too_late;                             // 12.11.23
    return admit_terms(must_load<TaskSpec>(view, keys::reserved_spec(call.reservation)), nullptr, context,
                       view);  // 12.11.24
}

void apply(const BeginReserved& call, const TxContext& context, Effects& fx) {
    auto reservation = must_load<Reservation>(fx.state, keys::reservation(call.reservation));
    const auto spec = must_load<TaskSpec>(fx.state, keys::reserved_spec(call.reservation));
    remove_from_list(fx.state, keys::reservations(reservation.requester), reservation.id);
    remove_from_list(fx.state, keys::reservations(reservation.solver), reservation.id);
    remove(fx.state, keys::reserved_spec(reservation.id));
    market::Task task = new_task(fx, context.sender, spec, context.value);
    reservation.task = task.id;
    const U256 locked = std::exchange(reservation.locked, U256());  // From now on it belongs to the run.
    store(fx.state, keys::reserved_for(task.id), Counter{reservation.id});
    move_reservation(fx, reservation, ReservationState::begun);
    assign_reserved(fx, task, {reservation.solver, reservation.price, locked, fx.height + spec.finish_blocks});
}

}  // namespace retrace::contracts
