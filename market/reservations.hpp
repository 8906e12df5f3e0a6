// SPDX-License-Identifier: MIT
// A solver's time at a future height, kept for one task of one requester. contracts 12.11.
#pragma once

#include <string_view>

#include "market/accounts.hpp"

namespace retrace::market {

enum class ReservationState : std::uint8_t {
    offered = 1,    ///< By the requester; the solver has not accepted.
    accepted = 2,   ///< The solver's stake is locked until the requester begins the task or the time is over.
    begun = 3,      ///< The task is assigned to the solver, which has not accepted its data.
    honoured = 4,   ///< The solver runs the task.
    broken = 5,     ///< The solver did not accept the task's data.
    unused = 6,     ///< The requester did not begin the task: the solver has the deposit.
    lapsed = 7,     ///< The requester took the offer back after its time: the solver had not accepted it.
    withdrawn = 8,  ///< The requester took the offer back before.
    released = 9,   ///< The task was frozen before the solver accepted its data: both sides have theirs back.
};
constexpr ReservationState last_of(ReservationState) { return ReservationState::released; }
std::string_view slug(ReservationState state) noexcept;
/// Whether the market holds the deposit; in the other states it has returned, was paid or was burned.
constexpr bool holds_deposit(ReservationState state) {
    return state == ReservationState::offered || state == ReservationState::accepted ||
           state == ReservationState::begun;
}

struct Reservation {
    std::uint64_t id = 0;
    Address requester, solver;
    ReservationState state{};
    std::uint64_t from = 0;            ///< First height at which the task may begin,
    std::uint64_t until = 0;           ///< and the first at which it may not.
    U256 price;                        ///< Of a segment.
    U256 deposit;                      ///< What the requester put in, and what the solver loses if it breaks its word.
    U256 locked;                       ///< Stake of the solver, until the run has it.
    std::uint64_t task = 0;            ///< Once it has begun.
    std::uint64_t offered_height = 0;  ///< Block that took the deposit.
    bool operator==(const Reservation&) const = default;
    static auto tie(auto& r) {
        return std::tie(r.id, r.requester, r.solver, r.state, r.from, r.until, r.price, r.deposit, r.locked, r.task,
                        r.offered_height);
    }
    static Names names() {
        return {"id",    "requester", "solver", "state", "from",         "until",
                "price", "deposit",   "locked", "task",  "offeredHeight"};
    }
};

}  // namespace retrace::market
