// SPDX-License-Identifier: MIT
#include "node/agents/reserved_time.hpp"

#include "contracts/records/reservations.hpp"

namespace retrace::node {

std::vector<ReservedTask> reserved_tasks(const ledger::StateView& view, const ledger::Address& solver) {
    std::vector<ReservedTask> out;
    for (const std::uint64_t id : contracts::views::reservations(view, solver)) {
        auto reservation = contracts::views::reservation(view, id);
        if (!reservation || reservation->solver != solver || reservation->state != market::ReservationState::accepted)
            continue;  // It has offered this one itself, as a requester.
        if (auto spec = contracts::views::reserved_spec(view, id))
            out.push_back({std::move(*reservation), std::move(*spec)});
    }
    return out;
}

std::string words_of(const market::Reservation& reservation) {
    return "reservation " + std::to_string(reservation.id) + " may begin from block " +
           std::to_string(reservation.from) + " on and before block " + std::to_string(reservation.until);
}

}  // namespace retrace::node
