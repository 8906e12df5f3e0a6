// SPDX-License-Identifier: MIT
// Duties and work orders that a verifier's agents have for its worker.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "solver/agent/work.hpp"
#include "solver/agent/worker_slot.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// Work that the ledger requires and that waits for the worker. `item` points into a view.
template <class Item>
struct Duty {
    std::uint64_t place = 0;
    const Item* item = nullptr;
};

/// Returns the item with the earliest place among those for which `waits` is true. The first of two items with the same
/// place wins.
template <class Item, class Waits>
std::optional<Duty<Item>> earliest_duty(const std::vector<Item>& items, Waits waits) {
    std::optional<Duty<Item>> first;
    for (const Item& item : items) {
        if (!waits(item)) continue;
        const std::uint64_t place = solver::place_of(item.due, item.deadline);
        if (!first || place < first->place) first = Duty<Item>{place, &item};
    }
    return first;
}

template <class Result>
struct AgentOrder {
    solver::WorkOrder<Result> work;
    /// Whether a view still needs the result. Empty: every view does.
    std::function<bool(const VerifierView&)> is_wanted = {};
};

}  // namespace retrace::verifier
