// SPDX-License-Identifier: MIT
// The auctions that a task may still have, and their ceilings. SPEC 12.10, 12.12.
#pragma once

#include <optional>

#include "contracts/records/store.hpp"
#include "market/params.hpp"
#include "market/price_curve.hpp"

namespace retrace::contracts {

using ledger::U256;

namespace keys {
Key auctions(std::uint64_t task);  ///< Of a task that has several or was topped up, until it ends.
Key run_ceiling(std::uint64_t task, std::uint32_t run);  ///< Amount: of the auction that began it.
}  // namespace keys

namespace views {
std::optional<market::Auctions> auctions(const ledger::StateView& view, std::uint64_t task);
/// The same; if the task has none, what it says of a task with one auction and the ceiling of `spec`.
market::Auctions auctions_or_one(const ledger::StateView& view, std::uint64_t task, const market::TaskSpec& spec);
/// The height from which the task's newest auction takes bids (12.3.16).
std::uint64_t bids_begin(const market::Params& params, const market::Task& task);
/// The most that a segment could cost in the auction that began the run; for a reserved run the first ceiling (12.12.10).
/// A member that joined a group has the ceiling of the task, which changes no more. The task exists (asserted).
U256 run_ceiling(const ledger::StateView& view, std::uint64_t task, std::uint32_t run);
/// The auction that would follow; nullopt for an unknown task or one that has ended.
std::optional<market::NextAuction> next_auction(const ledger::StateView& view, std::uint64_t task);
}  // namespace views

}  // namespace retrace::contracts
