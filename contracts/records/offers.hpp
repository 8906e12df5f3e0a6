// SPDX-License-Identifier: MIT
// The revealed bids of an auction as it weighs them: one reading for the rule that clears it and for whoever
// explains it.
#pragma once

#include "contracts/records/views.hpp"
#include "market/auction.hpp"

namespace retrace::contracts::views {

/// In the order of commitment. Bids that are not revealed are left out.
std::vector<market::Offer> offers(const StateView& view, const market::Task& task);

}  // namespace retrace::contracts::views
