// SPDX-License-Identifier: MIT
#include "contracts/records/task_end.hpp"

namespace retrace::contracts {

std::optional<TaskEnd> views::task_end(const ledger::StateView& view, std::uint64_t task) {
    const std::uint64_t noted = counter(view, keys::task_end(task));
    if (noted == 0 || noted > static_cast<std::uint64_t>(last_of(TaskEnd{}))) return std::nullopt;  // A node may lie.
    return static_cast<TaskEnd>(noted);
}

void note_task_end(ledger::State& state, std::uint64_t task, TaskEnd end) {
    store(state, keys::task_end(task), Counter{static_cast<std::uint64_t>(end)});
}

}  // namespace retrace::contracts
