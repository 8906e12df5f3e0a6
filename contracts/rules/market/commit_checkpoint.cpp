// SPDX-License-Identifier: MIT
// SPEC 13.8. The solver commits to a state without revealing it, and the segment that ends there waits for its draw.
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

CallStatus check(const CommitCheckpoint& call) {
    if (call.commitment.is_zero()) return CallStatus::commitment_zero;  // 13.8.1
    return CallStatus::ok;
}

CallStatus admit(const CommitCheckpoint& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 13.8.2
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    if (call.index != run.next_state) return CallStatus::wrong_index;                       // 13.8.3
    if (call.index > 0 && views::is_group(view, call.task)) return CallStatus::group_task;  // 13.8.13
    if (call.index > must_load<TaskSpec>(view, keys::spec(call.task)).segments())
        return CallStatus::wrong_index;                                                                   // 13.8.4
    if (call.index == 0 && !views::has_data(view, call.task, call.run)) return CallStatus::data_missing;  // 21.13.3
    if (run.next_state - run.finalised >= kUnfinalisedMax) return CallStatus::too_many_open;              // 13.8.5
    if (run.unaudited_since != 0 && context.height >= run.unaudited_since + context.params.unaudited_blocks)
        return CallStatus::too_many_open;                                              // 13.8.12
    if (views::is_given_back(view, call.task, call.run)) return CallStatus::too_late;  // 13.8.14
    // A run whose deadline has passed may still wait for its draws (13.5.1).
    if (run.deadline != 0 && context.height > moved_deadline(view, context.params, run))
        return CallStatus::too_late;  // 13.8.11
    return CallStatus::ok;
}

void apply(const CommitCheckpoint& call, const TxContext&, Effects& fx) {
    commit_state(fx, call.task, call.run, call.index, call.commitment);
    if (views::is_group(fx.state, call.task)) note_first_state(fx, call.task, call.run);
}

}  // namespace retrace::contracts
