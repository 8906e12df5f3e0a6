// SPDX-License-Identifier: MIT
// The list of open tasks, in pages, and what each place in it costs. SPEC 12.1.18, 12.8.
#pragma once

#include <optional>

#include "contracts/records/store.hpp"
#include "market/places.hpp"

namespace retrace::contracts {

using ledger::U256;

namespace keys {
/// Page 0 is active_tasks(). Each page is ascending and has at most market::kRecordListMax ids.
Key open_tasks_page(std::uint64_t page);
Key place(std::uint64_t task);  ///< Only of a task that pays rent.
}  // namespace keys

namespace views {
/// Returns the number of open tasks.
std::uint64_t open_tasks(const ledger::StateView& view);
std::optional<market::Place> place(const ledger::StateView& view, std::uint64_t task);
/// 12.8.4: whether the task has held its place for as long as its deposit pays for.
bool is_rent_over(const ledger::StateView& view, const market::Task& task, std::uint64_t height);
/// 12.10.11: the height at which the last of `more` auctions begins that follow the open one, or that the run leaves behind
/// if it ends at `height`, if none of them has winners.
std::uint64_t last_auction_begins(const market::Params& params, const market::Task& task, std::uint64_t pause_blocks,
                                  std::uint64_t height, std::uint64_t more);
/// What a task's deposit lacks so that an auction may still begin at `height`; zero for a place without rent.
U256 missing_rent(const ledger::StateView& view, const market::Task& task, std::uint64_t height);
/// Returns what a bid burns for its place if `more` others come before it; nullopt when the auction is full.
std::optional<U256> bid_place_fee(const ledger::StateView& view, const market::Params& params, const market::Task& task,
                                  std::size_t more = 0);
/// Returns the least deposit for the rent of a task (12.8) if `more` others are posted before it; nullopt when no place
/// is free. `group` is given for a group.
std::optional<U256> rent_deposit(const ledger::StateView& view, const market::Params& params,
                                 const market::TaskSpec& spec, const market::GroupSpec* group, std::uint64_t more = 0);
}  // namespace views

/// Adds a task to the first page that has room; there is one (12.1.18, asserted).
void add_open_task(ledger::State& state, std::uint64_t task);
/// Removes a task from the page that holds it.
void remove_open_task(ledger::State& state, std::uint64_t task);

}  // namespace retrace::contracts
