// SPDX-License-Identifier: MIT
// What is said before a call is sent: that it would be refused, in which state and when not, or what it costs.
#pragma once

#include <initializer_list>
#include <string_view>

#include "market/types.hpp"
#include "node/agents/chain_reader.hpp"

namespace retrace::node {

/// An error unless the task is in one of these states: "task 3 is settled, and can be topped up only while it is bidding,
/// assigned or running". `what`: such as "be topped up".
Status<> check_task_state(const market::Task& task, std::string_view what,
                          std::initializer_list<market::TaskState> allowed);
/// The same for a task that is read first; other errors are an unknown task, and the chain's.
Status<> check_task_state(ChainReader& chain, std::uint64_t task, std::string_view what,
                          std::initializer_list<market::TaskState> allowed);

/// An error where a cancel would be refused (contracts 12.2), with the state or the height that it has to wait for; else
/// what it burns of the escrow.
Result<ledger::U256> cost_of_cancel(ChainReader& chain, std::uint64_t task);

/// An error while the account has stake that unbonds or has done so: with more of it the wait of all begins again (contracts
/// 10.3). It names the height and the wait.
Status<> check_nothing_unbonds(ChainReader& chain, const ledger::Address& account);

}  // namespace retrace::node
