// SPDX-License-Identifier: MIT
// Why a task expired, where its auctions and runs do not tell. Read by people's programs, and by no rule.
#pragma once

#include <optional>

#include "contracts/records/store.hpp"

namespace retrace::contracts {

/// A number is never reused.
enum class TaskEnd : std::uint8_t {
    not_audited = 1,  ///< The last run ended because a segment found no auditors (14.12.5).
    place_over = 2,   ///< An auction was due, and the deposit paid for the place no longer (12.8.4).
    paid_wrong = 3,   ///< It would have resumed before a state that a convicted run was paid for (13.7.1).
};
constexpr TaskEnd last_of(TaskEnd) { return TaskEnd::paid_wrong; }

namespace keys {
Key task_end(std::uint64_t task);  ///< Counter: a TaskEnd; none for other ends.
}  // namespace keys

namespace views {
std::optional<TaskEnd> task_end(const ledger::StateView& view, std::uint64_t task);
}  // namespace views

void note_task_end(ledger::State& state, std::uint64_t task, TaskEnd end);

}  // namespace retrace::contracts
