// SPDX-License-Identifier: MIT
// The auctions that a task may still have, and their ceilings. SPEC 12.10, 12.12.
#pragma once

#include <optional>

#include "contracts/records/store.hpp"
#include "market/price_curve.hpp"

namespace retrace::contracts {

namespace keys {
Key auctions(std::uint64_t task);  ///< Of a task that has several or was topped up, until it ends.
}  // namespace keys

namespace views {
std::optional<market::Auctions> auctions(const ledger::StateView& view, std::uint64_t task);
/// The same; if the task has none, what it says of a task with one auction and the ceiling of `spec`.
market::Auctions auctions_or_one(const ledger::StateView& view, std::uint64_t task, const market::TaskSpec& spec);
/// The height from which the task's newest auction takes bids (12.3.16).
std::uint64_t bids_begin(const market::Params& params, const market::Task& task);
/// The auction that would follow; nullopt for an unknown task or one that has ended.
std::optional<market::NextAuction> next_auction(const ledger::StateView& view, std::uint64_t task);
}  // namespace views

}  // namespace retrace::contracts
