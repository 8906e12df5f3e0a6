// SPDX-License-Identifier: MIT
#include "contracts/records/reservations.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"

namespace retrace::contracts {

std::uint64_t views::reservation_count(const ledger::StateView& view) {
    return counter(view, keys::reservation_count());
}
std::optional<market::Reservation> views::reservation(const ledger::StateView& view, std::uint64_t reservation) {
    return load<market::Reservation>(view, keys::reservation(reservation));
}
std::optional<market::TaskSpec> views::reserved_spec(const ledger::StateView& view, std::uint64_t reservation) {
    return load<market::TaskSpec>(view, keys::reserved_spec(reservation));
}
std::vector<std::uint64_t> views::reservations(const ledger::StateView& view, const ledger::Address& party) {
    return list<std::uint64_t>(view, keys::reservations(party));
}
std::size_t views::open_work(const ledger::StateView& view, const ledger::Address& solver) {
    const auto own = reservations(view, solver);
    const auto accepted = std::count_if(own.begin(), own.end(), [&](std::uint64_t id) {
        const auto known = reservation(view, id);
        return known && known->solver == solver && known->state == market::ReservationState::accepted;
    });
    return open_runs(view, solver).size() + open_bids(view, solver) + static_cast<std::size_t>(accepted);
}
std::optional<market::Reservation> views::reservation_of_task(const ledger::StateView& view, std::uint64_t task) {
    const std::uint64_t id = counter(view, keys::reserved_for(task));
    return id == 0 ? std::nullopt : reservation(view, id);
}
std::optional<market::Reservation> views::reservation_of_run(const ledger::StateView& view, std::uint64_t task,
                                                             std::uint32_t run) {
    auto out = run == 0 ? reservation_of_task(view, task) : std::nullopt;
    if (out && out->state != market::ReservationState::begun) return std::nullopt;
    return out;
}

}  // namespace retrace::contracts
