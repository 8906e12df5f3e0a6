// SPDX-License-Identifier: MIT
// The events of the contracts as answers: what subscriptions to task progress and retrace_taskEvents tell.
#pragma once

#include "ledger/chain/log_search.hpp"
#include "node/server/methods/answers.hpp"

namespace retrace::node::rpc {

/// The addresses whose events can belong to a task.
ledger::LogFilter task_event_filter();

/// The event of a log of ours, and the task that it belongs to; audits and disputes are looked up in `view`.
/// nullopt for a log of no contract of ours. `task` is 0 for what belongs to none (registrations, the
/// beacon).
std::optional<TaskEventAnswer> task_event(const ledger::LogEntry& log, const ledger::StateView& view);

/// Those of `logs` that belong to `task`, or to any task when `task` is 0.
std::vector<TaskEventAnswer> task_events(const std::vector<ledger::LogEntry>& logs,
                                         const ledger::StateView& view, std::uint64_t task);

}  // namespace retrace::node::rpc
