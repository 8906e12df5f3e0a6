// SPDX-License-Identifier: MIT
#include "contracts/records/reservations.hpp"

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
std::optional<market::Reservation> views::reservation_of_run(const ledger::StateView& view, std::uint64_t task,
                                                             std::uint32_t run) {
    const std::uint64_t id = run == 0 ? counter(view, keys::reserved_for(task)) : 0;
    return id == 0 ? std::nullopt : reservation(view, id);
}

}  // namespace retrace::contracts
