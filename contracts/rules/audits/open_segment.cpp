// SPDX-License-Identifier: MIT
// SPEC 14.5 and 14.7. The solver opens the start of a drawn segment, and its end after the verdicts are committed.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/audits/rules.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;

/// Returns ok if the segment has an open audit in the given phase.
CallStatus admit_phase(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index,
                       AuditPhase phase) {
    const auto segment = views::segment(view, task, run, index);
    if (!segment || segment->audit == 0) return CallStatus::unknown_audit;  // 14.5.5
    const auto audit = must_load<market::Audit>(view, keys::audit(segment->audit));
    if (audit.phase == AuditPhase::waiting) return CallStatus::would_leak;   // 14.5.6
    return audit.phase == phase ? CallStatus::ok : CallStatus::wrong_phase;  // 14.5.7
}

}  // namespace

CallStatus check(const OpenSegment& call) {
    if (call.segment >= market::kSegmentsMax) return CallStatus::unknown_audit;  // 14.5.1
    return CallStatus::ok;
}

CallStatus admit(const OpenSegment& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;                        // 14.5.2
    if (views::is_group(view, call.task)) return CallStatus::group_task;  // 14.5.8
    const CallStatus phase = admit_phase(view, call.task, call.run, call.segment, AuditPhase::opening);
    if (phase != CallStatus::ok) return phase;                                            // 14.5.3
    return admit_opening(view, call.task, call.run, call.segment, call.salt, call.root);  // 14.5.4
}

void apply(const OpenSegment& call, const TxContext&, Effects& fx) {
    if (open_state(fx, call.task, call.run, call.segment, call.salt, call.root))
        wake_openings(fx, call.task, call.run, call.segment);
}

CallStatus check(const RevealSegment& call) {
    if (call.segment >= market::kSegmentsMax) return CallStatus::unknown_audit;  // 14.7.1
    return CallStatus::ok;
}

CallStatus admit(const RevealSegment& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;                        // 14.7.2
    if (views::is_group(view, call.task)) return CallStatus::group_task;  // 14.7.5
    const CallStatus phase = admit_phase(view, call.task, call.run, call.segment, AuditPhase::revealing);
    if (phase != CallStatus::ok) return phase;                                                // 14.7.3
    return admit_opening(view, call.task, call.run, call.segment + 1, call.salt, call.root);  // 14.7.4
}

void apply(const RevealSegment& call, const TxContext&, Effects& fx) {
    if (open_state(fx, call.task, call.run, call.segment + 1, call.salt, call.root))
        wake_openings(fx, call.task, call.run, call.segment + 1);
}

}  // namespace retrace::contracts
