// SPDX-License-Identifier: MIT
// SPEC 21.5. A member commits to the end of a segment, and sends its message in the open round.
#include <algorithm>

#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/groups/rollback.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/rules/groups/rules.hpp"
#include "market/masks/opening.hpp"

namespace retrace::contracts {
namespace {

using market::GroupPhase;

/// 21.5.9 to 21.5.12
CallStatus admit_base(const CommitRound& call, const StateView& view, const market::Run& run,
                      const market::Group& group, const market::GroupSpec& terms) {
    if (call.base > group.round) return CallStatus::wrong_base;                                     // 21.5.9
    if (call.steps != 0 && group.round - call.base > terms.max_age) return CallStatus::wrong_base;  // 21.5.10
    const std::uint32_t from = begin_of_segment(view, call.task, call.run, call.base, call.steps);
    const std::uint32_t last_base = views::start_of_member(view, call.task, call.run).base;
    // 21.13.4: in a private group a segment trains from the base that the one before it has taken in.
    const bool may_train_next = terms.private_sets != 0 && call.base == last_base && run.next_state > 1 &&
                                !views::is_private(view, call.task, call.run, run.next_state - 2);
    const bool no_segment_has_it =
        call.base > last_base || (call.base == last_base && run.next_state == 1) || may_train_next;
    const bool trains_only = call.base == from && no_segment_has_it && call.steps != 0;
    if (call.base <= from && !trains_only) return CallStatus::wrong_base;                                // 21.5.11
    if (terms.private_sets != 0 && call.steps != 0 && call.base != from) return CallStatus::wrong_base;  // 21.13.4
    if (call.base - from > terms.keep_rounds) return CallStatus::wrong_base;                             // 21.5.12
    return CallStatus::ok;
}

/// 21.20.3: in a round of merged messages only mergers send one, of one step.
CallStatus admit_merging(const CommitRound& call, const StateView& view, const market::Group& group,
                         const market::GroupSpec& terms) {
    if (call.steps == 0 || !kernels::is_merging_round(group.round, terms.regions)) return CallStatus::ok;
    const auto mergers = views::mergers(view, group, terms);
    if (std::find(mergers.begin(), mergers.end(), call.run) == mergers.end()) return CallStatus::not_merger;
    return call.steps == 1 ? CallStatus::ok : CallStatus::wrong_steps;
}

/// 21.5.13 to 21.5.15
CallStatus admit_message(const CommitRound& call, const market::Member& member, const market::Group& group,
                         const market::GroupSpec& terms) {
    const bool sends = call.steps != 0;
    if (call.steps > terms.steps_max || (sends && group.phase == GroupPhase::over))
        return CallStatus::wrong_steps;  // 21.5.13
    const bool zero =
        std::any_of(call.message.begin(), call.message.end(), [](const Hash32& r) { return r.is_zero(); });
    if (zero || call.message.size() != (sends ? terms.public_tensors.size() : 0))
        return CallStatus::wrong_message;  // 21.5.14
    if (sends && member.messages != 0 && call.base <= member.last_round)
        return CallStatus::already_committed;  // 21.5.15
    return CallStatus::ok;
}

/// 21.11.32: the masks follow from keys that are removed when the round closes.
void note_dealers(const StateView& view, const CommitRound& call, std::uint32_t round, market::RoundMessage& sent) {
    const auto keys_of = [&](std::uint32_t run) {
        const auto posted = must_load<market::MemberMasks>(view, keys::member_masks(call.task, round, run));
        return market::decode_mask_keys(posted.keys).value();
    };
    market::DealerKeys dealers;
    for (const std::uint32_t run : must_load<market::RoundMasks>(view, keys::round_masks(call.task, round)).dealt)
        dealers.emplace(run, keys_of(run).mask);
    sent.mask_root = call.masks;
    sent.dealers = market::dealers_digest(keys_of(call.run).self, dealers);
}

}  // namespace

CallStatus check(const CommitRound& call) {
    if (call.commitment.is_zero()) return CallStatus::commitment_zero;  // 21.5.1
    return CallStatus::ok;
}

CallStatus admit(const CommitRound& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.5.2
    const auto group = views::group(view, call.task);
    if (!group) return CallStatus::not_group;  // 21.5.3
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    const auto member = must_load<market::Member>(view, keys::member(call.task, call.run));
    if (call.index == 0 || call.index != run.next_state) return CallStatus::wrong_index;  // 21.5.4
    const CallStatus room = admit_next_state(run, context);
    if (room != CallStatus::ok) return room;  // 21.5.5, 21.5.6
    if (group->phase != GroupPhase::training && group->phase != GroupPhase::over)
        return CallStatus::wrong_group_phase;                                             // 21.5.7
    if (member.leaving || context.height > group->deadline) return CallStatus::too_late;  // 21.5.8
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(call.task));
    CallStatus status = admit_merging(call, view, *group, terms);
    if (status != CallStatus::ok) return status;  // 21.20.3
    status = admit_base(call, view, run, *group, terms);
    if (status != CallStatus::ok) return status;
    status = admit_message(call, member, *group, terms);
    if (status != CallStatus::ok) return status;
    const auto segment = next_segment(view, call.task, call.run, call.base, call.steps);
    if (!segment) return segment.error();  // 21.5.16 to 21.5.18
    const auto masks = views::round_masks(view, call.task, group->round);
    if (call.masks.is_zero() != (!masks || call.steps == 0)) return CallStatus::wrong_message;  // 21.11.32
    if (!masks || call.steps == 0) return CallStatus::ok;
    if (masks->step != market::MaskStep::messages) return CallStatus::wrong_mask_step;  // 21.11.4
    const bool dealt = std::find(masks->dealt.begin(), masks->dealt.end(), call.run) != masks->dealt.end();
    return dealt ? CallStatus::ok : CallStatus::not_in_cohort;  // 21.11.4
}

void apply(const CommitRound& call, const TxContext&, Effects& fx) {
    const std::uint64_t index = call.index - 1;
    const std::uint32_t round = must_load<market::Group>(fx.state, keys::group(call.task)).round;
    auto segment = next_segment(fx.state, call.task, call.run, call.base, call.steps).value();
    note_attempt(fx, call.task, call.run, index);
    auto member = must_load<market::Member>(fx.state, keys::member(call.task, call.run));
    member.base = call.base;
    if (call.steps != 0) {
        segment.age = round - call.base;
        ++member.messages;
        member.last_round = round;
        market::RoundMessage sent{index, call.steps, call.message, false, segment.age};
        if (segment.masks != 0) note_dealers(fx.state, call, round, sent);
        store(fx.state, keys::round_message(call.task, round, call.run), sent);
    }
    store(fx.state, keys::member_segment(call.task, call.run, index), segment);
    store(fx.state, keys::member(call.task, call.run), member);
    fx.emit(SegmentCommitted{call.task, call.run, call.base, index, call.steps});
    commit_state(fx, call.task, call.run, call.index, call.commitment);
    auto group = must_load<market::Group>(fx.state, keys::group(call.task));
    if (group.phase == GroupPhase::over)
        note_rounds_over(fx, call.task, call.run);  // Empty records may follow its base.
    if (call.steps == 0) return;
    group.committed.push_back(call.run);
    note_progress(fx, group);
}

}  // namespace retrace::contracts
