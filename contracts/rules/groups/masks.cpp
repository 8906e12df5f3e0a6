// SPDX-License-Identifier: MIT
// SPEC 21.11. Members post keys and deal shares before they send messages, and reveal shares when the record is fixed.
#include "contracts/lifecycle/groups/masks.hpp"

#include <algorithm>

#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/rules/groups/rules.hpp"

namespace retrace::contracts {
namespace {

using market::GroupPhase;
using market::MaskError;
using market::MaskStep;

CallStatus status_of(MaskError error) {
    switch (error) {
        case MaskError::wrong_length: return CallStatus::mask_wrong_length;
        case MaskError::off_curve: return CallStatus::mask_off_curve;
        case MaskError::same_key: return CallStatus::mask_same_key;
        case MaskError::wrong_share: return CallStatus::mask_wrong_share;
        case MaskError::wrong_proof: return CallStatus::mask_wrong_proof;
        default: return CallStatus::mask_wrong_count;
    }
}

bool takes_part(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

/// Conditions of the four calls; `step` is the one in which the call is taken.
template <class Call>
CallStatus admit_at(const Call& call, const TxContext& context, const StateView& view, MaskStep step) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.11.11
    const auto group = views::group(view, call.task);
    if (!group) return CallStatus::not_group;                                               // 21.11.12
    if (views::group_spec(view, call.task)->mask_bits == 0) return CallStatus::not_masked;  // 21.11.13
    if (group->round != call.round) return CallStatus::wrong_round;                         // 21.11.14
    const auto masks = views::round_masks(view, call.task, call.round);
    if (!masks || masks->step != step) return CallStatus::wrong_mask_step;  // 21.11.15
    const std::uint64_t deadline = step == MaskStep::unmasking ? group->deadline : masks->deadline;
    if (context.height > deadline) return CallStatus::too_late;  // 21.11.16
    return CallStatus::ok;
}

market::RoundMasks masks_of(const StateView& view, std::uint64_t task, std::uint32_t round) {
    return must_load<market::RoundMasks>(view, keys::round_masks(task, round));
}

/// Stores the masks of the round, to which a member was added, and has the clock look whether it was the last one.
template <class Call>
void store_masks(Effects& fx, const Call& call, const market::RoundMasks& masks, bool complete) {
    store(fx.state, keys::round_masks(call.task, call.round), masks);
    if (complete) schedule_single(fx, fx.height + 1, ScheduledKind::group_clock, call.task, 0);
}

/// 21.11.19: no key may stand twice among those of the round.
bool is_key_taken(const StateView& view, const MaskKeys& call, const market::MaskKeys& keys,
                  const market::RoundMasks& masks) {
    const std::array own{keys.mask, keys.self, keys.deal, keys.receive};
    const auto count_own = [&](const market::CurvePoint& point) { return std::count(own.begin(), own.end(), point); };
    if (std::any_of(own.begin(), own.end(), [&](const auto& point) { return count_own(point) != 1; })) return true;
    return std::any_of(masks.cohort.begin(), masks.cohort.end(), [&](std::uint32_t run) {
        const auto posted = must_load<market::MemberMasks>(view, keys::member_masks(call.task, call.round, run));
        const auto other = market::decode_mask_keys(posted.keys).value();
        return count_own(other.mask) + count_own(other.self) + count_own(other.deal) + count_own(other.receive) != 0;
    });
}

/// 21.11.8: whoever sealed a wrong share loses its lock.
void forfeit_dealer(Effects& fx, std::uint64_t task, std::uint32_t dealer) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, dealer));
    if (!market::is_over(run.state)) forfeit_silent_run(fx, task, dealer, SlashReason::wrong_shares);
}

}  // namespace

CallStatus check(const MaskKeys& call) {
    const auto keys = market::decode_mask_keys(call.keys);
    return keys ? CallStatus::ok : status_of(keys.error());  // 21.11.10
}

CallStatus admit(const MaskKeys& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit_at(call, context, view, MaskStep::keys);
    if (status != CallStatus::ok) return status;
    const auto masks = masks_of(view, call.task, call.round);
    if (takes_part(masks.cohort, call.run)) return CallStatus::already_committed;                            // 21.11.17
    if (masks.cohort.size() >= views::spec(view, call.task)->replicas) return CallStatus::mask_wrong_count;  // 21.11.18
    const auto keys = market::decode_mask_keys(call.keys).value();
    if (is_key_taken(view, call, keys, masks)) return CallStatus::mask_same_key;  // 21.11.19
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    if (!is_sender(view, run)) return CallStatus::too_late;  // 21.11.20
    const CallStatus room = admit_next_state(run, context);
    if (room != CallStatus::ok) return room;  // 21.11.26
    const auto proved = market::check_keys({call.task, call.round, 0}, call.run, keys);
    return proved ? CallStatus::ok : status_of(proved.error());  // 21.11.25
}

void apply(const MaskKeys& call, const TxContext&, Effects& fx) {
    auto masks = masks_of(fx.state, call.task, call.round);
    store(fx.state, keys::member_masks(call.task, call.round, call.run), market::MemberMasks{call.keys, {}, {}});
    masks.cohort.push_back(call.run);
    auto group = must_load<market::Group>(fx.state, keys::group(call.task));
    if (masks.cohort.size() == 1) note_first_keys(fx, group, masks);
    store_masks(fx, call, masks, masks.cohort.size() >= group.senders);
}

CallStatus check(const MaskShares&) { return CallStatus::ok; }

CallStatus admit(const MaskShares& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit_at(call, context, view, MaskStep::shares);
    if (status != CallStatus::ok) return status;
    const auto masks = masks_of(view, call.task, call.round);
    if (!takes_part(masks.cohort, call.run)) return CallStatus::not_in_cohort;    // 21.11.21
    if (takes_part(masks.dealt, call.run)) return CallStatus::already_committed;  // 21.11.17
    if (!is_sender(view, must_load<market::Run>(view, keys::run(call.task, call.run))))
        return CallStatus::too_late;  // 21.11.20
    const auto shares = market::decode_mask_shares(call.shares, masks.cohort.size());
    return shares ? CallStatus::ok : status_of(shares.error());  // 21.11.22
}

void apply(const MaskShares& call, const TxContext&, Effects& fx) {
    auto masks = masks_of(fx.state, call.task, call.round);
    const keys::Key key = keys::member_masks(call.task, call.round, call.run);
    auto own = must_load<market::MemberMasks>(fx.state, key);
    own.shares = call.shares;
    store(fx.state, key, own);
    masks.dealt.push_back(call.run);
    store_masks(fx, call, masks, !awaits_shares(fx.state, call.task, masks));
}

CallStatus check(const ComplainOfShare& call) {
    const auto complaint = market::decode_share_complaint(call.complaint);
    return complaint ? CallStatus::ok : status_of(complaint.error());  // 21.11.10
}

CallStatus admit(const ComplainOfShare& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit_at(call, context, view, MaskStep::complaints);
    if (status != CallStatus::ok) return status;
    const auto masks = masks_of(view, call.task, call.round);
    if (!takes_part(masks.cohort, call.run) || !takes_part(masks.dealt, call.dealer))
        return CallStatus::not_in_cohort;  // 21.11.21
    const auto dealt = must_load<market::MemberMasks>(view, keys::member_masks(call.task, call.round, call.dealer));
    const auto holds =
        market::check_complaint({call.task, call.round, 0}, views::mask_cohort(view, call.task, call.round),
                                call.dealer, market::decode_mask_shares(dealt.shares, masks.cohort.size()).value(),
                                call.run, market::decode_share_complaint(call.complaint).value());
    return holds ? CallStatus::ok : status_of(holds.error());  // 21.11.30
}

void apply(const ComplainOfShare& call, const TxContext&, Effects& fx) {
    auto masks = masks_of(fx.state, call.task, call.round);
    std::erase(masks.dealt, call.dealer);
    store(fx.state, keys::round_masks(call.task, call.round), masks);
    const keys::Key key = keys::member_masks(call.task, call.round, call.dealer);
    auto dealt = must_load<market::MemberMasks>(fx.state, key);
    dealt.shares.clear();
    store(fx.state, key, dealt);
    end_masks_of_too_few(fx, must_load<market::Group>(fx.state, keys::group(call.task)));
    forfeit_dealer(fx, call.task, call.dealer);
}

CallStatus check(const Unmask& call) {
    const auto shares = market::decode_revealed_shares(call.shares);
    return shares ? CallStatus::ok : status_of(shares.error());  // 21.11.10
}

CallStatus admit(const Unmask& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit_at(call, context, view, MaskStep::unmasking);
    if (status != CallStatus::ok) return status;
    const auto masks = masks_of(view, call.task, call.round);
    if (!takes_part(masks.dealt, call.run)) return CallStatus::not_in_cohort;       // 21.11.21
    if (takes_part(masks.revealed, call.run)) return CallStatus::already_revealed;  // 21.11.23
    const auto fits = market::check_revealed(views::masked_round(view, call.task, call.round), call.run,
                                             market::decode_revealed_shares(call.shares).value());
    return fits ? CallStatus::ok : status_of(fits.error());  // 21.11.24
}

void apply(const Unmask& call, const TxContext&, Effects& fx) {
    auto masks = masks_of(fx.state, call.task, call.round);
    const keys::Key key = keys::member_masks(call.task, call.round, call.run);
    auto own = must_load<market::MemberMasks>(fx.state, key);
    own.revealed = call.shares;
    store(fx.state, key, own);
    masks.revealed.push_back(call.run);
    store_masks(fx, call, masks, !awaits_revealed(fx.state, call.task, masks));
    const market::RevealedShares revealed = market::decode_revealed_shares(call.shares).value();
    for (const auto& [dealer, what] : revealed)
        if (std::holds_alternative<market::ShareComplaint>(what)) forfeit_dealer(fx, call.task, dealer);
}

}  // namespace retrace::contracts
