// SPDX-License-Identifier: MIT
// The contracts' events in JSON, for subscriptions to task progress and retrace_taskEvents.
#pragma once

#include "ledger/chain/log_search.hpp"
#include "node/server/methods/answers.hpp"

namespace retrace::node::rpc {

/// Matches the native contracts, whose events can belong to a task.
ledger::LogFilter task_event_filter();

/// Decodes a log of a native contract and finds its task; audits and disputes are looked up in `view`. nullopt if the
/// log is no event of a native contract. `task` is 0 if the event belongs to none (registrations, the beacon).
std::optional<TaskEventAnswer> task_event(const ledger::LogEntry& log, const ledger::StateView& view);

/// The events in `logs` that belong to `task`, or to any task if `task` is 0.
std::vector<TaskEventAnswer> task_events(const std::vector<ledger::LogEntry>& logs, const ledger::StateView& view,
                                         std::uint64_t task);

}  // namespace retrace::node::rpc
