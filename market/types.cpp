// SPDX-License-Identifier: MIT
#include "market/types.hpp"

namespace retrace::market {

std::string_view slug(SegmentState state) noexcept {
    switch (state) {
        case SegmentState::waiting_draw: return "waiting_draw";
        case SegmentState::unaudited: return "unaudited";
        case SegmentState::auditing: return "auditing";
        case SegmentState::verified: return "verified";
    }
    return "invalid";
}

std::string_view slug(AuditPhase phase) noexcept {
    switch (phase) {
        case AuditPhase::waiting: return "waiting";
        case AuditPhase::opening: return "opening";
        case AuditPhase::collecting: return "collecting";
        case AuditPhase::drawing: return "drawing";
        case AuditPhase::revealing: return "revealing";
        case AuditPhase::verdicts: return "verdicts";
        case AuditPhase::closed: return "closed";
        case AuditPhase::no_auditors: return "no_auditors";
    }
    return "invalid";
}

std::string_view slug(DisputeState state) noexcept {
    switch (state) {
        case DisputeState::open: return "open";
        case DisputeState::solver_lost: return "solver_lost";
        case DisputeState::challenger_lost: return "challenger_lost";
        case DisputeState::withdrawn: return "withdrawn";
    }
    return "invalid";
}

}  // namespace retrace::market
