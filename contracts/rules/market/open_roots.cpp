// SPDX-License-Identifier: MIT
// SPEC 13.9. The solver opens states that no audit needs hidden any more.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {
CallStatus check(const OpenRoots& call) {
    if (call.roots.empty() || call.roots.size() > kOpeningsMax || call.roots.size() != call.salts.size())
        return CallStatus::count_mismatch;                                    // 13.9.1
    if (call.first > market::kSegmentsMax) return CallStatus::not_committed;  // 13.9.2
    return CallStatus::ok;
}

CallStatus admit(const OpenRoots& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;                        // 13.9.3
    if (views::is_group(view, call.task)) return CallStatus::group_task;  // 13.9.9
    for (std::size_t i = 0; i < call.roots.size(); ++i) {
        const CallStatus opening =
            admit_opening(view, call.task, call.run, call.first + i, call.salts[i], call.roots[i]);
        if (opening != CallStatus::ok) return opening;  // 13.9.4
    }
    return CallStatus::ok;
}

void apply(const OpenRoots& call, const TxContext&, Effects& fx) {
    for (std::size_t i = 0; i < call.roots.size(); ++i) {
        if (!open_state(fx, call.task, call.run, call.first + i, call.salts[i], call.roots[i])) return;
        wake_openings(fx, call.task, call.run, call.first + i);
    }
}

}  // namespace retrace::contracts
