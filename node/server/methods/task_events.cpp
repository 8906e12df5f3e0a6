// SPDX-License-Identifier: MIT
#include "node/server/methods/task_events.hpp"

#include "contracts/calls/encode.hpp"

namespace retrace::node::rpc {
namespace {

namespace views = contracts::views;

template <class Event>
std::uint64_t task_of(const Event& event, const ledger::StateView& view) {
    if constexpr (requires { event.task; }) {
        return event.task;
    } else if constexpr (requires { event.audit; }) {
        const auto audit = views::audit(view, event.audit);
        return audit ? audit->task : 0;
    } else if constexpr (requires { event.dispute; }) {
        const auto dispute = views::dispute(view, event.dispute);
        return dispute ? dispute->task : 0;
    } else {
        return 0;
    }
}

}  // namespace

ledger::LogFilter task_event_filter() {
    ledger::LogFilter filter;
    for (const contracts::Contract contract : contracts::kContracts)
        filter.addresses.push_back(contracts::address_of(contract));
    return filter;
}

std::optional<TaskEventAnswer> task_event(const ledger::LogEntry& log, const ledger::StateView& view) {
    const auto decoded = contracts::decode_any_event(log.log);
    if (!decoded) return std::nullopt;
    TaskEventAnswer out;
    out.height = log.height;
    out.block_hash = log.block_hash;
    out.transaction_hash = log.tx_hash;
    out.log_index = log.log_index;
    std::visit(
        [&](const auto& event) {
            out.task = task_of(event, view);
            out.event = event.kName;
            out.arguments = record_json(event).as_object();
        },
        *decoded);
    return out;
}

std::vector<TaskEventAnswer> task_events(const std::vector<ledger::LogEntry>& logs, const ledger::StateView& view,
                                         std::uint64_t task) {
    std::vector<TaskEventAnswer> out;
    for (const ledger::LogEntry& log : logs) {
        auto event = task_event(log, view);
        if (event && event->task != 0 && (task == 0 || event->task == task)) out.push_back(std::move(*event));
    }
    return out;
}

}  // namespace retrace::node::rpc
