// SPDX-License-Identifier: MIT
// The time that a solver has promised to the tasks of others (contracts 12.11), as its agent reads it.
#pragma once

#include <string>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/reservations.hpp"
#include "market/types.hpp"

namespace retrace::node {

struct ReservedTask {
    market::Reservation reservation;
    market::TaskSpec spec;
};

/// The reservations that the solver has accepted and whose tasks have not begun, with their terms.
std::vector<ReservedTask> reserved_tasks(const ledger::StateView& view, const ledger::Address& solver);

/// "reservation 3 may begin from block 50 on and before block 90"
std::string words_of(const market::Reservation& reservation);

}  // namespace retrace::node
