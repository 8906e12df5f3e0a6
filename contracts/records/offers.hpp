// SPDX-License-Identifier: MIT
// The scored offers of an auction's revealed bids, shared by the rule that clears the auction and by explain_bids.
#pragma once

#include "contracts/records/views.hpp"
#include "market/auction.hpp"

namespace retrace::contracts::views {

/// Returns the offers in the order of commitment, without unrevealed bids.
std::vector<market::Offer> offers(const StateView& view, const market::Task& task);

}  // namespace retrace::contracts::views
