// SPDX-License-Identifier: MIT
// Says what a reservation waits for or what became of it, what can be done, and what happens next.
#pragma once

#include <optional>
#include <string>

#include "ledger/state/view.hpp"
#include "market/reservations.hpp"

namespace retrace::node {

struct ReservationExplanation {
    std::string why;                           ///< What its state means, one sentence.
    std::string remedy;                        ///< What either side can do; empty: nothing need be done.
    std::string next;                          ///< What happens next; empty: nothing.
    std::optional<std::uint64_t> next_height;  ///< By when; nullopt: no height is set.
};

/// `height`: of `view`, from which the task of one that has begun is read.
ReservationExplanation explain_reservation(const ledger::StateView& view, const market::Reservation& reservation,
                                           std::uint64_t height);

}  // namespace retrace::node
