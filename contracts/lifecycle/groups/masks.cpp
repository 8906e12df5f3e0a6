// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/masks.hpp"

#include <algorithm>

#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/records/group_views.hpp"

namespace retrace::contracts {
namespace {

using market::MaskStep;
using market::RoundMasks;

bool has(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

RoundMasks masks_of(const Effects& fx, const market::Group& group) {
    return must_load<RoundMasks>(fx.state, keys::round_masks(group.task, group.round));
}

market::Run run_of(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return must_load<market::Run>(view, keys::run(task, run));
}

void enter(Effects& fx, const market::Group& group, RoundMasks& masks, MaskStep step, std::size_t members,
           std::uint64_t deadline) {
    masks.step = step;
    masks.deadline = deadline;
    store(fx.state, keys::round_masks(group.task, group.round), masks);
    fx.emit(MasksChanged{group.task, group.round, static_cast<std::uint8_t>(step), static_cast<std::uint32_t>(members),
                         masks.deadline});
    if (masks.deadline != 0) schedule_single(fx, masks.deadline + 1, ScheduledKind::group_clock, group.task, 0);
    // 21.11.8: members that leave may have waited for it.
    if ((step == MaskStep::open || step == MaskStep::lost) && !masks.dealt.empty())
        schedule_single(fx, fx.height + 1, ScheduledKind::payment, group.task, 0);
}

/// 21.11.3, 21.11.6: whether so few members took part in a step that their sum is not unmasked.
bool are_too_few(std::size_t members, const RoundMasks& masks, const market::GroupSpec& terms) {
    return !market::are_enough(members, masks.cohort.size(), terms.least);
}

/// 21.11.2: with fewer keys than a cohort needs, those whose first state is due are waited for.
void end_keys(Effects& fx, const market::Group& group, RoundMasks& masks, const market::GroupSpec& terms) {
    const bool lost = are_too_few(masks.cohort.size(), masks, terms);
    if (fx.height <= masks.deadline && (lost || masks.cohort.size() < group.senders)) return;
    masks.keys_end = fx.height;
    enter(fx, group, masks, lost ? MaskStep::lost : MaskStep::shares, masks.cohort.size(),
          lost ? 0 : fx.height + terms.mask_blocks);
}

void end_shares(Effects& fx, const market::Group& group, RoundMasks& masks, const market::GroupSpec& terms) {
    if (fx.height <= masks.deadline && awaits_shares(fx.state, group.task, masks)) return;
    const bool lost = are_too_few(masks.dealt.size(), masks, terms);
    enter(fx, group, masks, lost ? MaskStep::lost : MaskStep::complaints, masks.dealt.size(),
          lost ? 0 : fx.height + terms.mask_blocks);
}

/// 21.11.29: nobody says that all fits, so the step has its whole time. When the clock comes after the end of the round,
/// no message could be taken, so the step stays what it is (is_excused).
void end_complaints(Effects& fx, const market::Group& group, RoundMasks& masks) {
    if (fx.height <= masks.deadline || fx.height > group.deadline) return;
    enter(fx, group, masks, MaskStep::messages, masks.dealt.size(), 0);
}

/// The round as far as its secrets follow from it. Each share was compared with what was dealt when it was revealed, so
/// what was dealt, 42 points of each dealer, is not decoded again.
market::MaskedRound revealed_round(const StateView& view, const market::Group& group, const RoundMasks& masks) {
    market::MaskedRound out;
    out.round = {group.task, group.round, 0};
    out.cohort = views::mask_cohort(view, group.task, group.round);
    for (const std::uint32_t run : masks.dealt) out.dealt.emplace(run, market::MaskShares{});
    out.recorded = masks.recorded;
    return out;
}

}  // namespace

void begin_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms) {
    RoundMasks masks;
    // 21.11.2: what a round is longer than `roundBlocks` (21.6.7) is left to keys.
    const std::uint64_t longer = group.deadline - fx.height - terms.round_blocks;
    enter(fx, group, masks, MaskStep::keys, 0, fx.height + longer + terms.mask_blocks);
}

void advance_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms) {
    RoundMasks masks = masks_of(fx, group);
    if (masks.step == MaskStep::keys) return end_keys(fx, group, masks, terms);
    if (masks.step == MaskStep::shares) return end_shares(fx, group, masks, terms);
    if (masks.step == MaskStep::complaints) return end_complaints(fx, group, masks);
}

void note_first_keys(Effects& fx, market::Group& group, RoundMasks& masks) {
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(group.task));
    masks.deadline = std::min(masks.deadline, fx.height + terms.mask_blocks);
    group.deadline = std::min(group.deadline, fx.height + terms.round_blocks);
    store(fx.state, keys::group(group.task), group);
    schedule_single(fx, masks.deadline + 1, ScheduledKind::group_clock, group.task, 0);
}

void end_masks_of_too_few(Effects& fx, const market::Group& group) {
    RoundMasks masks = masks_of(fx, group);
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(group.task));
    if (are_too_few(masks.dealt.size(), masks, terms)) enter(fx, group, masks, MaskStep::lost, masks.dealt.size(), 0);
}

void drop_from_cohort(Effects& fx, const market::Group& group, std::uint32_t run) {
    auto masks = views::round_masks(fx.state, group.task, group.round);
    if (!masks || masks->step != MaskStep::keys || !has(masks->cohort, run)) return;
    std::erase(masks->cohort, run);
    store(fx.state, keys::round_masks(group.task, group.round), *masks);
    remove(fx.state, keys::member_masks(group.task, group.round, run));
}

bool awaits_shares(const StateView& view, std::uint64_t task, const RoundMasks& masks) {
    return std::any_of(masks.cohort.begin(), masks.cohort.end(), [&](std::uint32_t run) {
        return !has(masks.dealt, run) && is_sender(view, run_of(view, task, run));
    });
}

bool awaits_messages(const StateView& view, const market::Group& group, const RoundMasks& masks) {
    if (masks.step != MaskStep::messages) return true;
    return std::any_of(masks.dealt.begin(), masks.dealt.end(), [&](std::uint32_t run) {
        return !has(group.committed, run) && is_sender(view, run_of(view, group.task, run));
    });
}

bool awaits_revealed(const StateView& view, std::uint64_t task, const RoundMasks& masks) {
    return std::any_of(masks.dealt.begin(), masks.dealt.end(), [&](std::uint32_t run) {
        return !has(masks.revealed, run) && run_of(view, task, run).state == market::RunState::running;
    });
}

bool begin_unmasking(Effects& fx, const market::Group& group, const market::GroupSpec& terms,
                     std::vector<std::uint32_t> recorded) {
    RoundMasks masks = masks_of(fx, group);
    masks.recorded = std::move(recorded);
    const bool lost = are_too_few(masks.recorded.size(), masks, terms);
    enter(fx, group, masks, lost ? MaskStep::lost : MaskStep::unmasking, masks.recorded.size(), 0);
    return !lost;
}

MaskStep open_secrets(Effects& fx, const market::Group& group) {
    RoundMasks masks = masks_of(fx, group);
    if (masks.step == MaskStep::unmasking) enter(fx, group, masks, MaskStep::secrets, masks.revealed.size(), 0);
    std::map<std::uint32_t, market::RevealedShares> revealed;
    for (const std::uint32_t run : masks.revealed) {
        const auto own = must_load<market::MemberMasks>(fx.state, keys::member_masks(group.task, group.round, run));
        revealed.emplace(run, market::decode_revealed_shares(own.revealed).value());
    }
    const market::MaskedRound round = revealed_round(fx.state, group, masks);
    const market::Runs order = market::unmask_order(round);
    const std::size_t end = std::min<std::size_t>(order.size(), masks.opened + market::kMaskSecretsAtOnce);
    for (; masks.opened < end; ++masks.opened) {
        const auto terms = market::terms_of_dealer(round, order[masks.opened], revealed);
        if (!terms) {
            masks.terms.clear();
            enter(fx, group, masks, MaskStep::lost, masks.revealed.size(), 0);
            return masks.step;
        }
        masks.terms.insert(masks.terms.end(), terms->begin(), terms->end());
    }
    if (masks.opened == order.size())
        enter(fx, group, masks, MaskStep::open, masks.revealed.size(), 0);
    else
        store(fx.state, keys::round_masks(group.task, group.round), masks);
    return masks.step;
}

void close_masks(Effects& fx, const market::Group& group) {
    RoundMasks masks = masks_of(fx, group);
    if (masks.step != MaskStep::open && masks.step != MaskStep::lost)
        enter(fx, group, masks, MaskStep::lost, group.committed.size(), 0);
}

void forget_masks(Effects& fx, const market::Group& group) {
    const auto masks = views::round_masks(fx.state, group.task, group.round);
    if (!masks) return;
    for (const std::uint32_t run : masks->cohort) remove(fx.state, keys::member_masks(group.task, group.round, run));
    remove(fx.state, keys::round_masks(group.task, group.round));
}

bool holds_shares(const StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto group = views::group(view, task);
    const auto masks = group ? views::round_masks(view, task, group->round) : std::nullopt;
    if (!masks || masks->step == MaskStep::open || masks->step == MaskStep::lost) return false;
    return has(masks->dealt, run);
}

bool is_excused(const StateView& view, const market::Group& group, const market::GroupSpec& terms, std::uint32_t run) {
    const auto masks = views::round_masks(view, group.task, group.round);
    if (!masks) return false;
    const auto first = must_load<market::Checkpoint>(view, keys::checkpoint(group.task, run, 0));
    if (first.height >= masks->keys_end) return true;
    if (are_too_few(masks->cohort.size(), *masks, terms)) return has(masks->cohort, run);
    const bool before_messages = masks->step == MaskStep::shares || masks->step == MaskStep::complaints;
    return (before_messages || are_too_few(masks->dealt.size(), *masks, terms)) && has(masks->dealt, run);
}

std::vector<market::MaskTerm> mask_terms_of(const StateView& view, const market::Group& group) {
    const auto masks = views::round_masks(view, group.task, group.round);
    return masks && masks->step == MaskStep::open ? masks->terms : std::vector<market::MaskTerm>{};
}

bool has_unmasked(const StateView& view, const market::Group& group, std::uint32_t run) {
    const auto masks = views::round_masks(view, group.task, group.round);
    return !masks || has(masks->revealed, run);
}

}  // namespace retrace::contracts
