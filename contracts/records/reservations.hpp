// SPDX-License-Identifier: MIT
// The records of reservations. SPEC 12.11.
#pragma once

#include "contracts/records/store.hpp"
#include "market/reservations.hpp"
#include "market/types.hpp"

namespace retrace::contracts {

namespace keys {
Key reservation_count();
Key reservation(std::uint64_t reservation);
Key reserved_spec(std::uint64_t reservation);  ///< TaskSpec
Key reservations(
    const ledger::Address& party);     ///< That a solver has accepted or a requester offered, not begun or over.
Key reserved_for(std::uint64_t task);  ///< Counter: the reservation by which the task began.
}  // namespace keys

namespace views {
std::uint64_t reservation_count(const ledger::StateView& view);  ///< Ids are 1 .. reservation_count.
std::optional<market::Reservation> reservation(const ledger::StateView& view, std::uint64_t reservation);
std::optional<market::TaskSpec> reserved_spec(const ledger::StateView& view, std::uint64_t reservation);
std::vector<std::uint64_t> reservations(const ledger::StateView& view, const ledger::Address& party);
/// Of a solver: its runs that are not over, its bids in open auctions and the reservations that it has accepted. Each bid
/// and each reservation may become a run (12.3.12).
std::size_t open_work(const ledger::StateView& view, const ledger::Address& solver);
/// The reservation by which the task began; nullopt: it began with an auction.
std::optional<market::Reservation> reservation_of_task(const ledger::StateView& view, std::uint64_t task);
/// The reservation whose solver has this run of the task and has not accepted its data.
std::optional<market::Reservation> reservation_of_run(const ledger::StateView& view, std::uint64_t task,
                                                      std::uint32_t run);
}  // namespace views

}  // namespace retrace::contracts
