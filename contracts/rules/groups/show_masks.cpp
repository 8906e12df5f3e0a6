// SPDX-License-Identifier: MIT
// SPEC 21.11.33. The masks over a message are shown when its segment was drawn for an audit, before auditors are drawn.
#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/rules/groups/rules.hpp"
#include "market/masks/opening.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;

market::RoundMessage message_of(const StateView& view, const ShowMasks& call, const market::MemberSegment& segment) {
    return must_load<market::RoundMessage>(view, keys::round_message(call.task, segment.base + segment.age, call.run));
}

/// The masks that the secrets and keys give, if these are the ones of the round, and the message was committed with them.
std::optional<std::vector<market::MaskTerm>> shown_masks(const StateView& view, const ShowMasks& call,
                                                         const market::MemberSegment& segment) {
    const auto opening = market::decode_mask_opening(call.masks);
    if (!opening) return std::nullopt;
    const market::RoundMessage message = message_of(view, call, segment);
    if (!market::opens(*opening, call.run, message.dealers)) return std::nullopt;
    auto terms = market::message_terms({call.task, segment.base + segment.age, 0}, call.run, *opening);
    if (mask_root_of(terms) != message.mask_root) return std::nullopt;
    return terms;
}

}  // namespace

CallStatus check(const ShowMasks& call) {
    if (call.segment >= market::kSegmentsMax) return CallStatus::unknown_audit;  // 21.11.36
    return CallStatus::ok;
}

CallStatus admit(const ShowMasks& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;                        // 21.11.36
    if (!views::is_group(view, call.task)) return CallStatus::not_group;  // 21.11.36
    const auto segment = views::segment(view, call.task, call.run, call.segment);
    if (!segment || segment->audit == 0) return CallStatus::unknown_audit;  // 21.11.37
    const auto member = views::member_segment(view, call.task, call.run, call.segment);
    if (member->masks == 0) return CallStatus::not_masked;                                  // 21.11.37
    if (!message_of(view, call, *member).masks.empty()) return CallStatus::already_opened;  // 21.11.37
    const auto audit = must_load<market::Audit>(view, keys::audit(segment->audit));
    if (audit.phase != AuditPhase::opening) return CallStatus::wrong_phase;              // 21.11.37
    return shown_masks(view, call, *member) ? CallStatus::ok : CallStatus::wrong_masks;  // 21.11.38
}

void apply(const ShowMasks& call, const TxContext&, Effects& fx) {
    const auto member =
        must_load<market::MemberSegment>(fx.state, keys::member_segment(call.task, call.run, call.segment));
    market::RoundMessage message = message_of(fx.state, call, member);
    message.masks = *shown_masks(fx.state, call, member);
    store(fx.state, keys::round_message(call.task, member.base + member.age, call.run), message);
    const auto segment = must_load<market::Segment>(fx.state, keys::segment(call.task, call.run, call.segment));
    auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
    const std::uint64_t from = views::start_of_segment(fx.state, call.task, call.run, call.segment);
    if (must_load<market::Checkpoint>(fx.state, keys::checkpoint(call.task, call.run, from)).opened)
        enter_drawing(fx, audit, fx.height);
}

}  // namespace retrace::contracts
